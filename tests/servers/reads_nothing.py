"""Serves well until it is called; from then on it reads and says nothing more."""

import time

import well_behaved
from well_behaved import Json


def stop(_arguments: Json) -> str:
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    well_behaved.serve({**well_behaved.TOOLS, "stop": stop})
