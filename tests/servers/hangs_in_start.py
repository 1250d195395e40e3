"""Reads all its input and writes nothing."""

import sys

if __name__ == "__main__":
    for _line in sys.stdin.buffer:
        pass
