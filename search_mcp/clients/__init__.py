"""Config files of AI clients: their locations, their formats, and the translation of their entries."""
