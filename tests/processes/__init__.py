"""The real `search-mcp serve` over pipes, with real children that misbehave."""
