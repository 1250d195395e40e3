"""The lines between a command and the engine that lends it servers, after the first ones: one JSON object each.

Both ends are of the same build, so the lines have the form of our own records.
"""

from collections.abc import Iterator
from typing import TypeAlias

from search_mcp.backends.pin_records import Open
from search_mcp.model.calls import InputRequired, Outcome, Result
from search_mcp.model.errors import Lost, NotRunning
from search_mcp.model.names import Action, State
from search_mcp.model.servers import ListChanged, Status
from search_mcp.wire import payload
from search_mcp.wire.errors import PeerError, ProtocolError, WireError
from search_mcp.wire.structs import UNSET, ErrorObject, Fields, Raw, Struct, UnsetType


class Refusal(Struct, frozen=True):
    """An error in the place of a result."""

    error: ErrorObject
    is_of_server: bool = False
    """Whether the server itself has answered with it."""
    lost: tuple[str, str, str | None] | None = None
    """The arguments of `Lost`, if it is one."""
    not_running: tuple[str, State, str | None, float | None] | None = None
    """The arguments of `NotRunning`, if it is one."""


# From the command


class Request(Struct, frozen=True, tag="call"):
    """A call of one of the servers."""

    number: int
    server: str
    action: Action
    target: str
    params: Fields
    meta: Fields | None = None
    reports: bool = False
    """Whether the command wants its progress."""
    unless_read_only: Refusal | None = None


class Cancellation(Struct, frozen=True, tag="cancel"):
    number: int
    reason: Raw | UnsetType = UNSET


class Comparison(Struct, frozen=True, tag="compare"):
    """Asks for the differences between the accepted and the listed definitions."""


FromCommand: TypeAlias = Request | Cancellation | Comparison


# From the engine


class Standing(Struct, frozen=True, tag="status"):
    """The status of a server: at the start, and whenever it changes."""

    status: Status


class Listed(Struct, frozen=True, tag="list"):
    """A list of a server: as soon as it is known, and whenever it was read again."""

    news: ListChanged


class Progress(Struct, frozen=True, tag="progress"):
    number: int
    fields: Fields


class Answer(Struct, frozen=True, tag="answer"):
    """The outcome of a call; with neither a result nor a refusal, the server wants to ask a question."""

    number: int
    result: Raw | UnsetType = UNSET
    result_type: str = ""
    refusal: Refusal | None = None


class Compared(Struct, frozen=True, tag="compared"):
    """The differences, by server."""

    differences: dict[str, list[Open]]


FromEngine: TypeAlias = Standing | Listed | Progress | Answer | Compared


def encode(line: FromCommand | FromEngine) -> bytes:
    return payload.encode_bytes(line) + b"\n"


class Lines:
    """The whole lines of a stream of bytes."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the lines that these bytes complete."""
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            self._pieces.append(line)
            yield b"".join(self._pieces)
            self._pieces.clear()
        if rest:
            self._pieces.append(rest)


def answer_of(number: int, outcome: Outcome) -> Answer:
    """Return the line for the outcome of a call."""
    match outcome:
        case Result():
            return Answer(number, outcome.raw(), outcome.type)
        case InputRequired():
            return Answer(number)
    return Answer(number, refusal=refusal_of(outcome))


def outcome_of(answer: Answer) -> Outcome:
    """Return the outcome that a line stands for."""
    if answer.refusal is not None:
        return error_of(answer.refusal)
    return Result(answer.result, answer.result_type) if isinstance(answer.result, Raw) else InputRequired(None, None)


def refusal_of(error: WireError) -> Refusal:
    lost = (error.server, error.how, error.reason) if isinstance(error, Lost) else None
    not_running = None
    if isinstance(error, NotRunning):
        not_running = (error.server, error.state, error.reason, error.retry_after_seconds)
    return Refusal(error.error_object(), isinstance(error, PeerError), lost, not_running)


def error_of(refusal: Refusal) -> WireError:
    """Return an error that a command shows like the one at the other end."""
    if refusal.lost is not None:
        return Lost(*refusal.lost)
    if refusal.not_running is not None:
        return NotRunning(*refusal.not_running)
    if refusal.is_of_server:
        return PeerError(refusal.error)
    data = payload.object_or_empty(refusal.error.data) if refusal.error.data is not UNSET else None
    return ProtocolError(refusal.error.code, refusal.error.message, data)
