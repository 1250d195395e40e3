"""`usage`: the recorded tool calls."""
