"""Refuses one method, which its argument names, with a message of four megabytes."""

import sys

import well_behaved
from well_behaved import Json

TOLD = {"initialize": "protocolVersion", "tools/list": "tools"}


def say(message: Json) -> None:
    if TOLD[sys.argv[1]] in message.get("result", {}):
        message = {"id": message["id"], "error": {"code": 7, "message": "x" * (4 << 20) + " the cause"}}
    well_behaved.say(message)


if __name__ == "__main__":
    well_behaved.serve(say=say)
