"""Conversations as data: one client, one to three scripted servers, search-mcp between them, no process."""
