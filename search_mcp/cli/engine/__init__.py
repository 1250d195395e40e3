"""`engine`: the shared engines."""
