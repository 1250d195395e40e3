"""Run all tests, or those that pytest's arguments select: `python scripts/test.py tests/search -k stems`."""

import sys

from environment import python

if __name__ == "__main__":
    python("-m", "pytest", *sys.argv[1:])
