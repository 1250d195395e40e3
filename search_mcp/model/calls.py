"""Calls, their outcomes, and the questions of servers, independent of protocol eras.

A front dialect makes a `Call`, the router finds its server, and a back dialect forwards it and replies with an
`Outcome`. Method names, `_meta` keys and protocol versions are in `dialects/` only.
"""

import enum
from collections.abc import Callable
from typing import Protocol, TypeAlias, TypeVar

from search_mcp.model.names import Action, Ask, Era
from search_mcp.wire.errors import WireError
from search_mcp.wire.payload import encode, object_or_empty
from search_mcp.wire.pending import Pending
from search_mcp.wire.structs import Fields, Raw, Struct, field, replace

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


class Result(Struct, frozen=True, gc=False):
    """A final result: the bytes as they arrived, or the fields where keys of one connection were removed."""

    body: Raw | Fields
    type: str = "complete"

    def fields(self) -> Fields:
        """Return the body, decoded by one level."""
        return self.body if isinstance(self.body, dict) else object_or_empty(self.body)

    def raw(self) -> Raw:
        """Return the body, encoded."""
        return encode(self.body) if isinstance(self.body, dict) else self.body

    @property
    def size(self) -> int:
        """The bytes of the body; keys and punctuation of a decoded one are not counted."""
        return sum(map(len, self.body.values())) if isinstance(self.body, dict) else len(self.body)


class InputRequired(Struct, frozen=True):
    """An intermediate result: the server needs answers to these requests, in a repeated call."""

    requests: Fields | None
    request_state: Raw | None
    rest: Fields = field(default_factory=dict)
    server: str = ""
    """The server, for counting its open questions; empty if they are not counted."""


class Link(Struct, frozen=True):
    """An address that a server asks the user to open."""

    server: str
    message: str
    url: str


Outcome: TypeAlias = Result | InputRequired | WireError


class Inputs(Struct, frozen=True):
    """The input of a repeated call: the answers, and the server's state, byte for byte."""

    responses: Raw | None
    request_state: Raw | None


class Question(Struct, frozen=True):
    """A server's request to the client."""

    server: str
    ask: Ask
    params: Fields
    meta: Fields | None
    """Its `_meta` without the keys that each side sets for itself; `None` if it has none."""
    answer: Pending[Result | WireError]
    report: Callable[[Fields], None] | None = None
    """Reports the client's progress to the server, if it asked for that."""
    follow: Callable[[Fields], None] | None = None
    """Reports changes of the task that the client makes of this question, if the server asked for one."""


class Viewer(Struct, frozen=True, cache_hash=True):
    """The properties of a client on which what it is shown depends: its name, what its revision can read, MCP Apps."""

    client_name: str | None
    object_output_only: bool
    shows_apps: bool = False
    reads_links: bool = True
    """Whether a result may have a link to a resource."""


class Caller(Protocol):
    """The client that makes a call."""

    @property
    def era(self) -> Era: ...
    @property
    def capabilities(self) -> Fields: ...
    @property
    def info(self) -> Raw | None: ...
    @property
    def log_level(self) -> str | None:
        """The level of the least severe log messages it wants for this call; `None` for no messages."""
        ...

    @property
    def viewer(self) -> Viewer: ...
    @property
    def session(self) -> object:
        """The client session that it calls in: calls of different sessions are never confused."""
        ...

    def ask(self, question: Question, call: "Call | None") -> None:
        """Put a server's question to the client, as part of `call` if one is in progress."""
        ...


class Retry(enum.Enum):
    """A reason to carry out a call again; each counts once in a call."""

    LIST_CHANGED = "list changed"  # a changed list was read, in which its target may be
    REJECTED = "rejected"  # a connection rejected it unread
    OUTDATED = "outdated"  # the server rejected it because its lists changed, and they were read again
    LOGIN = "login"  # its user was asked to log in


class Reply(Pending[Outcome], eq=False):
    """The pending outcome of a call. Copies of the call share it."""

    tool: tuple[str, str] = ("", "")
    """The server, and its own name of the tool, once a tool call has found them; for our own tools, no server."""


def unheard() -> Reply:
    """Return a reply that is ignored."""
    return Reply(lambda _outcome: None)


class Call(Struct, frozen=True, eq=False):
    """One request of a client for one backend, without ids and era of either side.

    Copies of a call, with other fields, have the same `reply`. `report` is called with progress, and is `None` if the
    client asked for none.
    """

    action: Action
    target: str
    """The name or URI, as the client wrote it."""
    params: Fields
    meta: Fields | None
    """Its `_meta` without the keys that each side sets for itself; `None` if it has none."""
    caller: Caller
    reply: Reply
    report: Callable[[Fields], None] | None = None
    inputs: Inputs | None = None
    asks: Callable[[bool], None] | None = None
    """Called with true when the server starts to wait for the client during the call, with false when it stops."""
    by_name: bool = False
    """Whether a model named the tool as an argument of `call_tool`; then tools for apps only are excluded."""
    tried: frozenset[Retry] = frozenset()
    """The reasons for which it was carried out again."""
    unless_read_only: WireError | None = None
    """The error if the tool is not declared read-only when the call is forwarded; `None` admits every tool."""

    is_part: bool = False
    """Whether its result becomes a part of another call's result, which is shortened as a whole."""

    def again(self, why: Retry) -> "Call":
        """Return it as it is carried out once more."""
        return replace(self, tried=self.tried | {why})
