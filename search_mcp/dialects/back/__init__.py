"""MCP towards a server, one adapter an era."""
