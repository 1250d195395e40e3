"""The command that starts this search-mcp from anywhere: what is written into a client's file. Pure."""

import re
from collections.abc import Callable
from pathlib import PurePath

from search_mcp.catalog.profiles import REGISTERED_AS

# What `uvx` and `pipx run` make is gone some day, and the client's entry with it.
_TEMPORARY = re.compile(r"/(archive|environments)-v\d+/|/pipx/(\.cache/|Cache/)?[0-9a-f]{10,}/")


SAFELY = ("-P", "-m")
"""Options of Python to run a module and import nothing from the current folder, which is the client's."""


def own_command(started_as: str, interpreter: str, find: Callable[[str], str | None]) -> tuple[str, ...]:
    """Say how this very search-mcp is started; relative to the current folder if `find` says so.

    `started_as` is `sys.argv[0]`, `find` is `shutil.which`.
    """
    program = find(started_as) if PurePath(started_as).stem == REGISTERED_AS else None
    return (program,) if program is not None else (interpreter, *SAFELY, "search_mcp")


def is_temporary(program: str) -> bool:
    """Whether a program is in a place that its installer clears."""
    return _TEMPORARY.search(program.replace("\\", "/")) is not None
