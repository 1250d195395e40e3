"""When Python's garbage collector runs, in every process that serves clients."""

NEW_OBJECTS = 10_000
"""New objects before the garbage collector looks for cycles: 64 calls in flight exceed Python's 700, and have none."""
THRESHOLDS = (NEW_OBJECTS, 1, 50)
"""Thresholds of the three generations while clients are served.

With Python's 10 for the second, one collection reads 100,000 new objects: 25 to 100 ms while thousands of tools are
indexed. With 1 it reads 20,000. The third keeps full collections as rare as they were: one in a million new objects.
"""
