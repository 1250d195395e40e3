"""The official Python SDK's own tests of client and server, with search-mcp between the two."""
