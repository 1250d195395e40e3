"""Where the protocol's eras meet the middle: one adapter per side and era.

A front dialect turns a client's messages into `Call`s and their `Outcome`s into answers; a back
dialect does the opposite towards a child. Nothing outside this package knows a method name, a `_meta`
key, a `resultType` or a protocol version.
"""

from collections.abc import Callable
from typing import Protocol

from search_mcp.model.calls import Call, Viewer
from search_mcp.model.names import Kind
from search_mcp.model.servers import Freshness, Opening, ServerCapabilities
from search_mcp.wire.errors import WireError
from search_mcp.wire.inflight import Cancel, Request
from search_mcp.wire.structs import Raw, Struct, UnsetType


class Listing(Struct, frozen=True):
    """A merged list as this client is shown it: a JSON array, and how long it may be kept."""

    items: Raw
    freshness: Freshness


class MergedCapabilities(Struct, frozen=True):
    """What all backends together can do, as far as it is known."""

    kinds: frozenset[Kind]
    logging: bool
    completions: bool
    subscribe: bool
    extensions: dict[str, Raw]
    tasks: tuple[Raw, ...]
    """The backends' capabilities for the experimental tasks of 2025-11-25."""


class Gateway(Protocol):
    """What a front dialect may ask of the middle."""

    def recall(self, opening: Opening) -> None:
        """Know what was known of the backends when such a client was last here; start nothing."""
        ...

    def open(self, opening: Opening) -> None:
        """Start the backends for this client; a second opening changes nothing."""
        ...

    def capabilities(self) -> MergedCapabilities: ...
    def instructions(self, viewer: Viewer) -> str: ...
    def merged_list(
        self, kind: Kind, viewer: Viewer, reply: Callable[[Listing | WireError], None], *, hears_news: bool = False
    ) -> Cancel: ...
    def submit(self, call: Call) -> Cancel: ...
    def can_subscribe(self, uri: str) -> bool:
        """Whether there may be somebody to tell of a resource's updates."""
        ...

    def task_id_for_client(self, server: str, task: str) -> str:
        """The id that the client knows a server's task by."""
        ...

    def elicitation_id_for_client(self, server: str, elicitation: str) -> str:
        """The id that the client knows a server's elicitation by."""
        ...

    def set_log_level(self, level: str) -> None: ...
    def roots_changed(self) -> None: ...
    def later(self, seconds: float, act: Callable[[], None]) -> Callable[[], None]:
        """Do something after a while; returns what prevents it."""
        ...


class CatalogChanged(Struct, frozen=True):
    """What clients are shown did change, in these kinds."""

    kinds: frozenset[Kind]


class BackDialect(Protocol):
    """The child side of one era, once the child is open."""

    @property
    def capabilities(self) -> ServerCapabilities: ...
    def submit(self, call: Call, target: str) -> Cancel: ...
    def on_request(self, request: Request) -> None: ...
    def on_notification(self, method: str, params: Raw | UnsetType) -> None: ...
    async def read_list(self, kind: Kind) -> None: ...
    def is_idle(self) -> bool:
        """Whether nothing of a client is under way."""
        ...

    def set_log_level(self, level: str) -> None: ...
    def roots_changed(self) -> None: ...
