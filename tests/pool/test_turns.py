"""The calls and news of one client of a shared server."""

import tracemalloc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from search_mcp.model.calls import Call, Outcome, Reply, Result
from search_mcp.model.errors import NotRunning
from search_mcp.model.names import Action, Kind
from search_mcp.model.servers import (
    ElicitationComplete,
    ListChanged,
    LogMessage,
    News,
    ResourceUpdated,
    ServerList,
    TaskChanged,
)
from search_mcp.pool.turns import (
    MOST_LOG_MESSAGES,
    MOST_NEWS,
    MOST_WAITING,
    PATIENCE_SECONDS,
    WINDOW,
    KeptNews,
    Turns,
)
from search_mcp.wire.inflight import Cancel
from search_mcp.wire.payload import encode, members
from search_mcp.wire.structs import Fields, Raw

MB = 1 << 20


class Client:
    """A client with turns, the calls that its server was given, and a timer that the test lets expire."""

    def __init__(self, *, is_alone: bool = False) -> None:
        self.is_alone = is_alone
        self.given: dict[str, Call] = {}
        self.cancelled: list[str] = []
        self.outcomes: dict[str, Outcome] = {}
        self.progress: list[str] = []
        self._timer: Callable[[], None] | None = None
        self.turns = Turns("alpha", self._later, self._pass_on, lambda: self.is_alone)

    def _later(self, seconds: float, act: Callable[[], None]) -> Callable[[], None]:
        assert seconds == PATIENCE_SECONDS
        assert self._timer is None
        self._timer = act
        return lambda: None

    def _pass_on(self, call: Call, target: str) -> None:
        self.given[target] = call
        call.reply.cancel_work = lambda _reason: self.cancelled.append(target)

    def expires(self) -> bool:
        """Let the timer expire; return whether there was one."""
        timer, self._timer = self._timer, None
        if timer is not None:
            timer()
        return timer is not None

    def calls(self, *names: str) -> list[Cancel]:
        return [self._call(name) for name in names]

    def _call(self, name: str) -> Cancel:
        caller: Any = SimpleNamespace(log_level=None)

        def reply(outcome: Outcome) -> None:
            self.outcomes[name] = outcome

        def report(_progress: Fields) -> None:
            self.progress.append(name)

        call = Call(Action.CALL_TOOL, name, {}, None, caller, Reply(reply), report)
        self.turns.submit(call, name)
        return call.reply.cancel

    def answers(self, *names: str) -> None:
        for name in names:
            self.given.pop(name).reply(Result({}))


def numbers(first: int, last: int) -> list[str]:
    return [str(number) for number in range(first, last)]


def test_a_window_of_calls_is_passed_on_and_the_rest_in_order() -> None:
    client = Client()
    client.calls(*numbers(0, WINDOW + 3))
    assert list(client.given) == numbers(0, WINDOW)
    client.answers("5", "6")
    assert list(client.given)[-2:] == numbers(WINDOW, WINDOW + 2)
    assert set(client.outcomes) == {"5", "6"}
    assert client.turns.has_calls


def test_a_client_that_is_alone_waits_for_nothing() -> None:
    client = Client(is_alone=True)
    client.calls(*numbers(0, 2 * WINDOW))
    assert len(client.given) == 2 * WINDOW
    assert not client.expires()


def test_a_cancelled_call_is_cancelled_where_it_is() -> None:
    client = Client()
    cancels = client.calls(*numbers(0, WINDOW + 2))
    cancels[WINDOW](None)
    assert client.cancelled == []
    cancels[3](None)
    assert client.cancelled == ["3"]
    assert str(WINDOW + 1) in client.given
    assert str(WINDOW) not in client.given
    client.answers("4")
    cancels[4](None)
    assert client.cancelled == ["3"], "it was answered"


def test_more_is_passed_on_if_nothing_ends() -> None:
    client = Client()
    client.calls(*numbers(0, 3 * WINDOW))
    client.answers("0")
    assert client.expires()
    assert len(client.given) == WINDOW, "one ended"
    assert client.expires()
    assert len(client.given) == 2 * WINDOW
    assert client.expires()
    assert len(client.given) == 3 * WINDOW - 1
    assert client.expires()
    assert not client.expires(), "nothing waits"
    client.answers(*list(client.given))
    client.calls(*numbers(0, WINDOW + 1))
    assert len(client.given) == WINDOW, "the window is as before"


def test_nothing_is_passed_on_while_the_client_does_not_read() -> None:
    client = Client()
    client.calls(*numbers(0, 2 * WINDOW))
    call = client.given["1"]
    client.turns.is_paused = True
    client.answers("0")
    assert client.expires()
    assert len(client.given) == WINDOW - 1
    assert call.report is not None
    call.report({})
    client.turns.resume()
    call.report({})
    assert client.progress == ["1"]
    assert len(client.given) == WINDOW


def test_a_client_that_is_alone_gets_progress_while_it_does_not_read() -> None:
    """Then the server is not read, either: what arrives was on its way."""
    client = Client(is_alone=True)
    client.calls("a")
    client.turns.is_paused = True
    report = client.given["a"].report
    assert report is not None
    report({})
    assert client.progress == ["a"]


def test_too_many_waiting_calls_are_refused() -> None:
    client = Client()
    client.calls(*numbers(0, WINDOW + MOST_WAITING + 1))
    assert len(client.outcomes) == 1
    assert isinstance(client.outcomes[str(WINDOW + MOST_WAITING)], NotRunning)


def test_waiting_calls_can_be_taken() -> None:
    client = Client()
    client.calls(*numbers(0, WINDOW + 2))
    assert [turn.target for turn in client.turns.take()] == numbers(WINDOW, WINDOW + 2)
    client.answers("0")
    assert len(client.given) == WINDOW - 1


def test_the_newest_of_each_subject_is_kept() -> None:
    kept = KeptNews()
    tasks = [TaskChanged("a", {"taskId": encode(task), "n": encode(n)}) for n, task in enumerate(("t", "u", "t"))]
    done = ElicitationComplete("a", {"elicitationId": encode("e")})
    updates = [ResourceUpdated("a", uri, {}) for uri in ("x:1", "x:2", "x:1")]
    everything: list[News] = [*tasks, done, *updates]
    for news in everything:
        kept.keep(news)
    assert kept.take() == [tasks[1], tasks[2], done, updates[1], updates[2]]
    assert kept.take() == []


def test_a_list_that_was_announced_stays_announced() -> None:
    kept = KeptNews()
    kept.keep(ListChanged("a", Kind.TOOLS, None, is_announced=True))
    kept.keep(ListChanged("a", Kind.TOOLS, ServerList(())))
    assert kept.take() == [ListChanged("a", Kind.TOOLS, ServerList(()), is_announced=True)]


def test_what_is_kept_is_bounded() -> None:
    kept = KeptNews()
    for number in range(2 * MOST_NEWS):
        kept.keep(ResourceUpdated("a", f"x:{number}", {}))
        kept.keep(LogMessage("a", {"data": encode(number)}, None))
    taken = kept.take()
    assert len(taken) == MOST_NEWS + MOST_LOG_MESSAGES
    assert taken[-1] == ResourceUpdated("a", f"x:{2 * MOST_NEWS - 1}", {})


def test_no_large_news_and_nothing_else_of_their_messages_are_kept() -> None:
    kept = KeptNews()
    tracemalloc.start()
    for number in range(20):
        message = Raw(b'{"data":"x","padding":"%b"}' % (b"x" * MB))
        kept.keep(LogMessage("a", members(message, "data"), None))
        kept.keep(LogMessage("a", {"data": message}, None))
        kept.keep(TaskChanged("a", {"taskId": encode(number), "result": message}))
    del message
    assert tracemalloc.get_traced_memory()[0] < MB
    tracemalloc.stop()
    assert kept.take() == [LogMessage("a", {"data": Raw(b'"x"')}, None)] * 20
