"""The servers that do not run, with the reasons, for the answers of search-mcp's own tools."""

import re
from collections.abc import Container, Iterable, Mapping, Sequence

from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.items import fold
from search_mcp.model.errors import ask_user
from search_mcp.model.names import Kind, State
from search_mcp.model.reasons import parted
from search_mcp.model.sentences import cut
from search_mcp.model.servers import Status
from search_mcp.model.visible import named, one_line, quoted

MOST_DOWN = 5
"""Servers that an answer names."""
LONGEST_REASON = 120
"""Characters of the reason why a server does not run, and of the line of its stderr that tells the cause."""
LONGEST_QUERY = 1000
"""Characters of a query in which names of servers are looked for."""
_GENERIC = frozenset({"mcp", "server", "servers", "the", "and", "for", "tool", "tools", "local", "api"})
"""Words of a server's name that say nothing."""
_RUNNING = frozenset({State.READY, State.REMEMBERED, State.STOPPED, State.STOPPING, State.DISABLED})
"""States of servers that are not reported: their tools can be called, or the user switched them off."""
_STARTING = frozenset({State.STARTING, State.RESTARTING})
_BEGINNINGS = {**dict.fromkeys(_STARTING, "starting again after"), State.NEEDS_LOGIN: State.NEEDS_LOGIN.value}
"""The words before a reason; the reason of a server that is starting is that of its last failure."""


class StoppedServers:
    """What one client is told of the servers that do not run."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._told: dict[str, str] = {}  # by server, the last reason

    def fitting(self, statuses: Iterable[Status], query: str, best: str | None) -> Mapping[str, str]:
        """Write a sentence about each server that does not run, and that the query names or that has the best tool."""
        words = _words(query)
        found = {
            status.server: _may_do_this(status)
            for status in statuses
            if (status.server == best or not words.isdisjoint(_words(status.server))) and _is_out(self._catalog, status)
        }
        return dict(list(found.items())[:MOST_DOWN])

    def others(self, statuses: Iterable[Status], but: Container[str]) -> str:
        """Name all others with the reasons, each until its reason changes."""
        down = [each for each in statuses if each.server not in but and _is_down(self._catalog, each)]
        new = [each for each in down if self._told.get(each.server) != _reason(each)]
        self._told.update((each.server, _reason(each)) for each in new)
        return _listed(new)

    def only(self, statuses: Iterable[Status], server: str) -> str:
        """Name this server if it does not run, or is switched off."""
        return _listed([each for each in statuses if each.server == server and _is_out(self._catalog, each)])


def _listed(down: Sequence[Status]) -> str:
    with_reasons = [f"{named(status.server)} ({_reason(status)})" for status in down[:MOST_DOWN]]
    return ", ".join([*with_reasons, *([f"{len(down) - MOST_DOWN} more"] if len(down) > MOST_DOWN else [])])


def _may_do_this(status: Status) -> str:
    said = f"{named(status.server)}, which may do this, is not running: {_reason(status)}."
    is_told = status.remedy or status.state in _STARTING
    return said if is_told else f"{said} Tell the user."


def _words(text: str) -> set[str]:
    """Return the words of a query or of a server's name that tell servers apart."""
    words = re.findall(r"[^\W_]{3,}", text[:LONGEST_QUERY].casefold())
    return {*words} - _GENERIC


def owner_not_running(catalog: Catalog, statuses: Iterable[Status], name: str) -> Mapping[str, str]:
    """Name the server whose prefix an unknown tool's name carries, if it does not run."""
    for status in statuses:
        if fold(name).startswith(f"{fold(status.server)}_") and _is_out(catalog, status):
            return {"notRunning": f"{named(status.server)} ({_reason(status)})"}
    return {}


def _is_out(catalog: Catalog, status: Status) -> bool:
    return status.state is State.DISABLED or _is_down(catalog, status)


def _is_down(catalog: Catalog, status: Status) -> bool:
    if status.state in _STARTING:
        return not catalog.is_known(status.server, Kind.TOOLS)
    return status.state not in _RUNNING or (status.state is State.STOPPED and status.explanation is not None)


def _reason(status: Status) -> str:
    """Write in one bounded line why a server does not run."""
    reason = status.reason or status.last_failure or ""
    if status.state in _STARTING and not reason:
        return "still starting, search again in a few seconds"
    happened, cause = parted(reason)
    what, _, details = one_line(happened[: 2 * LONGEST_REASON]).rstrip(".").partition(": ")
    what = cut(what, LONGEST_REASON)
    # Details and cause may be the server's own words: they are quoted, so that they are not taken for ours.
    words = [quoted(each, LONGEST_REASON) for each in (details, cause) if each]
    return _with_remedy(status, ": ".join([what, *words]))


def _with_remedy(status: Status, reason: str) -> str:
    state = State.NEEDS_LOGIN if status.lacked_login else status.state
    said = ": ".join(filter(None, (_BEGINNINGS.get(state), reason))) or state
    return f"{said}. {ask_user(status.remedy)}" if status.remedy else said
