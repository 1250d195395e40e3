"""Soak test: all kinds of faults at once, for a long time, against the real `search-mcp serve`."""
