"""The official conformance suite, run against a reference server directly and through search-mcp."""
