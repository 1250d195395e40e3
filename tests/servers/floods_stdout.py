"""Sends log messages from its first call on: without end, or the number of bytes in the call.

It creates the file `stuck` in its folder when a write blocks for a second.
"""

import json
import select
from pathlib import Path

import well_behaved
from well_behaved import Json

MESSAGE: Json = {"method": "notifications/message", "params": {"level": "info", "data": "x" * 3900}}
SIZE = len(json.dumps(MESSAGE))  # about a page, so that a pipe with any space takes all of it


def flood(arguments: Json) -> str:
    left = arguments.get("size", float("inf"))
    while left > 0:
        if not select.select([], [1], [], 1.0)[1]:
            Path("stuck").touch()
        well_behaved.say(MESSAGE)
        left -= SIZE
    return "flooded"


if __name__ == "__main__":
    well_behaved.serve({**well_behaved.TOOLS, "flood": flood})
