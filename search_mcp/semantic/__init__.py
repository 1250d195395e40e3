"""Vectors of texts: the sentence model that makes them, the file that keeps them, and the process that does both.

A vector is a list of numbers; texts with similar meanings have similar vectors. Their cosine is the measure.
"""
