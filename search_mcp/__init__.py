"""One stdio MCP server in front of many: merged tools, a light list, search, forwarding."""

__version__ = "0.1.0"
