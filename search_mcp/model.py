"""The vocabulary of the middle: what both eras are translated into.

Decides nothing. It knows no method name, no `_meta` key and no protocol version (those live in
`dialects/`), no stream and no process. A front dialect builds a `Call`; the router finds its
`Backend`; a back dialect carries it out and answers with an `Outcome`.
"""

import enum
from collections.abc import Callable
from typing import Protocol, TypeAlias, TypeVar

from search_mcp.errors import WireError
from search_mcp.jsonrpc import UNSET, Fields, Raw, Struct, UnsetType, encode, field, object_or_empty
from search_mcp.profiles import Profile

K = TypeVar("K")
V = TypeVar("V")


class _Word(enum.Enum):
    """One of a few words; there is one object of each, so it is told apart as fast as an object."""

    __hash__ = object.__hash__


class Era(_Word):
    """One of the two ways the protocol was ever spoken."""

    LEGACY = "legacy"
    """Opened by `initialize`, with requests in both directions."""
    MODERN = "modern"
    """Not opened at all: every request stands alone."""

    @property
    def other(self) -> "Era":
        return Era.LEGACY if self is Era.MODERN else Era.MODERN


class Kind(_Word):
    """What a server can list."""

    TOOLS = "tools"
    PROMPTS = "prompts"
    RESOURCES = "resources"
    TEMPLATES = "templates"


class Action(_Word):
    """What can be asked of the one server that owns the target."""

    CALL_TOOL = "call a tool"
    GET_PROMPT = "get a prompt"
    READ_RESOURCE = "read a resource"
    COMPLETE_PROMPT = "complete a prompt's argument"
    COMPLETE_RESOURCE = "complete a resource template's argument"
    SUBSCRIBE = "subscribe to a resource"
    UNSUBSCRIBE = "unsubscribe from a resource"
    GET_TASK = "get a task"
    GET_TASK_RESULT = "get a task's result"
    UPDATE_TASK = "answer what a task asks"
    CANCEL_TASK = "cancel a task"
    LIST_TASKS = "list the tasks"
    FOLLOW_TASK = "hear of a task's changes"
    UNFOLLOW_TASK = "hear no more of a task's changes"


class Ask(_Word):
    """What a server can ask of the client."""

    ELICIT = "elicitation"
    SAMPLE = "sampling"
    ROOTS = "roots"
    TASK = "task"
    TASK_RESULT = "task result"
    TASK_CANCEL = "task cancellation"


Reason: TypeAlias = Raw | None
"""Why somebody gave up, as a JSON string; `None` where nothing was said."""
Cancel: TypeAlias = Callable[[Reason], None]
"""Give up on something under way. Late calls do nothing."""


def NOTHING(_reason: Reason) -> None:  # noqa: N802  # a constant that happens to be a function
    """Cancel what is not under way."""


Later: TypeAlias = Callable[[float, Callable[[], None]], Callable[[], None]]
"""Do something after that many seconds; the answer prevents it."""


class Newest(dict[K, V]):
    """What was put in last: beyond `most`, the oldest go; what is put in again is new again."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: K, value: V) -> None:
        self.pop(key, None)
        super().__setitem__(key, value)
        if len(self) > self._most:
            del self[next(iter(self))]


class Result(Struct, frozen=True):
    """A finished answer: its bytes as they came, or its fields where a hop's own keys were taken out."""

    body: Raw | Fields
    type: str = "complete"

    def fields(self) -> Fields:
        """Open the body one level."""
        return self.body if isinstance(self.body, dict) else object_or_empty(self.body)

    def raw(self) -> Raw:
        """Give the body as bytes."""
        return encode(self.body) if isinstance(self.body, dict) else self.body


class InputRequired(Struct, frozen=True):
    """An unfinished answer: the server wants these requests answered and the call made again."""

    requests: Fields | None
    request_state: Raw | None
    rest: Fields = field(default_factory=dict)
    server: str = ""
    """Who wants it; empty where nobody counts its questions."""


Outcome: TypeAlias = Result | InputRequired | WireError


class Inputs(Struct, frozen=True):
    """What a repeated call brings along: the answers, and the server's own state, byte-exact."""

    responses: Raw | None
    request_state: Raw | None


class Question(Struct, frozen=True):
    """A server's request to the client. `answer` is called once, with a result or with an error."""

    server: str
    ask: Ask
    params: Fields
    meta: Fields
    answer: Callable[[Result | WireError], None]
    report: Callable[[Fields], None] | None = None
    """Takes the client's progress on this question, where the server asked for it."""
    follow: Callable[[Fields], None] | None = None
    """Takes the changes of the task that the client makes of this question, where the server asked for one."""


class Viewer(Struct, frozen=True, cache_hash=True):
    """Who looks at a list: what the client calls itself, what its revision can read, whether it shows apps."""

    client_name: str | None
    object_output_only: bool
    shows_apps: bool = False


class Audience(Struct, frozen=True):
    """For whom a list is made: the client's profile, whether output schemas must be objects, whether apps are shown."""

    profile: Profile
    object_output_only: bool
    shows_apps: bool = False


class Caller(Protocol):
    """The client, as a call sees it."""

    @property
    def capabilities(self) -> Fields: ...
    @property
    def info(self) -> Raw | None: ...
    @property
    def log_level(self) -> str | None:
        """The least severe log message it wants for this call; `None` for none."""
        ...

    @property
    def viewer(self) -> Viewer: ...

    def ask(self, question: Question, call: "Call | None") -> Cancel:
        """Put a server's question to the client, in the course of `call` where one is under way."""
        ...


class Call(Struct, eq=False):
    """One request of a client for one backend, free of either side's ids and era.

    `reply` is called exactly once unless the call is cancelled, then never. `report` takes progress,
    and is `None` where the client asked for none.
    """

    action: Action
    target: str
    """The name or URI, as the client spelled it."""
    params: Fields
    meta: Fields
    caller: Caller
    reply: Callable[[Outcome], None]
    report: Callable[[Fields], None] | None = None
    inputs: Inputs | None = None
    asks: Callable[[bool], None] | None = None
    """Takes whether the server waits for the client now, in the middle of the call."""
    by_name: bool = False
    """Whether a model named the tool in the arguments of one of ours, so that tools kept for apps are not meant."""
    unless_read_only: WireError | None = None
    """The answer if the tool is not declared read-only by the time the call is forwarded; `None`: any tool may run."""


class Entry(Struct, frozen=True, dict=True):
    """One definition of a backend's list: its key there (a name or a URI), and its fields untouched.

    Its `__dict__` remembers what was worked out of it once; it is no part of its value.
    """

    key: str
    fields: Fields


class Offer(Struct, frozen=True):
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


class Page(Struct, frozen=True):
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
    state: str
    reason: str | None = None
    retry_after_seconds: float | None = None
    offer: Offer | None = None
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
    page: Page | None


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
