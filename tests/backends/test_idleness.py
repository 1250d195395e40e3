"""The idle timeout of a server, with a fake clock."""

from collections.abc import Callable

import pytest

from search_mcp.backends.idleness import Idleness


class Bench:
    """A server, its clock and its timer."""

    def __init__(self) -> None:
        self.now, self.is_idle, self.stopped = 0.0, True, list[float]()
        self.timer: tuple[float, Callable[[], None]] | None = None
        self.idleness = Idleness(lambda: self.now, self._later, lambda: self.is_idle, self.stopped.append)

    def _later(self, seconds: float, act: Callable[[], None]) -> Callable[[], None]:
        self.timer = (seconds, act)
        return self._cancel

    def _cancel(self) -> None:
        self.timer = None

    def elapses(self) -> None:
        assert self.timer is not None
        (seconds, act), self.timer = self.timer, None
        self.now += seconds
        act()


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_an_idle_server_is_stopped_once(bench: Bench) -> None:
    bench.idleness.watch(10.0)
    bench.elapses()
    assert (bench.stopped, bench.timer) == ([10.0], None)


def test_a_server_that_is_used_is_checked_again(bench: Bench) -> None:
    bench.is_idle = False
    bench.idleness.watch(10.0)
    bench.elapses()
    bench.is_idle = True
    bench.elapses()
    assert bench.stopped == []
    bench.elapses()
    assert bench.stopped == [10.0]


def test_a_call_between_two_checks_restarts_the_timeout(bench: Bench) -> None:
    bench.idleness.watch(10.0)
    bench.idleness.interrupt()
    bench.elapses()
    assert bench.stopped == []
    bench.elapses()
    assert bench.stopped == [10.0]


@pytest.mark.parametrize("end", [Idleness.stop, lambda idleness: idleness.watch(None)])
def test_a_server_that_is_watched_no_more_has_no_timer(bench: Bench, end: Callable[[Idleness], None]) -> None:
    bench.idleness.watch(10.0)
    end(bench.idleness)
    assert bench.timer is None
