"""MCP's messages, translated to and from the model: one adapter for each side and era.

A front dialect turns a client's requests into `Call`s and `Outcome`s into responses; a back dialect does the opposite
for a backend. Method names, `_meta` keys, `resultType` and protocol versions are known in this package only.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Protocol

from search_mcp.model.calls import Call, Link, Viewer
from search_mcp.model.names import Kind
from search_mcp.model.servers import Freshness, News, Opening, ServerCapabilities, ServerList
from search_mcp.wire.errors import WireError
from search_mcp.wire.inflight import Request, RequestFailure
from search_mcp.wire.pending import Pending
from search_mcp.wire.structs import Raw, Struct, UnsetType


class Listing(Struct, frozen=True):
    """A merged list as shown to a client: a JSON array, and how long it may be cached."""

    items: Raw
    freshness: Freshness


class MergedCapabilities(Struct, frozen=True):
    """The capabilities of all backends together, as far as they are known."""

    kinds: frozenset[Kind]
    logging: bool
    completions: bool
    subscribe: bool
    extensions: dict[str, Raw]
    """By identifier, the settings of the first server in the order of the configuration."""
    may_have_more_extensions: bool
    """Whether the extensions of a server are unknown."""
    tasks: tuple[Raw, ...]
    """The backends' capabilities for the experimental tasks of 2025-11-25."""
    reads_directories: bool = False
    """Whether a backend is known to list the children of a directory of resources."""


class Gateway(Protocol):
    """The interface of the gateway to a front."""

    page_remedy: str
    """The end of the error about an address that the client cannot show; empty if no page shows it."""

    def attach(self, tell_front: "Callable[[News | CatalogChanged], None]") -> None:
        """Tell notifications and changes of lists to the front from now on."""
        ...

    def recall(self, opening: Opening) -> None:
        """Load the cached capabilities and lists of the backends for such a client, without starting them."""
        ...

    def open(self, opening: Opening) -> None:
        """Start the backends for this client; ignored if they were opened before."""
        ...

    def capabilities(self) -> MergedCapabilities: ...
    def instructions(self, viewer: Viewer) -> str: ...
    def merged_list(
        self, kind: Kind, viewer: Viewer, reply: Pending[Listing | WireError], *, hears_news: bool = False
    ) -> None: ...
    def submit(self, call: Call) -> None: ...
    def can_subscribe(self, uri: str) -> bool:
        """Return whether a backend may send updates of this resource."""
        ...

    def when_listed(self, uri: str, act: Callable[[], None]) -> Callable[[], None]:
        """Call a function once a backend lists this resource; the returned function cancels that."""
        ...

    def task_id_for_client(self, server: str, task: str) -> str:
        """Return the client's id of a server's task."""
        ...

    def elicitation_id_for_client(self, server: str, elicitation: str) -> str:
        """Return the client's id of a server's elicitation."""
        ...

    def note_links(self, links: Iterable[Link]) -> None:
        """Keep addresses that the client cannot show, for the page."""
        ...

    def set_log_level(self, level: str) -> None: ...
    def roots_changed(self) -> None: ...
    def later(self, seconds: float, act: Callable[[], None]) -> Callable[[], None]:
        """Call a function after a delay; the returned function cancels that."""
        ...


class CatalogChanged(Struct, frozen=True):
    """The lists of these kinds, as shown to clients, changed."""

    kinds: frozenset[Kind]


class CannotOpenError(Exception):
    """The backend answers, but cannot be used; the message says why."""


class CannotSpeakError(CannotOpenError):
    """The backend supports no known revision, so that starting it again is useless."""


class OnStaleList(Protocol):
    """Has lists of a backend read again."""

    def __call__(self, kinds: Collection[Kind], *, is_announced: bool) -> None:
        """`is_announced`: the backend announced a change of these lists in one notification, which is passed on."""
        ...


class OnUnanswered(Protocol):
    """Ends a call that its connection does not answer: replies to it, or has it sent once more."""

    def __call__(self, call: Call, target: str, failure: RequestFailure | None) -> None:
        """`failure`: how its request failed; `None`: the connection ended."""
        ...


class BackDialect(Protocol):
    """An open backend of one era."""

    @property
    def capabilities(self) -> ServerCapabilities: ...
    def submit(self, call: Call, target: str) -> None: ...
    def on_request(self, request: Request) -> None: ...
    def on_notification(self, method: str, params: Raw | UnsetType) -> None: ...
    async def read_list(self, kind: Kind) -> ServerList: ...
    def has_calls(self) -> bool:
        """Return whether a call is in progress."""
        ...

    def is_idle(self) -> bool:
        """Return whether no call or subscription of a client is in progress."""
        ...

    def set_log_level(self, level: str) -> None: ...
    def roots_changed(self) -> None: ...
