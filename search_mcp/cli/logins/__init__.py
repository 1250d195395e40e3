"""`auth`: logins at remote servers."""
