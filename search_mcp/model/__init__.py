"""The vocabulary of the middle, without eras: calls, servers, their names and their errors."""
