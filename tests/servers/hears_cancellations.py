"""Never answers the tool `hang`, and writes a file when its call is cancelled."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import well_behaved


def lines() -> Iterator[bytes]:
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message.get("method") == "notifications/cancelled":
            Path(sys.argv[1]).touch()
        if (message.get("params") or {}).get("name") != "hang":
            yield line


if __name__ == "__main__":
    well_behaved.serve({**well_behaved.TOOLS, "hang": lambda _arguments: ""}, lines=lines())
