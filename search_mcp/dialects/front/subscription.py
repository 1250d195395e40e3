"""A `subscriptions/listen` request of a modern client: its filter, and the notifications under its id."""

from collections.abc import Callable

from search_mcp.dialects import MergedCapabilities, names
from search_mcp.dialects.params import extensions
from search_mcp.model.calls import Caller
from search_mcp.model.names import Action, Kind
from search_mcp.wire import payload
from search_mcp.wire.errors import ProtocolError, invalid_params
from search_mcp.wire.inflight import Request
from search_mcp.wire.peer import Peer
from search_mcp.wire.structs import Fields, Raw, Struct


class Filter(Struct, frozen=True):
    """The notifications that a client asked for and that a backend can send.

    A list is `None` if the client did not ask for this sort, or no backend has it.
    """

    kinds: frozenset[Kind]
    uris: list[str] | None
    """The resources whose updates are sent."""
    tasks: list[str] | None
    """The tasks whose changes are sent."""

    def targets(self) -> list[tuple[Action, str]]:
        """Return the subscriptions to make at servers."""
        uris = [(Action.SUBSCRIBE, uri) for uri in self.uris or ()]
        return [*uris, *((Action.FOLLOW_TASK, task) for task in self.tasks or ())]


class Subscription(Struct, eq=False):
    """An open stream of notifications to the client."""

    peer: Peer
    request: Request
    caller: Caller
    filter: Filter

    def acknowledge(self) -> None:
        """Send the accepted filter; MUST be the first message of the subscription."""
        honoured: dict[str, object] = {names.LISTEN_KEY[kind]: True for kind in Kind if kind in self.filter.kinds}
        if self.filter.uris is not None:
            honoured[names.LISTEN_URIS] = self.filter.uris
        if self.filter.tasks is not None:
            honoured[names.LISTEN_TASKS] = self.filter.tasks
        self._notify(names.ACKNOWLEDGED, {"notifications": payload.encode(honoured)})

    def on_changed(self, kinds: frozenset[Kind]) -> None:
        for method in sorted({names.LIST_CHANGED_METHOD[kind] for kind in kinds & self.filter.kinds}):
            self._notify(method, {})

    def on_updated(self, uri: str, params: Fields) -> None:
        # "This might be a sub-resource of the one that the client actually subscribed to."
        if any(uri == wanted or uri.startswith(f"{wanted.rstrip('/')}/") for wanted in self.filter.uris or ()):
            self._notify(names.UPDATED, params)

    def on_task_changed(self, params: Fields) -> None:
        if payload.string(params.get("taskId")) in (self.filter.tasks or ()):
            self._notify(names.TASK_CHANGED, params)

    def meta(self) -> Fields:
        """Return the `_meta` of every message of this stream, the last one included."""
        # "the server MUST include io.modelcontextprotocol/subscriptionId in `_meta`"
        return {names.SUBSCRIPTION_KEY: payload.encode(self.request.id)}

    def _notify(self, method: str, params: Fields) -> None:
        meta = {**payload.object_or_empty(params.get(names.META)), **self.meta()}
        self.peer.notify(method, {**params, names.META: meta}, self.request.stream)


def read_filter(
    params: Fields, offered: MergedCapabilities, can_subscribe: Callable[[str], bool], capabilities: Fields
) -> Filter:
    """Read the filter of a request.

    Raises:
        ProtocolError: it is malformed, or needs a capability that the client did not declare.
    """
    try:
        wanted = payload.fields(params["notifications"])
    except (KeyError, ValueError):
        raise invalid_params("Invalid params: notifications must be an object") from None
    kinds = frozenset(
        kind for kind, key in names.LISTEN_KEY.items() if kind in offered.kinds and wanted.get(key) == Raw(b"true")
    )
    uris, tasks = _strings(wanted, names.LISTEN_URIS), _strings(wanted, names.LISTEN_TASKS)
    if tasks is not None and names.TASKS_EXTENSION not in extensions(capabilities):
        # "If a client requests task status notifications but does not declare the [...] extension capability,
        # the server MUST return a JSON-RPC error specifying the missing capabilities"
        missing: dict[str, object] = {"extensions": {names.TASKS_EXTENSION: {}}}
        message = "Missing required client capability"
        raise ProtocolError(names.MISSING_CAPABILITY, message, {"requiredCapabilities": missing})
    return Filter(
        kinds,
        list(filter(can_subscribe, uris)) if uris is not None and offered.subscribe else None,
        tasks if names.TASKS_EXTENSION in offered.extensions else None,
    )


def _strings(wanted: Fields, key: str) -> list[str] | None:
    if key not in wanted:
        return None
    strings = payload.value(wanted[key])
    if not isinstance(strings, list) or not all(isinstance(each, str) for each in strings):
        raise invalid_params(f"Invalid params: {key} must be a list of strings")
    return strings
