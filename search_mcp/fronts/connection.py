"""The server end of a client's connection: each message goes to the dialect of its era.

The era is decided for each message, because one client may use both. The answers are the dialects' work.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from search_mcp.dialects import CatalogChanged, Gateway, detect
from search_mcp.dialects.front.legacy import FrontLegacy
from search_mcp.dialects.params import read_params
from search_mcp.model.servers import News
from search_mcp.wire.errors import WireError
from search_mcp.wire.framing import Line
from search_mcp.wire.inflight import Request
from search_mcp.wire.messages import Invalid
from search_mcp.wire.peer import Peer
from search_mcp.wire.structs import ErrorObject, Raw, UnsetType

if TYPE_CHECKING:
    from search_mcp.dialects.front.modern import FrontModern


class Front:
    """A dual-era server towards one client."""

    def __init__(
        self, gateway: Gateway, write: Callable[[bytes], None], max_message_bytes: int, first_id: int = 1
    ) -> None:
        self.peer = Peer("client", write, self, max_message_bytes, first_id=first_id)
        self._gateway = gateway
        self._legacy = FrontLegacy(self.peer, gateway)
        self._modern: FrontModern | None = None  # loaded with the first modern request
        gateway.attach(self.tell)

    @property
    def is_open(self) -> bool:
        """Whether a legacy session has begun."""
        return self._legacy.opened

    def on_request(self, request: Request) -> None:
        params, meta = read_params(request.params)
        if not detect.is_modern(request.method, meta or {}, opened=self._legacy.opened):
            self._legacy.on_request(request, params, meta)
            return
        if self._modern is None:
            from search_mcp.dialects.front.modern import FrontModern

            self._modern = FrontModern(self.peer, self._gateway)
        self._modern.on_request(request, params, meta)

    def on_notification(self, method: str, params: Raw | UnsetType) -> None:
        # Notifications carry no era. A cancellation names its request whichever dialect served it, and
        # the legacy dialect knows every notification that the modern one does.
        self._legacy.on_notification(method, params)

    def on_invalid(self, invalid: Invalid, line: Line) -> ErrorObject | None:
        return ErrorObject(invalid.code, invalid.message)

    def tell(self, news: News | CatalogChanged) -> None:
        """Pass on notifications of servers and changes of lists."""
        self._legacy.tell(news)
        if self._modern is not None:
            self._modern.tell(news)

    def end_subscriptions(self) -> None:
        """End the subscriptions, which stay open until one side ends them."""
        if self._modern is not None:
            self._modern.end_subscriptions()

    def close(self) -> None:
        """End the connection; nothing is written afterwards."""
        if self._modern is not None:
            self._modern.close()
        self.peer.end()


class Refusing:
    """A replacement for `Front` that refuses every request with one error."""

    def __init__(self, why: WireError, write: Callable[[bytes], None], max_message_bytes: int) -> None:
        self.peer = Peer("client", write, self, max_message_bytes)
        self._why = why

    def on_request(self, request: Request) -> None:
        self.peer.refuse(request, self._why)

    def on_notification(self, method: str, params: Raw | UnsetType) -> None:
        """Ignore it: there is nothing to serve."""

    def on_invalid(self, invalid: Invalid, line: Line) -> ErrorObject | None:
        return ErrorObject(invalid.code, invalid.message)

    def close(self) -> None:
        self.peer.end()
