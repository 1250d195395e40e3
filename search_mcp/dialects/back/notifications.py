"""Reading of a server's notifications, as far as both eras have the same rules."""

import logging
from collections.abc import Callable, Collection

from search_mcp.dialects import asking, names
from search_mcp.dialects.params import is_wanted
from search_mcp.model.calls import Call
from search_mcp.model.sentences import cut
from search_mcp.model.servers import News, TaskChanged
from search_mcp.wire import payload
from search_mcp.wire.payload import SMALL_BYTES
from search_mcp.wire.structs import UNSET, Fields, Raw, UnsetType

log = logging.getLogger(__name__)

_TASK = (
    *("taskId", "status", "statusMessage", "createdAt", "lastUpdatedAt", "ttl", "ttlMs", "pollInterval"),
    *("pollIntervalMs", names.INPUT_REQUESTS, "result", "error", names.META),
)
_READ_OF_LARGE = {
    names.MESSAGE: ("level", "logger", "data", names.META),
    names.TASK_STATUS: _TASK,
    names.TASK_CHANGED: _TASK,
}
"""Notifications that may be larger for good reasons, and the members that are read of them."""


def read_notification(server: str, method: str, params: Raw | UnsetType) -> Fields | None:
    """Decode the parameters of a notification; `None` if they are malformed or too large for its method."""
    if params is not UNSET and len(params) > SMALL_BYTES:
        if method in _READ_OF_LARGE:
            return payload.members(params, *_READ_OF_LARGE[method]) or None
        log.warning("! %s: %s of more than %d bytes is ignored", server, repr(cut(method)), SMALL_BYTES)
        return None
    try:
        return payload.fields(params)
    except ValueError:
        log.info("! %s: %s with malformed params", server, method)
        return None


def publish_task_change(
    server: str, change: Fields, tell: Callable[[News], None], followed: Collection[str] = ()
) -> None:
    """Publish a change of a server's task, with its questions as they may be asked."""
    try:
        admitted = asking.admitted_in(server, change)
    except ValueError as exc:
        log.warning("! %s: its question to the user is refused: %s", server, exc)
    else:
        tell(TaskChanged(server, admitted, payload.string(change.get("taskId")) in followed))


def likely_call(calls: dict[Call, None], message: Fields) -> Call | None:
    """Return the call that a log message most likely belongs to: the newest that wants it, else the newest."""
    newest_first = list(reversed(calls.keys()))
    wanting = (call for call in newest_first if is_wanted(message, call.caller.log_level))
    return next(wanting, newest_first[0] if newest_first else None)
