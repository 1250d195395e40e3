"""One client: its servers, its state, and the way of its calls to their servers."""
