"""Run the fast tests, which are for the time while you work: `python scripts/fast.py`."""

import sys

from environment import python

if __name__ == "__main__":
    python("-m", "pytest", "-m", "fast", *sys.argv[1:])
