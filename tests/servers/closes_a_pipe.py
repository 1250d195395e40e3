"""Closes its stdin or its stdout when it is told to, and lives on: not even SIGTERM ends it."""

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
