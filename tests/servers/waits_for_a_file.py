"""Answers nothing until a file exists."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import well_behaved

SIGN = Path(sys.argv[1])


def lines() -> Iterator[bytes]:
    for line in sys.stdin.buffer:
        while not SIGN.exists():
            time.sleep(0.01)
        yield line


if __name__ == "__main__":
    well_behaved.serve(lines=lines())
