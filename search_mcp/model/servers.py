"""Servers: capabilities, lists, state and notifications."""

from collections.abc import Callable
from typing import TypeAlias

from search_mcp.model.calls import Call, Caller
from search_mcp.model.names import Ask, Era, Kind, State
from search_mcp.wire.payload import object_or_empty
from search_mcp.wire.structs import UNSET, Fields, Raw, Struct, UnsetType, field


class Entry(Struct, frozen=True, dict=True):
    """One definition in a backend's list: its key (a name or a URI) and its fields, unchanged.

    Its `__dict__` caches derived values and is not part of its value.
    """

    key: str
    fields: Fields


class ServerCapabilities(Struct, frozen=True):
    """The capabilities of one backend, as declared when it was opened."""

    revision: str
    era: Era
    kinds: frozenset[Kind]
    logging: bool = False
    completions: bool = False
    subscribe: bool = False
    instructions: str = ""
    title: str = ""
    extensions: Fields | None = field(default_factory=dict)
    """Its extensions by identifier; `None` if it declared them to another kind of client only."""
    tasks: Raw | UnsetType = UNSET
    """Its declared capability for the experimental tasks of 2025-11-25."""
    has_tasks: bool = False
    """Whether it has tasks of either kind: experimental or of the extension."""
    notifies: frozenset[Kind] = frozenset()
    reads_directories: bool = False
    """Whether it lists the children of a directory of resources, which only servers of skills can."""

    @property
    def lists_tasks(self) -> bool:
        """Whether it can list its tasks, which the extension cannot."""
        return self.era is Era.LEGACY and isinstance(self.tasks, Raw) and "list" in object_or_empty(self.tasks)


class Freshness(Struct, frozen=True):
    """The time that a list may be cached, in milliseconds, and whether it may be shared between users."""

    ttl_ms: int = 0
    public: bool = False


class ServerList(Struct, frozen=True):
    """One complete list of a backend, and remarks on the entries that were left out."""

    entries: tuple[Entry, ...]
    freshness: Freshness = Freshness()
    rejected: tuple[str, ...] = ()
    changed: frozenset[str] = frozenset()
    """The entries that differ from the definitions first seen or accepted since."""
    new: frozenset[str] = frozenset()
    """The entries that were added since the list was first seen, and not accepted since."""
    trouble: str = ""
    """The reason why it could not be compared with the definitions first seen, if so."""
    is_pending: bool = False
    """Whether it comes from the cache and has not been compared yet."""
    read_at: float = 0.0
    """The time at which it was read, in seconds of a monotonic clock."""


class ServerFacts(Struct, frozen=True):
    """The configuration of a server, as search-mcp's own tools show it."""

    description: str
    tags: tuple[str, ...]
    read_only: bool = False
    noun: str = "command"
    """The word for what `Status.command` is: a command or an address."""


class Status(Struct, frozen=True):
    """A backend's state, for people, models and error messages."""

    server: str
    state: State
    reason: str | None = None
    retry_after_seconds: float | None = None
    capabilities: ServerCapabilities | None = None
    start_seconds: float | None = None
    failed_lately: bool = False
    """Whether its last start failed minutes ago and it has no list, so that clients do not wait for one."""
    last_failure: str | None = None
    """The reason why its last start failed, in this process or an earlier one, while it is started again."""
    lacked_login: bool = False
    """Whether it is stopped, and its last start, in this process or an earlier one, lacked a login."""
    command: str | None = None
    """The command that the user has to accept, without secrets, if the server is held."""
    is_about_changed: bool = False
    """Whether its title or instructions differ from those first seen or accepted since."""
    sharing: str | None = None
    """Whether clients share it, and why, where clients may share servers; `None` elsewhere, or while unknown."""
    remedy: str = ""
    """The command that the user can run to end this state; empty if there is none."""
    since: float | None = None
    """The time at which this state began, in seconds since the epoch; `None` while unknown."""


# News: notifications and state changes of a backend.


class ListChanged(Struct, frozen=True):
    """A list of a backend was read, for the first time or again; `None` if it could not be read."""

    server: str
    kind: Kind
    page: ServerList | None
    is_announced: bool = False
    """Whether the server said that the list changed, which may be in ways that search-mcp cannot see."""


class ResourceUpdated(Struct, frozen=True):
    server: str
    uri: str
    params: Fields


class LogMessage(Struct, frozen=True):
    """A log message; `call` is the call it most likely belongs to, because the protocol does not say."""

    server: str
    params: Fields
    call: Call | None


class ElicitationComplete(Struct, frozen=True):
    server: str
    params: Fields


class TaskChanged(Struct, frozen=True):
    server: str
    params: Fields
    is_followed: bool = False
    """Whether a client asked to hear of this task."""


class StateChanged(Struct, frozen=True):
    """The state of a backend changed."""

    server: str
    status: Status


News: TypeAlias = ListChanged | ResourceUpdated | LogMessage | ElicitationComplete | TaskChanged | StateChanged


class Opening(Struct, frozen=True):
    """The client's era and capabilities, or those with which a backend is opened."""

    era: Era
    """The client's; the era that a backend is asked for first."""
    revision: str
    capabilities: Fields
    info: Raw | None
    caller: Caller | None = None
    """Answers questions of backends outside any call; `None` if there is no such client."""
    admit_question: Callable[[Ask, Call | None], None] = lambda _ask, _call: None
    """Called before a legacy server's question is asked, with the call it belongs to, or `None` if it belongs to no
    single call; raises a `WireError` to refuse it."""
