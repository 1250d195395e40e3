"""Asks the user during each call, and answers with what it was answered."""

import json
import sys
from collections import deque
from collections.abc import Iterator

import well_behaved
from well_behaved import Json

QUESTION: Json = {"message": "Go on?", "requestedSchema": {"type": "object", "properties": {}}}
put_off: deque[bytes] = deque()  # messages that came between a question and its answer


def lines() -> Iterator[bytes]:
    while line := put_off.popleft() if put_off else sys.stdin.buffer.readline():
        yield line


def ask(_arguments: Json) -> str:
    well_behaved.say({"id": "asked", "method": "elicitation/create", "params": QUESTION})
    while (answer := json.loads(line := sys.stdin.buffer.readline())).get("id") != "asked":
        put_off.append(line)
    return f"told: {answer['error']['message'] if 'error' in answer else answer['result']}"


if __name__ == "__main__":
    well_behaved.serve({"ask": ask}, lines=lines())
