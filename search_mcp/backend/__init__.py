"""One server behind us: its process, its life, and the conversation that opens it."""
