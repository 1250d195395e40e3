"""`clients`: the AI clients on this machine, each with its servers and the tokens of its tools.

Nothing is started or written. The page shows the same facts.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from search_mcp.catalog import profiles
from search_mcp.cli.clients.registration import targets
from search_mcp.cli.clients.report import of_others
from search_mcp.cli.clients.selection import noting
from search_mcp.cli.counting import enumerated
from search_mcp.cli.options import Options, narrowed, takes
from search_mcp.cli.problem import FINE
from search_mcp.cli.session import read_cache
from search_mcp.cli.terminal import Terminal
from search_mcp.cli.tokens.cost import SAMPLES, Cost, count
from search_mcp.clients import installation, storage
from search_mcp.clients.known import BY_NAME, Client
from search_mcp.clients.registered import stored_subset
from search_mcp.config import location
from search_mcp.config.schema import EMPTY_CONFIG, Config
from search_mcp.config.subset import OPTION
from search_mcp.model.errors import ConfigError, for_shell

_HEADINGS = ("Client", "search-mcp", "Servers", "Tools", "Tokens", "List")
_NUMBERS = ("Tools", "Tokens")


@dataclass(frozen=True)
class Found:
    """A file of a client on this machine."""

    client: Client
    path: Path
    is_registered: bool = False
    """Whether it starts search-mcp with our configuration."""
    is_elsewhere: bool = False
    """Whether it starts search-mcp with another one."""
    others: tuple[str, ...] = ()
    """Its other servers that search-mcp could run."""
    subset: str | None = None
    """The value of `--servers` in its entry."""
    servers: tuple[str, ...] = ()
    """The enabled servers that it has."""
    cost: Cost | None = None
    """The cost of what the client is shown; only if it is registered."""
    trouble: str = ""

    @property
    def state(self) -> str:
        if self.trouble:
            return "unknown"
        return "registered" if self.is_registered else "another file" if self.is_elsewhere else "not registered"

    def row(self, total: int) -> tuple[str, ...]:
        """Return the row of the table; `total` is the number of enabled servers in our configuration."""
        if self.cost is None:
            return (self.client.title, self.state, "", "", "", "")
        servers = f"{len(self.servers)} of {total}"
        tokens = f"{self.cost.of_mode(self.cost.listing):,}"
        return (self.client.title, self.state, servers, f"{self.cost.tools:,}", tokens, self.cost.listing)

    def as_json(self) -> dict[str, Any]:
        cost = self.cost
        return {
            "name": self.client.name,
            "file": str(self.path),
            "state": self.state,
            "option": self.subset,
            "otherServers": self.others,
            "servers": self.servers if cost is not None else None,
            "tools": cost.tools if cost is not None else None,
            "listing": cost.listing if cost is not None else None,
            "estimatedTokens": cost.of_mode(cost.listing) if cost is not None else None,
            "error": self.trouble or None,
        }


@takes("config", "as_json", "debug")
def clients(options: Options) -> int:
    """Show which AI clients have search-mcp, with the servers and tools of each."""
    loaded, path = options.usable_configuration() or (EMPTY_CONFIG, location.places(None, os.environ)[-1])
    everything = all_found(path)
    if options.as_json:
        options.screen.json({"config": str(path), "clients": [each.as_json() for each in everything]})
    else:
        _show(everything, loaded, options.screen)
    return FINE


def _show(everything: Sequence[Found], config: Config, screen: Terminal) -> None:
    if not everything:
        screen.note(
            f"No AI client was found. `search-mcp install NAME` registers search-mcp in one: {', '.join(BY_NAME)}."
        )
        return
    total = sum(each.enabled for each in config.servers)
    screen.table(_HEADINGS, [each.row(total) for each in everything], _NUMBERS)
    screen.text("")
    for each in everything:
        if each.trouble:
            screen.warning(f"{each.client.title}: {each.trouble}")
        if each.subset is not None:
            screen.paragraph(f"{each.client.title}: {OPTION} {for_shell(each.subset)}: {enumerated(each.servers)}.")
        if each.is_registered and each.others:
            screen.paragraph(of_others(each.client, each.others))
    if any(each.is_registered for each in everything):
        screen.note("Tokens at the start of a session, by an estimate; `search-mcp tokens --client NAME` shows more.")
    if not all(each.is_registered for each in everything):
        screen.note("`search-mcp install NAME` registers search-mcp in a client.")


def all_found(config: Path) -> list[Found]:
    """Look at the files of all clients; may take a while."""
    return [_found(client, path, config) for client, path, _ in targets([], all_found=True)]


def _found(client: Client, path: Path, config: Path) -> Found:
    found, troubles = Found(client, path), list[ConfigError]()
    with noting(troubles):
        found = _looked_at(client, path, config)
        if found.is_registered:
            servers, cost = _shown(config, client, found.subset, samples=1)
            found = replace(found, servers=servers, cost=cost)
    return replace(found, trouble=str(troubles[0])) if troubles else found


def _looked_at(client: Client, path: Path, config: Path) -> Found:
    file = storage.load(path, client.format).document
    others, _ = installation.other_servers(file, client)
    is_registered = installation.uses(file, client, config)
    return Found(
        client,
        path,
        is_registered,
        is_elsewhere=installation.is_registered(file, client) and not is_registered,
        others=tuple(each.name for each in others),
        subset=installation.chosen_servers(file, client),
    )


def cost_of(config: Path, client: Client) -> Cost:
    """Count what a client is shown, or would be; the servers are those that its file chooses."""
    return _shown(config, client, stored_subset(client.name, config), samples=SAMPLES)[1]


def _shown(config: Path, client: Client, chosen: str | None, samples: int) -> tuple[tuple[str, ...], Cost]:
    """Return the servers that a client has, and the tokens from the cached lists, as `tokens` does.

    More `samples` of searches give a better estimate of their cost, and take longer.

    Raises:
        ConfigError: the configuration cannot be read, or does not have the chosen servers.
    """
    everything, _ = location.load(str(config), os.environ)
    loaded = everything if chosen is None else narrowed(everything, chosen)
    profile = profiles.BY_NAME.get(client.name)
    cost = read_cache(loaded, profile, lambda session: count(session, samples))
    return tuple(each.name for each in loaded.servers if each.enabled), cost
