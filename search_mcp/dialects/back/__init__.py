"""The back dialects: MCP towards a server, one module for each era."""
