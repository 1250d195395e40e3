"""The configuration: the meaning of `mcp-servers.json`, where it is, and whether it is trusted."""
