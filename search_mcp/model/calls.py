"""The vocabulary of the middle: what both eras are translated into.

Decides nothing. It knows no method name, no `_meta` key and no protocol version (those live in
`dialects/`), no stream and no process. A front dialect builds a `Call`; the router finds its
`Backend`; a back dialect carries it out and answers with an `Outcome`.
"""

from collections.abc import Callable
from typing import Protocol, TypeAlias, TypeVar

from search_mcp.model.names import Action, Ask
from search_mcp.wire.errors import WireError
from search_mcp.wire.inflight import Cancel
from search_mcp.wire.payload import encode, object_or_empty
from search_mcp.wire.structs import Fields, Raw, Struct, field

K = TypeVar("K")
V = TypeVar("V")


CallLater: TypeAlias = Callable[[float, Callable[[], None]], Callable[[], None]]
"""Call a function after that many seconds; the returned function cancels that."""


class BoundedDict(dict[K, V]):
    """A dictionary of at most `most` keys: the keys that were set longest ago are removed."""

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
    @property
    def session(self) -> object:
        """The client session that it calls in: calls of different sessions are never confused."""
        ...

    def ask(self, question: Question, call: "Call | None") -> Cancel:
        """Put a server's question to the client, in the course of `call` where one is under way."""
        ...


class Call(Struct, frozen=True, eq=False):
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
