"""Clients named on a command line, their files, and errors with some of them."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from search_mcp.cli.options import Options
from search_mcp.cli.problem import FINE, WRONG, Misuse, did_you_mean
from search_mcp.clients.known import BY_NAME, CLIENTS, Client
from search_mcp.model.errors import ConfigError
from search_mcp.model.similar import nearest


def beginning(incomplete: str) -> list[str]:
    """Complete a client's name in a shell."""
    return [name for name in BY_NAME if name.startswith(incomplete)]


ClientNames = Annotated[
    list[str] | None,
    typer.Argument(metavar="[CLIENT]...", help=f"Clients: {', '.join(BY_NAME)}.", autocompletion=beginning),
]
AllFound = Annotated[bool, typer.Option("--all-found", help="All clients found on this machine.")]


def named(names: Sequence[str], all_found: bool) -> list[Client]:
    """Return the clients of a command line.

    Raises:
        Misuse: a name is unknown, or there is none, or one besides `--all-found`.
    """
    if bool(names) == all_found:
        raise Misuse("either name clients or use --all-found", f"the clients are {', '.join(BY_NAME)}")
    for name in names:
        if name not in BY_NAME:
            raise unknown(f"no client {name!r}", name)
    return [BY_NAME[name] for name in dict.fromkeys(names)] or [*CLIENTS]


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
