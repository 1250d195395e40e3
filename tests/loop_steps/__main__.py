"""Print the longest step of the event loop for each entry of the corpus: `python -m loop_steps [WORD]` in tests/."""

import logging
import sys
import tempfile
import time
from pathlib import Path

from loop_steps.corpus import CORPUS
from loop_steps.visit import Visit


def main(word: str) -> None:
    logging.getLogger("search_mcp").addHandler(logging.NullHandler())
    logging.getLogger("search_mcp").propagate = False
    for name, make in CORPUS.items():
        if word not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            visit = Visit(make(), Path(folder))
            started = time.monotonic()
            visit.goes()
            worst = sorted(visit.loop.longest.items(), key=lambda each: -each[1])[:4]
            steps = ", ".join(f"{label} {1e3 * seconds:.0f}" for label, seconds in worst)
        sys.stdout.write(
            f"{name:45} {1e3 * worst[0][1]:8.0f} ms   ({steps}; whole {time.monotonic() - started:.1f} s)\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
