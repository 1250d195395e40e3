"""One `subscriptions/listen` of a modern client: what it asked for, and under whose id it is told."""

from dataclasses import dataclass

from search_mcp import jsonrpc
from search_mcp.dialects import Offered, names
from search_mcp.dialects.params import with_meta
from search_mcp.errors import invalid_params
from search_mcp.inflight import Request
from search_mcp.jsonrpc import Fields, Raw
from search_mcp.model import Caller, Kind
from search_mcp.peer import Peer


@dataclass(slots=True, eq=False)
class Subscription:
    """An open stream of notifications to the client."""

    peer: Peer
    request: Request
    caller: Caller
    kinds: frozenset[Kind]
    uris: list[str] | None
    """The resources whose updates it wants; `None` if it did not ask for any, or nobody has them."""

    def acknowledge(self) -> None:
        """Say what is honoured; MUST be the first message of the subscription."""
        honoured: dict[str, object] = {names.LISTEN_KEY[kind]: True for kind in Kind if kind in self.kinds}
        if self.uris is not None:
            honoured[names.LISTEN_URIS] = self.uris
        self._notify(names.ACKNOWLEDGED, {"notifications": jsonrpc.encode(honoured)})

    def on_changed(self, kinds: frozenset[Kind]) -> None:
        for method in sorted({names.LIST_CHANGED_METHOD[kind] for kind in kinds & self.kinds}):
            self._notify(method, {})

    def on_updated(self, uri: str, params: Fields) -> None:
        if uri in (self.uris or ()):
            self._notify(names.UPDATED, params)

    def meta(self) -> Fields:
        """The `_meta` of every message of this stream, its last included."""
        # "the server MUST include io.modelcontextprotocol/subscriptionId in `_meta`"
        return {names.SUBSCRIPTION_KEY: jsonrpc.encode(self.request.id)}

    def _notify(self, method: str, params: Fields) -> None:
        meta = {**jsonrpc.object_or_empty(params.get(names.META)), **self.meta()}
        self.peer.notify(method, jsonrpc.encode(with_meta(params, meta)))


def read_filter(params: Fields, offered: Offered) -> tuple[frozenset[Kind], list[str] | None]:
    """Read what a client wants to hear of, as far as there is anybody to hear it from.

    Raises:
        ProtocolError: it is malformed.
    """
    try:
        wanted = jsonrpc.fields(params["notifications"])
    except (KeyError, ValueError):
        raise invalid_params("Invalid params: notifications must be an object") from None
    kinds = frozenset(
        kind for kind, key in names.LISTEN_KEY.items() if kind in offered.kinds and wanted.get(key) == Raw(b"true")
    )
    if names.LISTEN_URIS not in wanted:
        return kinds, None
    uris = jsonrpc.value(wanted[names.LISTEN_URIS])
    if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris):
        raise invalid_params(f"Invalid params: {names.LISTEN_URIS} must be a list of strings")
    return kinds, uris if offered.subscribe else None
