"""Lists its tools in two pages; exits at the request for the second page until a file exists."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import well_behaved
from well_behaved import Json

SIGN = Path(sys.argv[1])
cursor = ""


def lines() -> Iterator[bytes]:
    global cursor
    for line in sys.stdin.buffer:
        cursor = json.loads(line).get("params", {}).get("cursor", "")
        if cursor and not SIGN.exists():
            os._exit(3)
        yield line


def say(message: Json) -> None:
    result = message.get("result", {})
    if "tools" in result:
        first, *others = result["tools"]
        result |= {"tools": others} if cursor else {"tools": [first], "nextCursor": "2"}
    well_behaved.say(message)


if __name__ == "__main__":
    well_behaved.serve(say=say, lines=lines())
