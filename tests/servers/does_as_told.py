"""Misbehaves according to the first word of an echo call: one server for every fault of the soak test."""

import os

import well_behaved
from well_behaved import Json

NEWS: Json = {"method": "notifications/message", "params": {"level": "info", "data": "x" * 1000}}


def hang(_message: Json) -> None:
    """Never answer this call."""


def ask(_message: Json) -> None:
    """Ask the user during this call, and never answer it."""
    schema: Json = {"type": "object", "properties": {}}
    params = {"message": "Go on?", "requestedSchema": schema}
    well_behaved.say({"id": "asked", "method": "elicitation/create", "params": params})


def die(_message: Json) -> None:
    os._exit(1)


def break_off(_message: Json) -> None:
    os.write(1, b'{"jsonrpc":"2.0","id":')
    os._exit(0)


def close(_message: Json) -> None:
    os.close(1)
    while True:
        os.read(0, 1 << 16)


def answer_twice(message: Json) -> None:
    well_behaved.say(message)
    well_behaved.say(message)


def flood_stdout(message: Json) -> None:
    for _ in range(300):
        well_behaved.say(NEWS)
    os.write(1, b"no JSON\n" * 1000)
    well_behaved.say(message)


def flood_stderr(message: Json) -> None:
    for _ in range(30):
        os.write(2, b"y" * 65_535 + b"\n")
    well_behaved.say(message)


FAULTS = {each.__name__: each for each in (hang, ask, die, break_off, close, answer_twice, flood_stdout, flood_stderr)}


def say(message: Json) -> None:
    content = message.get("result", {}).get("content")
    told = content[0]["text"].split(" ")[0] if content else ""
    FAULTS.get(told, well_behaved.say)(message)


if __name__ == "__main__":
    well_behaved.serve(say=say)
