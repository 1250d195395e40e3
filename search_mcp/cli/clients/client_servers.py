"""The servers that `install` gives a client: the option `--servers` in its entry.

Decides which expression an entry gets: the one that the user gives, else the one that it has. An expression that cannot
be read stays as it is, because without it the client would get all servers.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from search_mcp.cli.counting import counted, enumerated
from search_mcp.clients import installation
from search_mcp.clients.document import Document
from search_mcp.clients.known import Client
from search_mcp.config import subset
from search_mcp.config.subset import EVERYTHING, OPTION, Subset, Tags
from search_mcp.model.errors import ConfigError


@dataclass(frozen=True)
class Choice:
    """The servers of one client."""

    names: tuple[str, ...]
    total: int
    option: str = ""
    """The option as a person writes it; empty if the client has all servers."""
    expression: str | None = None
    """The value of the option in its entry; None if it has none."""
    is_kept: bool = False
    """Whether it is that of the earlier entry."""
    warnings: tuple[str, ...] = ()

    def sentence(self, *, is_planned: bool) -> str:
        """Write which servers the client has, or would have."""
        if not self.option:
            return f"{'would have' if is_planned else 'has'} all {counted(self.total, 'server')}"
        servers = f"{len(self.names)} of {counted(self.total, 'server')}"
        named = f": {enumerated(self.names)}" if self.names else ""
        if self.is_kept:
            keeps = "would keep" if is_planned else "keeps"
            return f"{keeps} {self.option}, {servers}{named}; {OPTION} '{EVERYTHING}' gives it all servers"
        return f"{'would have' if is_planned else 'has'} {servers}{named} ({self.option})"

    def about_moved(self, names: Collection[str]) -> str:
        """Warn of servers that were moved out of the client's file, and that it does not have any more; empty if none.

        `names` are the moved servers' names in our configuration.
        """
        lost = [name for name in names if name not in self.names]
        them = "it" if len(lost) == 1 else "them"
        return f"{OPTION} leaves out {enumerated(lost)}, so this client loses {them}" if lost else ""


def choose(file: Document, client: Client, chosen: Subset | None, servers: Tags) -> Choice | None:
    """Choose the servers of a client; None if it has all, as before, and the user said nothing of them.

    `chosen` are the servers that the user asks for, `servers` those of our configuration.
    """
    kept = installation.chosen_servers(file, client)
    if chosen is None:
        return _keep(kept, servers) if kept is not None else None
    if chosen.text == EVERYTHING:
        return Choice((*servers,), len(servers))
    return _of(chosen, servers, chosen.remarks(servers))


def _keep(expression: str, servers: Tags) -> Choice:
    try:
        kept = subset.parse(expression)
    except ConfigError as exc:
        return Choice((), len(servers), f"{OPTION} {expression!r}", expression, True, (str(exc),))
    return _of(kept, servers, [*kept.faults(servers), *kept.remarks(servers)], is_kept=True)


def _of(chosen: Subset, servers: Tags, faults: Sequence[ConfigError], *, is_kept: bool = False) -> Choice:
    names = (*chosen.names(servers),)
    return Choice(names, len(servers), chosen.option, chosen.text, is_kept, (*map(str, faults),))


def in_use(choices: Sequence[Choice | None]) -> Collection[str] | None:
    """Return the names of the servers that any of the clients has; None if one of them has all."""
    known = [each for each in choices if each is not None and each.option]
    return None if len(known) < len(choices) else {name for each in known for name in each.names}
