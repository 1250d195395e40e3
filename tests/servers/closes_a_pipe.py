"""Closes its stdin or stdout when called, and keeps running, even after SIGTERM."""

import os
import signal
import time

import well_behaved
from well_behaved import Json


def close(arguments: Json) -> str:
    os.close(int(arguments["descriptor"]))
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    well_behaved.serve({**well_behaved.TOOLS, "close": close})
