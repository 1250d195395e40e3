"""The command that starts this search-mcp: `install` writes it into the clients' files, `ui` gives it to the page."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from search_mcp.cli.problem import Misuse
from search_mcp.clients import command


def own_program() -> tuple[str, ...]:
    """Return the command that started this process, with the whole path of its program."""
    program, *args = command.own_command(sys.argv[0], sys.executable, shutil.which)
    return str(Path(program).absolute()), *args


def lasting(program: Sequence[str]) -> Sequence[str]:
    """Return a command that a client's file may have.

    Raises:
        Misuse: it is a temporary installation.
    """
    if command.is_temporary(program[0]):
        raise Misuse(
            f"{program[0]} is a temporary installation",
            "install search-mcp permanently first: pipx install PATH, where PATH is its checkout",
        )
    return program
