"""A server as it describes itself: capabilities, lists, state and notifications."""

from typing import Protocol, TypeAlias

from search_mcp.model.calls import Call, Caller
from search_mcp.model.names import Era, Kind, State
from search_mcp.wire.inflight import Cancel
from search_mcp.wire.payload import object_or_empty
from search_mcp.wire.structs import UNSET, Fields, Raw, Struct, UnsetType, field


class Entry(Struct, frozen=True, dict=True):
    """One definition of a backend's list: its key there (a name or a URI), and its fields untouched.

    Its `__dict__` remembers what was worked out of it once; it is no part of its value.
    """

    key: str
    fields: Fields


class ServerCapabilities(Struct, frozen=True):
    """What one backend said of itself when it was opened, and what of it matters here."""

    revision: str
    era: Era
    kinds: frozenset[Kind]
    logging: bool = False
    completions: bool = False
    subscribe: bool = False
    instructions: str = ""
    title: str = ""
    extensions: Fields = field(default_factory=dict)
    tasks: Raw | UnsetType = UNSET
    """Its capability for the experimental tasks of 2025-11-25."""
    has_tasks: bool = False
    """Whether it has tasks of any kind, the extension's included."""
    notifies: frozenset[Kind] = frozenset()

    @property
    def lists_tasks(self) -> bool:
        """Whether it can be asked for a list of its tasks: the extension has none."""
        return self.era is Era.LEGACY and isinstance(self.tasks, Raw) and "list" in object_or_empty(self.tasks)


class Freshness(Struct, frozen=True):
    """How long a list may be kept, in milliseconds, and whether it may be shared between users."""

    ttl_ms: int = 0
    public: bool = False


class ServerList(Struct, frozen=True):
    """One kind of a backend, whole: every page of it, and what was left out, with the reason."""

    entries: tuple[Entry, ...]
    freshness: Freshness = Freshness()
    rejected: tuple[str, ...] = ()
    changed: frozenset[str] = frozenset()
    """The entries whose definitions are neither what was first seen nor what was accepted since."""
    new: frozenset[str] = frozenset()
    """The entries that were not there when the list was first seen, and were not accepted since."""
    trouble: str = ""
    """Why it could not be compared with what was first seen, if it could not."""
    is_pending: bool = False
    """Whether it is remembered, and still to be compared."""


class ServerFacts(Struct, frozen=True):
    """What the configuration says of a server, for our own tools."""

    description: str
    tags: tuple[str, ...]
    read_only: bool = False


class Status(Struct, frozen=True):
    """A backend's state, for people, models and error messages."""

    server: str
    state: State
    reason: str | None = None
    retry_after_seconds: float | None = None
    capabilities: ServerCapabilities | None = None
    start_seconds: float | None = None
    failed_lately: bool = False
    """Its last start failed minutes ago, and it has no list: clients do not wait for one."""
    command: str | None = None
    """What would be run, without secrets, if it is held until the user accepts that."""
    is_about_changed: bool = False
    """Whether its title or instructions are not what was first seen or accepted since."""


class Backend(Protocol):
    """One server behind us, whatever state it is in."""

    @property
    def name(self) -> str: ...
    @property
    def status(self) -> Status: ...

    def recall(self, opening: "Opening") -> None:
        """Tell what is remembered of it from earlier, for such a client, without starting it."""
        ...

    def open(self, opening: "Opening") -> None:
        """Get to know the client, and start for it."""
        ...

    def submit(self, call: Call, target: str) -> Cancel:
        """Carry out a call under the backend's own name for it, now or when it has started."""
        ...

    def look_again(self, kind: Kind) -> None:
        """Take note that the client looks at a list: one that changes unannounced is read again."""
        ...

    def set_log_level(self, level: str) -> None: ...
    def roots_changed(self) -> None: ...


# News: what a backend says unasked, as values.


class ListChanged(Struct, frozen=True):
    """A backend's list of one kind is known, for the first time or anew; `None` if it cannot be had."""

    server: str
    kind: Kind
    page: ServerList | None


class ResourceUpdated(Struct, frozen=True):
    server: str
    uri: str
    params: Fields


class LogMessage(Struct, frozen=True):
    """`call` is the one it most likely belongs to; the protocol does not say."""

    server: str
    params: Fields
    call: Call | None


class ElicitationComplete(Struct, frozen=True):
    server: str
    params: Fields


class TaskChanged(Struct, frozen=True):
    server: str
    params: Fields


class StateChanged(Struct, frozen=True):
    """A backend entered another state."""

    server: str
    status: Status


News: TypeAlias = ListChanged | ResourceUpdated | LogMessage | ElicitationComplete | TaskChanged | StateChanged


class Opening(Struct, frozen=True):
    """The client's era and capabilities, which decide how backends are opened."""

    era: Era
    revision: str
    capabilities: Fields
    info: Raw | None
    caller: Caller | None = None
    """Whom a backend's question outside any call is put to; `None` where there is nobody."""
