"""One client's calls and news of a server that it shares with other clients.

Decides how many of its calls are sent to the server at once, so that other clients' calls do not wait for all of them,
and which news are kept for a client that does not read. Both are limited, and no call waits for another one for ever.
"""

from collections.abc import Callable

from search_mcp.catalog.list_limits import size
from search_mcp.model.calls import BoundedDict, Call, CallLater, Outcome
from search_mcp.model.errors import NotRunning
from search_mcp.model.names import State
from search_mcp.model.servers import (
    ElicitationComplete,
    ListChanged,
    LogMessage,
    News,
    ResourceUpdated,
    Status,
    TaskChanged,
)
from search_mcp.wire import payload
from search_mcp.wire.inflight import SENT_REQUESTS, Reason
from search_mcp.wire.structs import Fields, Struct, replace

WINDOW = 64
"""Calls of one client that are with a shared server at once: the most that another client's call waits behind."""
PATIENCE_SECONDS = 0.1
"""Time without an answer after which more calls are passed on: the calls that wait may be needed to end the others."""
MOST_WAITING = SENT_REQUESTS
"""Calls of one client that may wait for their turn; more are refused."""
MOST_NEWS = 1000
"""News that are kept for a client that does not read, besides log messages; the oldest are dropped."""
MOST_LOG_MESSAGES = 100
"""Log messages that are kept for a client that does not read; the oldest are dropped."""
LARGEST_NEWS = 1 << 16
"""Most bytes of a log message, or of a change of a task, that is kept; a larger one is dropped. "Requestors MUST NOT
rely on receiving the `notifications/tasks/status` notification, as it is optional." """


class Turns:
    """The calls of one client that a shared server has, or that wait for their turn."""

    def __init__(
        self,
        server: str,
        later: CallLater,
        pass_on: Callable[[Call, str], None],
        is_alone: Callable[[], bool],
    ) -> None:
        """`is_alone` returns whether the server has no other client now; then no call waits."""
        self._server, self._later, self.pass_on, self._is_alone = server, later, pass_on, is_alone
        self.is_paused = False
        """Whether the client does not read; then no more of its calls are passed on."""
        self._waiting: dict[Turn, None] = {}
        self._passed = 0  # calls that are with the server
        self._with_log_level = 0  # those of them with a log level of their own
        self._allowed = WINDOW
        self._has_ended = False  # whether a call ended since the last look
        self._stop_timer: Callable[[], None] | None = None

    @property
    def has_calls(self) -> bool:
        """Return whether calls are with the server."""
        return self._passed > 0

    @property
    def has_calls_with_log_level(self) -> bool:
        """Return whether calls with a log level of their own are with the server."""
        return self._with_log_level > 0

    @property
    def drops_progress(self) -> bool:
        """Return whether the client gets no progress, because it does not read and the server is read for others."""
        return self.is_paused and not self._is_alone()

    def submit(self, call: Call, target: str) -> None:
        """Pass a call on now, or when it is its turn."""
        turn = Turn(self, call, target)
        if not self._waiting and (self._passed < self._allowed or self._is_alone()):
            self._begin(turn)
        elif len(self._waiting) >= MOST_WAITING:
            call.reply(NotRunning(Status(self._server, State.READY, f"{MOST_WAITING} calls wait for it already")))
        else:
            self._waiting[turn] = None
            call.reply.cancel_work = turn.withdraw
            self._watch()

    def resume(self) -> None:
        """Pass calls on again: the client reads."""
        self.is_paused = False
        self._fill()

    def take(self) -> "list[Turn]":
        """Remove and return the calls that wait."""
        taken = list(self._waiting)
        self._waiting.clear()
        return taken

    def withdraw(self, turn: "Turn") -> None:
        """Remove a call that waits."""
        self._waiting.pop(turn, None)

    def end(self, turn: "Turn") -> None:
        """Record that a call is no longer with the server."""
        self._passed -= 1
        self._with_log_level -= turn.has_log_level
        self._has_ended = True
        self._fill()

    def _begin(self, turn: "Turn") -> None:
        self._passed += 1
        turn.has_log_level = turn.call.caller.log_level is not None
        self._with_log_level += turn.has_log_level
        turn.begin()

    def _fill(self) -> None:
        while self._waiting and self._passed < self._allowed and not self.is_paused:
            turn = next(iter(self._waiting))
            del self._waiting[turn]
            self._begin(turn)

    def _watch(self) -> None:
        if self._stop_timer is None:
            self._has_ended = False
            self._stop_timer = self._later(PATIENCE_SECONDS, self._look)

    def _look(self) -> None:
        """Pass more calls on if none ended for a while."""
        self._stop_timer = None
        if not self._waiting:
            self._allowed = WINDOW
            return
        if not self._has_ended and not self.is_paused:
            self._allowed = self._passed + WINDOW
        self._fill()
        self._watch()


class Turn(Struct, eq=False):
    """One call, until it is answered or cancelled."""

    turns: Turns
    call: Call
    target: str
    has_log_level: bool = False
    """Whether it had a log level of its own when it was passed on; that of a legacy client may change."""

    def begin(self) -> None:
        self.call.reply.steps.append(self._end)
        report = self.report if self.call.report is not None else None
        self.turns.pass_on(replace(self.call, report=report), self.target)

    def _end(self, outcome: Outcome | None) -> Outcome | None:
        self.turns.end(self)
        return outcome

    def report(self, progress: Fields) -> None:
        if not self.turns.drops_progress and self.call.report is not None:
            self.call.report(progress)

    def withdraw(self, _reason: Reason) -> None:
        """Remove the call from those that wait."""
        self.turns.withdraw(self)


class KeptNews:
    """News for a client that does not read: the newest about each subject."""

    def __init__(self) -> None:
        self._by_subject: BoundedDict[tuple[object, ...], News] = BoundedDict(MOST_NEWS)
        self._log_messages: BoundedDict[int, News] = BoundedDict(MOST_LOG_MESSAGES)
        self._count = 0

    def __len__(self) -> int:
        return len(self._by_subject) + len(self._log_messages)

    def keep(self, news: News) -> None:
        """Keep news until the client reads."""
        if isinstance(news, LogMessage | TaskChanged):
            if size(news.params) > LARGEST_NEWS:
                return
            # Views would keep the whole message, which may have megabytes of other members.
            news = replace(news, params={key: raw.copy() for key, raw in news.params.items()})
        if isinstance(news, LogMessage):
            self._count += 1
            self._log_messages[self._count] = news
            return
        subject = _subject(news)
        if isinstance(news, ListChanged):
            before = self._by_subject.get(subject)
            if isinstance(before, ListChanged) and before.is_announced:
                news = replace(news, is_announced=True)
        self._by_subject[subject] = news

    def take(self) -> list[News]:
        """Remove and return the news, the oldest subject first, and log messages before them."""
        taken = [*self._log_messages.values(), *self._by_subject.values()]
        self._log_messages.clear()
        self._by_subject.clear()
        return taken


def _subject(news: News) -> tuple[object, ...]:
    match news:
        case ListChanged(kind=kind):
            return ListChanged, kind
        case ResourceUpdated(uri=uri):
            return ResourceUpdated, uri
        case TaskChanged(params=params):
            return TaskChanged, _encoded(params, "taskId")
        case ElicitationComplete(params=params):
            return ElicitationComplete, payload.encode_bytes(params)
        case _:
            return (type(news),)


def _encoded(params: Fields, key: str) -> bytes:
    return bytes(params[key]) if key in params else b""
