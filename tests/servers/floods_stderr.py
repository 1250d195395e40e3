"""Writes to stderr without end, from a thread, while it serves; a full pipe would block it."""

import os
import threading

import well_behaved
from well_behaved import Json

PLENTY = 4 << 20  # bytes before a call is answered: far more than a pipe holds


def flood(size: int) -> None:
    for _ in range(size // 4096):
        os.write(2, b"x" * 4095 + b"\n")


def loud(_arguments: Json) -> str:
    flood(PLENTY)
    return "loud"


if __name__ == "__main__":
    threading.Thread(target=flood, args=(64 << 20,), daemon=True).start()
    well_behaved.serve({**well_behaved.TOOLS, "loud": loud})
