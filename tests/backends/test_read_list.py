"""The numbers of readings that calls wait for, and the lists that are read again after a client listed."""

import pytest

from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.read_list import FRESH_SECONDS, ReadList
from search_mcp.backends.server_entry import ServerEntry
from search_mcp.config.schema import ServerConfig
from search_mcp.model.names import Kind
from search_mcp.model.servers import Freshness, ServerList


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def read_list(clock: Clock) -> ReadList:
    return ReadList(Kind.TOOLS, ServerEntry(ServerConfig(name="there", command=""), Dependencies()), clock)


def test_a_change_is_in_the_reading_that_begins_after_it() -> None:
    tools = read_list(Clock())
    tools.begin()
    before = tools.due_reading()
    tools.stale.set()
    due = tools.due_reading()
    tools.note_compared()
    assert tools.is_compared(before) and not tools.is_compared(due)
    tools.begin()
    tools.note_failure()
    assert tools.is_settled(due) and not tools.is_compared(due)
    tools.note_compared()
    assert tools.is_compared(due)
    tools.meet(is_offered=True)
    assert not tools.is_compared(0), "nothing of a new connection is compared"


@pytest.mark.parametrize(
    ("age", "ttl_seconds", "is_announced", "is_outdated"),
    [
        pytest.param(5, 0, True, False, id="changes are announced"),
        pytest.param(5, 0, False, True, id="changes are not announced"),
        pytest.param(FRESH_SECONDS / 2, 0, False, False, id="just read"),
        pytest.param(5, 4, True, True, id="expired"),
        pytest.param(5, 6, True, False, id="not expired"),
    ],
)
def test_what_is_read_again_when_a_client_lists(
    age: float, ttl_seconds: int, is_announced: bool, is_outdated: bool
) -> None:
    clock = Clock()
    tools = read_list(clock)
    assert not tools.is_outdated(is_announced=is_announced), "it was not read on this connection"
    tools.known = ServerList((), Freshness(ttl_seconds * 1000))
    tools.note_read()
    clock.now = age
    assert tools.is_outdated(is_announced=is_announced) is is_outdated
