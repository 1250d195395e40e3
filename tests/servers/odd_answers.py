"""Answers a call in the odd way that its words select; any other request correctly."""

import json
import os
from collections.abc import Callable

import well_behaved
from well_behaved import Json

DEEP = 100_000
SNOWMAN = "☃".encode()


def plain(message: Json) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode()


def envelope(message: Json, rest: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":%d,%b}' % (message["id"], rest)


def crumbs(message: Json) -> bytes:
    """Write all but the line ending in writes of one byte, which also splits characters."""
    for byte in plain({**message, "result": well_behaved.text("☃☃")}):
        os.write(1, bytes([byte]))
    return b""


ERROR = b'"error":{"code":7,"message":"no"}'
ODD: dict[str, Callable[[Json], bytes]] = {
    "both": lambda message: envelope(message, b'"result":{"content":[]},' + ERROR),
    "both, but the error is null": lambda message: plain({**message, "error": None}),
    "neither": lambda message: envelope(message, b'"jsonrpc":"2.0"'),
    "result is null": lambda message: envelope(message, b'"result":null'),
    "error is no object": lambda message: envelope(message, b'"error":"no"'),
    "deep result": lambda message: envelope(message, b'"result":' + b"[" * DEEP + b"]" * DEEP),
    "deep result, cut short": lambda message: envelope(message, b'"result":' + b"[" * DEEP),
    "deep beside the result": lambda message: envelope(message, b'"x":' + b"[" * DEEP + b"]" * DEEP + b',"result":{}'),
    "deep and nothing else": lambda message: b"[" * DEEP + b"\n" + b'{"a":' * DEEP + b"\n" + plain(message),
    "half a character": lambda message: envelope(message, b'"result":{"content":[],"x":"' + SNOWMAN[:2] + b'"}'),
    "half a surrogate": lambda message: envelope(message, rb'"result":{"content":[],"x":"\ud83d"}'),
    "under other ids": lambda message: b"\n".join(
        plain({**message, "id": odd}) for odd in (message["id"] + 99, str(message["id"]), None, 1.5, -1, message["id"])
    ),
    "in crumbs": crumbs,
    "with a carriage return": lambda message: plain(message) + b"\r",
    "between garbage": lambda message: b"\x1b[2J\0\xff\n[]\n\n" + plain(message) + b"\n}{",
    "in a batch": lambda message: b"[" + plain(message) + b"]",
}


def say(message: Json) -> None:
    content = message.get("result", {}).get("content")
    words = content[0]["text"] if content else ""
    os.write(1, ODD.get(words, plain)(message) + b"\n")


if __name__ == "__main__":
    well_behaved.serve(say=say)
