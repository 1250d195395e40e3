"""The options that commands have in common, and what every command starts from."""

import os
from pathlib import Path
from typing import Annotated

import typer

from search_mcp import profiles, server
from search_mcp.cli.memory import Memory, Remembered, Renewed
from search_mcp.cli.problem import did_you_mean
from search_mcp.cli.terminal import Terminal
from search_mcp.config import Config
from search_mcp.profiles import Profile
from search_mcp.suggest import nearest


def _known_client(name: str | None) -> str | None:
    if name is None or name in profiles.BY_NAME:
        return name
    otherwise = f"there are {', '.join(sorted(profiles.BY_NAME))}"
    raise typer.BadParameter(f"there is no client {name!r}; {did_you_mean(nearest(name, profiles.BY_NAME), otherwise)}")


ConfigPath = Annotated[
    str | None,
    typer.Option("--config", metavar="PATH", help="The configuration, if it is not in one of the usual places."),
]
ClientName = Annotated[
    str | None,
    typer.Option(
        "--client",
        metavar="NAME",
        callback=_known_client,
        autocompletion=lambda incomplete: [name for name in profiles.BY_NAME if name.startswith(incomplete)],
        help="Names as this AI client sees them, such as cursor.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Refresh = Annotated[bool, typer.Option("--refresh", help="Ask all servers again, also those that are remembered.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the log and, on an error, where it comes from.")]


def terminal(context: typer.Context, debug: bool) -> Terminal:
    """Where this command writes."""
    assert isinstance(context.obj, Terminal)
    if debug:
        context.obj.debug()
    return context.obj


def configuration(path: str | None) -> tuple[Config, Path]:
    """Read the configuration; say where it is.

    Raises:
        ConfigError: there is none, or it is wrong.
    """
    return server.load(path, os.environ)


def memory(refresh: bool) -> type[Memory]:
    """What is to be believed of what is remembered of the servers."""
    return Renewed if refresh else Remembered


def profile(client: str | None) -> Profile | None:
    return profiles.BY_NAME[client] if client is not None else None
