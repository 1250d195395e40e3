"""Parts of messages that all dialects share: `params`, `_meta`, progress tokens, cancellations, log levels."""

from collections.abc import Callable, Iterable, Mapping

from search_mcp.dialects import names
from search_mcp.wire import payload
from search_mcp.wire.errors import invalid_params
from search_mcp.wire.inflight import Answer, Reason, Write
from search_mcp.wire.peer import Peer
from search_mcp.wire.structs import Fields, Params, Raw, RequestId, UnsetType


def read_params(params: Raw | UnsetType) -> tuple[Fields, Fields | None]:
    """Decode the `params` of a message by one level, and the `_meta` in them, which is `None` if there is none.

    Raises:
        ProtocolError: either is not an object.
    """
    try:
        opened = payload.fields(params)
    except ValueError:
        raise invalid_params("Invalid params: params must be an object") from None
    meta = opened.pop(names.META, None)
    if meta is None:
        return opened, None
    try:
        return opened, payload.fields(meta)
    except ValueError:
        raise invalid_params("Invalid params: _meta must be an object") from None


def extensions(capabilities: Fields) -> Fields:
    """Return the extensions that a client declares, with its settings for each."""
    return payload.object_or_empty(capabilities.get("extensions"))


def without_own_keys(meta: Fields | None, *own: str) -> Fields | None:
    """Remove the keys that each side of a connection sets for itself; `None` if there was nothing else."""
    if not meta:
        return meta
    return payload.without(meta, *own) or None


def progress_token(meta: Fields | None) -> RequestId | None:
    """Return the token under which the sender of a request wants progress, if it does."""
    return payload.request_id(meta[names.PROGRESS_TOKEN]) if meta and names.PROGRESS_TOKEN in meta else None


def with_meta(body: Fields, meta: Fields | None) -> Fields:
    """Set `_meta`, in its place if there is one, or remove it."""
    if meta is not None:
        return {**body, names.META: payload.encode(meta)}
    return payload.without(body, names.META) if names.META in body else body


def send_request(
    peer: Peer,
    method: str,
    params: Mapping[str, object],
    meta: Mapping[str, object] | None,
    settle: Callable[[Answer], None],
    report: Callable[[Fields], None] | None,
    stream: Write | None = None,
) -> int:
    """Send a request with its `_meta` and return its id; with `report`, ask for progress under a token of its own.

    `stream` is that of the received request that it belongs to.
    """
    if report is None:
        whole = {**params, names.META: meta} if meta is not None else params
        return peer.request(method, whole, settle, stream=stream)

    def params_with_token(token: int) -> Params:
        return {**params, names.META: {**(meta or {}), names.PROGRESS_TOKEN: token}}

    return peer.request(method, params_with_token, settle, report, stream)


def cancellation(message_id: int, reason: Reason) -> Params:
    """Write the parameters of the notification that cancels a sent request."""
    params: dict[str, object] = {"requestId": message_id}
    if reason is not None:
        params["reason"] = reason
    return params


def on_cancelled(peer: Peer, params: Raw | UnsetType) -> None:
    """Handle `notifications/cancelled`; "Invalid cancellation notifications SHOULD be ignored"."""
    try:
        cancelled = payload.fields(params)
    except ValueError:
        return
    peer.cancelled(payload.request_id(cancelled.get("requestId")), cancelled.get("reason"))


def is_wanted(message: Fields, least: str | None) -> bool:
    """Return whether a log message is at least as severe as this level; false without a level."""
    level = payload.string(message.get("level"))
    if least is None or level not in names.LOG_LEVELS:
        return False
    return names.LOG_LEVELS.index(level) >= names.LOG_LEVELS.index(least)


def most_verbose(levels: Iterable[str]) -> str:
    """Return the log level that lets most messages through."""
    return min(levels, key=names.LOG_LEVELS.index)
