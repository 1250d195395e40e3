"""Serves well, and writes the words of each call to a file before it answers."""

import sys
from pathlib import Path

import well_behaved
from well_behaved import Json


def echo(arguments: Json) -> str:
    with Path(sys.argv[1]).open("ab", buffering=0) as file:
        file.write(f"{arguments['words']}\n".encode())
    return str(arguments["words"])


well_behaved.serve({"echo": echo})
