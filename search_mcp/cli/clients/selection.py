"""Clients named on a command line, and errors with some of them."""

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from search_mcp.cli.options import Options
from search_mcp.cli.problem import FINE, WRONG, Misuse, did_you_mean
from search_mcp.clients.known import BY_NAME, Machine
from search_mcp.model.errors import ConfigError
from search_mcp.model.similar import nearest


def this_machine() -> Machine:
    """Return this platform, and the user's environment."""
    return Machine(sys.platform, str(Path.home()), os.environ)


def beginning(incomplete: str) -> list[str]:
    """Complete a client's name in a shell."""
    return [name for name in BY_NAME if name.startswith(incomplete)]


def unknown(what: str, name: str) -> Misuse:
    """Build the error about an unknown client."""
    return Misuse(f"there is {what}", did_you_mean(nearest(name, BY_NAME), f"the clients are {', '.join(BY_NAME)}"))


@contextlib.contextmanager
def noting(troubles: list[ConfigError]) -> Iterator[None]:
    """Collect the error of a file that cannot be read or edited, and continue."""
    try:
        yield
    except ConfigError as exc:
        troubles.append(exc)


def report(troubles: Sequence[ConfigError], options: Options) -> int:
    """Print the errors, unless they are in the JSON output; returns the exit code."""
    for trouble in () if options.as_json else troubles:
        options.screen.error(str(trouble))
    return WRONG if troubles else FINE
