"""MCP towards the client, one adapter an era."""
