"""The tools, prompts and resources of all servers, merged, and how a client sees them."""
