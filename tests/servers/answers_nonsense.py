"""Answers every request with a message that is no valid answer."""

import json
import sys

import well_behaved

ANSWERS: list[object] = [
    7,
    None,
    [],
    {},
    {"protocolVersion": 7},
    {"tools": "none"},
    {"tools": [7, {"name": 8}]},
    {"content": 9},
]

if __name__ == "__main__":
    for count, line in enumerate(sys.stdin.buffer):
        message = json.loads(line)
        if "id" in message:
            well_behaved.say({"id": message["id"], "result": ANSWERS[count % len(ANSWERS)]})
