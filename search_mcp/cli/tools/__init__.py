"""`list`, `search`, `describe` and `call`."""
