"""The front dialects: MCP towards the client, one module for each era."""
