"""Sends log messages from the moment of its first call: without end, or as many bytes as it is asked for.

When it cannot write for a second it makes the file `stuck` in its folder.
"""

import json
import select
from pathlib import Path

import well_behaved
from well_behaved import Json

MESSAGE: Json = {"method": "notifications/message", "params": {"level": "info", "data": "x" * 3900}}
SIZE = len(json.dumps(MESSAGE))  # about a page, so that a pipe that takes anything takes all of it


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
