"""Counts tokens with tiktoken, as a program: `python -m search_mcp.gateway.token_counting`.

Knows where tiktoken's encodings are stored. The program uses no network: only `search-mcp tokens` downloads the
encoding. It has a low priority, and ends when its stdin ends.
"""

import faulthandler
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from search_mcp.folders import encodings_folder

ENCODING = "o200k_base"
ENCODING_FILE = "fb374d419588a4632f3f557e76b4b70aebbca790"
"""The name of the encoding in tiktoken's cache: the SHA-1 digest of the address that it is downloaded from."""
CACHE_VARIABLE = "TIKTOKEN_CACHE_DIR"
CACHE_VARIABLES = (CACHE_VARIABLE, "DATA_GYM_CACHE_DIR")
"""The variables that name the folder of tiktoken's cache; the first that is set counts, and if it is empty, tiktoken
stores nothing."""
SECONDS = 10.0
"""Time limit for loading the encoding, and for the texts of one batch of calls: 4 MB take about a second."""
_NETWORK = frozenset({"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"})


def cache_of_encodings() -> Path | None:
    """Return the folder in which tiktoken's encodings are stored; `None` if the user does not want that."""
    chosen = next((os.environ[name] for name in CACHE_VARIABLES if name in os.environ), None)
    if chosen is None:
        return encodings_folder()
    return Path(chosen) if chosen else None


def main() -> None:
    """Count the tokens of texts on stdin, until it ends: a line with their lengths in bytes, then the texts."""
    if hasattr(os, "nice"):
        os.nice(19)  # on Windows, the process is started with a low priority
    sys.addaudithook(_refuse_network)
    faulthandler.dump_traceback_later(SECONDS, exit=True)  # works while tiktoken hangs, too
    encoding = import_module("tiktoken").get_encoding(ENCODING)
    faulthandler.cancel_dump_traceback_later()
    with open(0, "rb", closefd=False) as given, open(1, "wb", closefd=False) as out:
        while line := given.readline():
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            out.write(b" ".join(b"%d" % _counted(encoding, given, int(length)) for length in line.split()) + b"\n")
            out.flush()
            faulthandler.cancel_dump_traceback_later()


def _counted(encoding: Any, given: BinaryIO, length: int) -> int:
    return len(encoding.encode_ordinary(given.read(length).decode("utf-8", "ignore")))


def _refuse_network(event: str, _arguments: tuple[Any, ...]) -> None:
    """Refuse what tiktoken does if the encoding on the disk is damaged."""
    if event in _NETWORK:
        raise PermissionError("this process uses no network")


if __name__ == "__main__":
    main()
