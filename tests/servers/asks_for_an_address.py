"""Refuses each call until its user has opened an address, which is never."""

import json
import sys

import well_behaved
from well_behaved import Json


def say(message: Json) -> None:
    if "content" in message.get("result", {}):
        data = {"elicitations": [json.loads(sys.argv[1])]}
        error = {"code": -32042, "message": "Open an address first", "data": data}
        message = {"id": message["id"], "error": error}
    well_behaved.say(message)


if __name__ == "__main__":
    well_behaved.serve(say=say)
