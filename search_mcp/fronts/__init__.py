"""The connection to a client: standard input and output."""
