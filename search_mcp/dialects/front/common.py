"""Parts of the front dialects that both eras share: capabilities, targets, progress tokens, cursors."""

from search_mcp import __version__
from search_mcp.dialects import MergedCapabilities, names
from search_mcp.model.names import Action, Ask, Kind
from search_mcp.wire import payload
from search_mcp.wire.errors import WireError, invalid_params, method_not_found
from search_mcp.wire.inflight import Request
from search_mcp.wire.peer import Peer
from search_mcp.wire.structs import Fields, Raw, RequestId

DEEPEST_CAPABILITY = 4
"""Levels of nesting that are read of a capability, as in `tasks.requests.tools.call`."""
SERVER_INFO = {"name": "search-mcp", "title": "search-mcp", "version": __version__}


def capabilities(offered: MergedCapabilities) -> dict[str, object]:
    """Write the capabilities of all backends together as those of one server."""
    body: dict[str, object] = {"tools": {"listChanged": True}}
    if Kind.PROMPTS in offered.kinds:
        body["prompts"] = {"listChanged": True}
    if Kind.RESOURCES in offered.kinds:
        body["resources"] = {"subscribe": offered.subscribe, "listChanged": True}
    if offered.completions:
        body["completions"] = {}
    if offered.logging:
        body["logging"] = {}
    if offered.tasks:
        body["tasks"] = _united([payload.value(each) for each in offered.tasks])
    if offered.extensions:
        body["extensions"] = offered.extensions
    return body


def _united(capabilities: list[object], depth: int = DEEPEST_CAPABILITY) -> dict[str, object]:
    """Merge nested objects: the result has every key of any of them."""
    objects = [each for each in capabilities if isinstance(each, dict)] if depth else []
    return {key: _united([each[key] for each in objects if key in each], depth - 1) for each in objects for key in each}


def read_target(method: str, params: Fields) -> tuple[Action, str]:
    """Return the action and the target of a request.

    Raises:
        ProtocolError: the method is unknown, or the parameter that names the target is wrong.
    """
    if method in names.TARGETED:
        action, key = names.TARGETED[method]
        return action, _required_string(params, key)
    if method == names.COMPLETE:
        return _read_reference(params)
    if method == names.TASKS_LIST:
        refuse_cursor(params)
        return Action.LIST_TASKS, ""
    raise method_not_found(method)


def _read_reference(params: Fields) -> tuple[Action, str]:
    try:
        reference = payload.fields(params["ref"])
    except (KeyError, ValueError):
        raise invalid_params("Invalid params: ref must be an object") from None
    try:
        payload.fields(params["argument"])
    except (KeyError, ValueError):
        raise invalid_params("Invalid params: argument must be an object") from None
    found = names.REFERENCES.get(payload.string(reference.get("type")) or "")
    if found is None:
        raise invalid_params(f"Invalid params: ref.type must be {' or '.join(names.REFERENCES)}")
    action, key = found
    return action, _required_string(reference, key)


def _required_string(params: Fields, key: str) -> str:
    value = payload.string(params.get(key))
    if not value:
        problem = "is missing" if key not in params else "must be a string and not empty"
        raise invalid_params(f"Invalid params: {key} {problem}")
    return value


def progress_token(meta: Fields) -> RequestId | None:
    return payload.request_id(meta[names.PROGRESS_TOKEN]) if names.PROGRESS_TOKEN in meta else None


def refuse_cursor(params: Fields) -> None:
    """Check that a request has no cursor: lists have one page, so no cursor was ever given out.

    Raises:
        ProtocolError: there is one. "Invalid cursors SHOULD result in an error with code -32602"
    """
    if payload.value(params.get("cursor", Raw(b"null"))) is not None:
        raise invalid_params("Invalid params: this cursor was not given here; lists are one page")


def refuse_question(caller_capabilities: Fields, ask: Ask) -> WireError | None:
    """Return the error for a question that needs a capability which the client did not declare; `None` if it did."""
    capability = names.ASK_CAPABILITY[ask]
    if capability in caller_capabilities:
        return None
    return method_not_found(f"{names.ASK_METHOD[ask]} (the client did not declare the {capability} capability)")


class ProgressReport:
    """Reports progress to one request of the client, under its own token, while it is open."""

    def __init__(self, peer: Peer, request: Request, token: RequestId) -> None:
        self._peer, self._request, self._token = peer, request, token

    def __call__(self, params: Fields) -> None:
        if self._peer.is_open(self._request):
            self._pass_on(params)

    def _pass_on(self, params: Fields) -> None:
        self._peer.notify(names.PROGRESS, {**params, names.PROGRESS_TOKEN: self._token})


class TaskProgressReport(ProgressReport):
    """Reports progress to a request that may become a task, also after its response."""

    def __call__(self, params: Fields) -> None:
        self._pass_on(params)
