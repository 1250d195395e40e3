"""The options that several commands have, and the arguments that every command gets."""

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from search_mcp.catalog import profiles
from search_mcp.catalog.profiles import Profile
from search_mcp.cli.counting import counted
from search_mcp.cli.problem import did_you_mean
from search_mcp.cli.terminal import Terminal
from search_mcp.config import location, subset
from search_mcp.config.schema import Config
from search_mcp.model.errors import ConfigError, for_shell
from search_mcp.model.similar import nearest


def _known_client(name: str | None) -> str | None:
    if name is None or name in profiles.BY_NAME:
        return name
    otherwise = f"the clients are {', '.join(sorted(profiles.BY_NAME))}"
    raise typer.BadParameter(f"there is no client {name!r}; {did_you_mean(nearest(name, profiles.BY_NAME), otherwise)}")


def _complete_selectors(context: typer.Context, incomplete: str) -> list[str]:
    from search_mcp.cli.completion import server_selectors  # with all that runs servers, which few commands need

    return server_selectors(context, incomplete)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Values of the shared options; a command gets those that it `takes`."""

    screen: Terminal
    config: Annotated[
        str | None,
        typer.Option(
            "--config", metavar="PATH", help="Config file to use (`search-mcp config path` prints the default)."
        ),
    ] = None
    client: Annotated[
        str | None,
        typer.Option(
            "--client",
            metavar="NAME",
            callback=_known_client,
            autocompletion=lambda incomplete: [name for name in profiles.BY_NAME if name.startswith(incomplete)],
            help="Show names and limits as for this client (claude-desktop, cursor, ...).",
        ),
    ] = None
    servers: Annotated[
        str | None,
        typer.Option(
            subset.OPTION,
            metavar="LIST",
            autocompletion=_complete_selectors,
            help="Only these servers: names, patterns or tag:NAME, with commas between; -NAME excludes one.",
        ),
    ] = None
    refresh: Annotated[bool, typer.Option("--refresh", help="Ignore the cache and ask every server.")] = False
    no_start: Annotated[bool, typer.Option("--no-start", help="Do not start new servers to cache their tools.")] = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change without changing it.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
    no_pager: Annotated[
        bool, typer.Option("--no-pager", help="Do not use a pager ($PAGER, or less) for long output.")
    ] = False
    debug: Annotated[bool, typer.Option("--debug", help="Print the debug log and tracebacks.")] = False

    def configuration(self) -> tuple[Config, Path]:
        """Read the configuration, with the chosen servers only; returns its path as well.

        Raises:
            ConfigError: there is no file, or it is invalid; or there are no servers as chosen.
        """
        config, path = location.load(self.config, os.environ)
        if (skipped := location.untrusted(self.config, os.environ, path)) is not None:
            self.screen.note(f"{skipped}.")
        self.screen.conceal(config.secrets)
        return self._narrowed(config, path), path

    def usable_configuration(self) -> tuple[Config, Path] | None:
        """Read the configuration, for a command that needs none; warn and return `None` if none is good.

        Raises:
            ConfigError: that of `--config` is not good.
        """
        try:
            return self.configuration()
        except ConfigError as exc:
            if self.config is not None:
                raise
            self.screen.warning(str(exc))
            return None

    def _narrowed(self, config: Config, path: Path) -> Config:
        if self.servers is not None:
            return narrowed(config, self.servers, self.screen.warning)
        if self.client is None:
            return config
        from search_mcp.clients.registered import stored_subset  # reads files that few commands need

        if (stored := stored_subset(self.client, path)) is None:
            return config
        inside = narrowed(config, stored, self.screen.warning)
        which = f"{len(inside.servers)} of {counted(len(config.servers), 'server')}"
        self.screen.note(f"{self.client} has {which}: {subset.OPTION} {for_shell(stored)} is in its file.")
        return inside

    @property
    def profile(self) -> Profile | None:
        return profiles.BY_NAME[self.client] if self.client is not None else None


def narrowed(config: Config, servers: str, warn: Callable[[str], None] = lambda _text: None) -> Config:
    """Return a configuration with the servers that a value of `--servers` chooses.

    Raises:
        ConfigError: it is wrong, or chooses none.
    """
    chosen, tags = subset.parse(servers), subset.tags_of(config)
    for fault in chosen.faults(tags):
        raise fault
    for remark in chosen.remarks(tags):
        warn(f"{remark}")
    return chosen.of(config)


def takes(*names: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Add some of the shared options to a command, after its own; their values are its first argument."""
    shared = [each for each in inspect.signature(Options).parameters.values() if each.name in names]

    def with_options(command: Callable[..., int]) -> Callable[..., int]:
        @wraps(command)
        def run(context: typer.Context, **given: Any) -> int:
            screen = context.obj
            assert isinstance(screen, Terminal)
            options = Options(screen=screen, **{each.name: given.pop(each.name) for each in shared})
            if options.debug:
                screen.debug()
            return command(options, **given)

        # typer derives the command line from the signature.
        _, *own = inspect.signature(command).parameters.values()
        context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
        parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (context, *own, *shared)]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return run

    return with_options
