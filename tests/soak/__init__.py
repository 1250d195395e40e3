"""Everything that goes wrong, all at once and for long, against the real `search-mcp serve`."""
