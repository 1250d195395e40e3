"""Exits at the same message in every run: `before`, `half-way` or `after` its answer to a method."""

import json
import os
import sys
from collections.abc import Iterator

import well_behaved
from well_behaved import Json

WHEN, METHOD = sys.argv[1:]
latest = ""


def lines() -> Iterator[bytes]:
    global latest
    for line in sys.stdin.buffer:
        latest = json.loads(line).get("method")
        if WHEN == "before" and latest == METHOD:
            os._exit(3)
        yield line


def say(message: Json) -> None:
    if WHEN == "half-way" and latest == METHOD:
        os.write(1, b'{"jsonrpc":"2.0","id":%d,"result":{' % message["id"])
        os._exit(3)
    well_behaved.say(message)
    if WHEN == "after" and latest == METHOD:
        os._exit(3)


if __name__ == "__main__":
    well_behaved.serve(say=say, lines=lines())
