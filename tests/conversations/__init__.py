"""Conversations as data: one client, one to three scripted servers and search-mcp between them, without processes."""
