"""Thousands of calls to ten servers that are killed, edited, disabled and misbehave: none is lost or answered twice.

The default run is short. A longer one takes rounds with consecutive seeds until the time is over:

    SOAK_SECONDS=3600 SOAK_SEED=1 python -m pytest tests/soak -s

A failed round prints its seed: with that number as SOAK_SEED, and no SOAK_SECONDS, the same kinds of steps repeat.
"""

import os
import time
from pathlib import Path

from soak.storm import Storm

SEED = int(os.environ.get("SOAK_SEED", "1"))
SECONDS = float(os.environ.get("SOAK_SECONDS", "0"))
STEPS = 2500


def test_nothing_is_lost_answered_twice_or_left_behind(tmp_path: Path) -> None:
    deadline = time.monotonic() + SECONDS
    seed = SEED
    while True:
        folder = tmp_path / str(seed)
        folder.mkdir()
        print(f"seed {seed}: ", end="", flush=True)
        Storm(folder, seed).rages(STEPS)
        seed += 1
        if time.monotonic() >= deadline:
            break
