"""The servers that do not run, with the reasons, for the answers of search-mcp's own tools."""

import re
from collections.abc import Container, Iterable, Mapping, Sequence

from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.items import fold
from search_mcp.model.errors import ask_user
from search_mcp.model.names import Kind, State
from search_mcp.model.servers import Status
from search_mcp.model.standing import OFF, Standing, standing_of
from search_mcp.model.visible import named

MOST_DOWN = 5
"""Servers that an answer names."""
LONGEST_QUERY = 1000
"""Characters of a query in which names of servers are looked for."""
_GENERIC = frozenset({"mcp", "server", "servers", "the", "and", "for", "tool", "tools", "local", "api"})
"""Words of a server's name that say nothing."""
_DOWN = frozenset({State.FAILED, State.NEEDS_LOGIN, State.HELD})
"""Words for servers whose tools cannot be called, and that the user did not switch off."""
_STARTING = frozenset({State.STARTING, State.RESTARTING})


class StoppedServers:
    """What one client is told of the servers that do not run."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._told: dict[str, str] = {}  # by server, the last reason

    def fitting(self, statuses: Iterable[Status], query: str, best: str | None) -> Mapping[str, str]:
        """Write a sentence about each server that does not run, and that the query names or that has the best tool."""
        words = _words(query)
        found = {
            each.server: _may_do_this(each)
            for each in map(standing_of, statuses)
            if (each.server == best or not words.isdisjoint(_words(each.server))) and _is_out(self._catalog, each)
        }
        return dict(list(found.items())[:MOST_DOWN])

    def others(self, statuses: Iterable[Status], but: Container[str]) -> str:
        """Name all others with the reasons, each until its reason changes."""
        down = [each for each in map(standing_of, statuses) if each.server not in but and _is_down(self._catalog, each)]
        new = [each for each in down if self._told.get(each.server) != _reason(each)]
        self._told.update((each.server, _reason(each)) for each in new)
        return _listed(new)

    def only(self, statuses: Iterable[Status], server: str) -> str:
        """Name this server if it does not run, or is switched off."""
        found = map(standing_of, statuses)
        return _listed([each for each in found if each.server == server and _is_out(self._catalog, each)])


def _listed(down: Sequence[Standing]) -> str:
    with_reasons = [f"{named(each.server)} ({_reason(each)})" for each in down[:MOST_DOWN]]
    return ", ".join([*with_reasons, *([f"{len(down) - MOST_DOWN} more"] if len(down) > MOST_DOWN else [])])


def _may_do_this(standing: Standing) -> str:
    said = f"{named(standing.server)}, which may do this, is not running: {_reason(standing)}."
    is_enough = standing.remedy or (standing.word in _STARTING and not standing.what)
    return said if is_enough else f"{said} Tell the user."


def _words(text: str) -> set[str]:
    """Return the words of a query or of a server's name that tell servers apart."""
    words = re.findall(r"[^\W_]{3,}", text[:LONGEST_QUERY].casefold())
    return {*words} - _GENERIC


def owner_not_running(catalog: Catalog, statuses: Iterable[Status], name: str) -> Mapping[str, str]:
    """Name the server whose prefix an unknown tool's name carries, if it does not run."""
    for each in map(standing_of, statuses):
        if fold(name).startswith(f"{fold(each.server)}_") and _is_out(catalog, each):
            return {"notRunning": f"{named(each.server)} ({_reason(each)})"}
    return {}


def _is_out(catalog: Catalog, standing: Standing) -> bool:
    return standing.word == OFF or _is_down(catalog, standing)


def _is_down(catalog: Catalog, standing: Standing) -> bool:
    if standing.word in _STARTING:
        return not catalog.is_known(standing.server, Kind.TOOLS)
    return standing.word in _DOWN


def _reason(standing: Standing) -> str:
    """Write in one bounded line why a server does not run."""
    if standing.word in _STARTING:
        again = f"starting again after: {standing.told}"
        said = again if standing.what else "still starting, search again in a few seconds"
    else:
        word = standing.word if standing.word == State.NEEDS_LOGIN or not standing.what else ""
        said = ": ".join(filter(None, (word, standing.told)))
    return f"{said}. {ask_user(standing.remedy)}" if standing.remedy else said
