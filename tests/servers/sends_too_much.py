"""Sends far too much in the place that its argument names; a call says how many bytes a flood has."""

import os
import sys

import well_behaved
from well_behaved import Json

PLACE = sys.argv[1]
TEXT = "x" * (4 << 20)
WORDS = TEXT.encode()
LINES = {
    "a line": WORDS,
    "noise": b"no JSON\n" * (1 << 17),
    "long noise": WORDS + b"\n",
    "malformed notifications": b'{"jsonrpc":"2.0","method":"notifications/progress","params":1}\n' * (1 << 14),
    "large notifications": b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"x":"%b"}}\n' % WORDS,
    "batches": b"[" + b"1," * (1 << 20) + b"1]\n",
    "answers": b'{"jsonrpc":"2.0","id":9999999,"result":{"x":"%b"}}\n' % WORDS,
    "questions": b'{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"x":"%b"}}\n' % WORDS,
    "stderr": b"words\n" * (1 << 17),
    "a line of stderr": WORDS,
}
ERRORS = {"content": "errors", "tools": "errors of lists", "serverInfo": "errors of openings"}
EARLY = b'{"jsonrpc":"2.0","method":"notifications/x","params":{"x":1},"y":"%b"}\n' % WORDS


def write(lines: bytes, size: int, stream: int = 1) -> None:
    for _ in range(0, size, len(lines)):
        left = memoryview(lines)
        while left:
            left = left[os.write(stream, left) :]


def flood(arguments: Json) -> str:
    if PLACE == "errors of lists":
        well_behaved.say({"method": "notifications/tools/list_changed"})
    write(LINES.get(PLACE, b"\n"), arguments["size"], 2 if "stderr" in PLACE else 1)
    write(b"\n", 1)
    return TEXT if PLACE == "results" else "sent"


def say(message: Json) -> None:
    result = message.get("result", {})
    if "serverInfo" in result:
        if PLACE == "early notifications":
            write(EARLY, 100 * len(EARLY))
        result |= {"instructions": {"instructions": TEXT * 8}, "a padded opening": {"x": TEXT * 8}}.get(PLACE, {})
    if {"content": "errors", "tools": "errors of lists", "protocolVersion": "errors of openings"}.get(
        next(iter(result), "")
    ) == PLACE:
        message = {"id": message["id"], "error": {"code": -32000, "message": f"{message['id']} {TEXT * 8}"}}
    well_behaved.say(message)
    if "error" in message and PLACE == "errors of lists":
        well_behaved.say({"method": "notifications/tools/list_changed"})


if __name__ == "__main__":
    well_behaved.serve({"flood": flood}, say=say)
