"""Answers a call with one line of the requested number of bytes."""

import well_behaved
from well_behaved import Json


def huge(arguments: Json) -> str:
    return "x" * int(arguments["size"])


if __name__ == "__main__":
    well_behaved.serve({**well_behaved.TOOLS, "huge": huge})
