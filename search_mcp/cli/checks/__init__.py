"""`check`: what it finds, how it is shown, and what is accepted."""
