"""One server behind us: its connection, its lists, its lifecycle."""
