"""Writes an error with its token to stderr, and exits before it reads anything."""

import os
import sys

if __name__ == "__main__":
    print(f"fatal: the token {os.environ.get('TOKEN')} was refused", file=sys.stderr)
    sys.exit(3)
