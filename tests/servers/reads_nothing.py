"""Serves well until its first call; then it reads and writes nothing more."""

import time

import well_behaved
from well_behaved import Json


def stop(_arguments: Json) -> str:
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    well_behaved.serve({**well_behaved.TOOLS, "stop": stop})
