"""The command that starts this search-mcp from any folder, as written into a client's file. Pure."""

import re
from collections.abc import Callable
from pathlib import PurePath

from search_mcp.catalog.profiles import REGISTERED_AS

# The environments of `uvx` and `pipx run`: they are deleted some day, which would break the client's entry.
_TEMPORARY = re.compile(r"/(archive|environments)-v\d+/|/pipx/(\.cache/|Cache/)?[0-9a-f]{10,}/")


SAFELY = ("-P", "-m")
"""Python options that run a module without importing from the current folder, which the client chooses."""


def own_command(started_as: str, interpreter: str, find: Callable[[str], str | None]) -> tuple[str, ...]:
    """Return the command that starts this search-mcp; the program is a relative path if `find` returns one.

    `started_as` is `sys.argv[0]`, `find` is `shutil.which`.
    """
    program = find(started_as) if PurePath(started_as).stem == REGISTERED_AS else None
    return (program,) if program is not None else (interpreter, *SAFELY, "search_mcp")


def is_temporary(program: str) -> bool:
    """Return whether a program is in a folder that its installer deletes."""
    return _TEMPORARY.search(program.replace("\\", "/")) is not None
