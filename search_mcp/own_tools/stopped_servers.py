"""The servers that do not run, with the reasons, for the answers of search-mcp's own tools."""

from collections.abc import Iterable, Mapping

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
_RUNNING = frozenset({State.READY, State.REMEMBERED, State.STOPPED, State.STOPPING, State.DISABLED})
"""States of servers that are not reported: their tools can be called, or the user switched them off."""
_STARTING = frozenset({State.STARTING, State.RESTARTING})
_BEGINNINGS = {**dict.fromkeys(_STARTING, "starting again after"), State.NEEDS_LOGIN: State.NEEDS_LOGIN.value}
"""The words before a reason; the reason of a server that is starting is that of its last failure."""


def not_running(catalog: Catalog, statuses: Iterable[Status], server: str | None) -> str:
    """Name the servers that do not run, with the reasons; if only `server` is searched, name only this one."""
    if server is None:
        down = [status for status in statuses if _is_down(catalog, status)]
    else:
        down = [each for each in statuses if each.server == server and _is_down_or_disabled(catalog, each)]
    with_reasons = [f"{named(status.server)} ({_reason(status)})" for status in down[:MOST_DOWN]]
    return ", ".join([*with_reasons, *([f"{len(down) - MOST_DOWN} more"] if len(down) > MOST_DOWN else [])])


def owner_not_running(catalog: Catalog, statuses: Iterable[Status], name: str) -> Mapping[str, str]:
    """Name the server whose prefix an unknown tool's name carries, if it does not run."""
    for status in statuses:
        if fold(name).startswith(f"{fold(status.server)}_") and _is_down_or_disabled(catalog, status):
            return {"notRunning": f"{named(status.server)} ({_reason(status)})"}
    return {}


def _is_down_or_disabled(catalog: Catalog, status: Status) -> bool:
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
