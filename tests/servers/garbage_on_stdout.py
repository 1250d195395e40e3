"""Writes a banner, status lines, broken JSON and invalid UTF-8 around every message."""

import sys

import well_behaved
from well_behaved import Json

GARBAGE = (
    b"Server running on stdio\n",
    b"{\n",
    b'{"jsonrpc":"2.0"}\n',
    b"\xff\xfe\x00\n",
    b"[]\n",
    b"\r\n\r\n",
    b"null\n",
)


def say(message: Json) -> None:
    for line in GARBAGE:
        sys.stdout.buffer.write(line)
    well_behaved.say(message)


if __name__ == "__main__":
    well_behaved.serve(say=say)
