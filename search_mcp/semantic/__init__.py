"""Vectors of texts: the sentence model that makes them, the file that keeps them, and the process that does both."""
