"""Child processes: start, environment variables, stderr, end."""
