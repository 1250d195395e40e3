"""`tokens`: what tools cost in the context of a model."""
