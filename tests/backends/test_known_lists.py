"""Reading the lists of a server that announces changes endlessly."""

from collections.abc import Callable
from functools import partial
from typing import cast

import anyio
import pytest
from conversations.stillness import StillLoop

from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.known_lists import KnownLists
from search_mcp.backends.read_list import CHANGE_SECONDS
from search_mcp.backends.server_entry import ServerEntry
from search_mcp.config.schema import ServerConfig
from search_mcp.dialects import BackDialect
from search_mcp.model.names import Era, Kind
from search_mcp.model.servers import Entry, ServerCapabilities, ServerList
from search_mcp.wire.inflight import RequestFailure
from search_mcp.wire.receiver import RequestFailedError


def read_for(seconds: float, make: "Callable[[KnownLists], Failing | Changing]") -> int:
    """Keep the lists of a server for this time; return how often they were read."""
    loop = StillLoop()
    dependencies = Dependencies(clock=loop.time)
    known = KnownLists(ServerEntry(ServerConfig(name="there", command=""), dependencies), print, dependencies)
    dialect = make(known)
    known.meet(dialect.capabilities)
    tasks = [loop.create_task(known.keep(cast(BackDialect, dialect), print)), loop.create_task(dialect.announce())]
    loop.let_pass(seconds)
    for task in tasks:
        task.cancel()
    loop.settle()
    loop.close()
    return dialect.readings


class Failing:
    """A dialect whose server announces a change at every reading, and gives no list."""

    capabilities = ServerCapabilities("2025-11-25", Era.LEGACY, frozenset({Kind.TOOLS}))

    def __init__(self, known: KnownLists) -> None:
        self._known = known
        self.readings = 0

    async def read_list(self, kind: Kind) -> ServerList:
        self.readings += 1
        self._known.mark_stale({kind}, is_announced=True)
        raise RequestFailedError(RequestFailure("it answered with HTTP status 503"))

    async def announce(self) -> None:
        """Announce nothing else."""


def test_a_list_that_fails_is_not_read_at_every_announcement() -> None:
    assert read_for(10, Failing) == 1 + 10 / CHANGE_SECONDS


class Changing:
    """A dialect whose server announces a change every second."""

    capabilities = ServerCapabilities("2025-11-25", Era.LEGACY, frozenset({Kind.TOOLS}))

    def __init__(self, known: KnownLists, count: int) -> None:
        self._known, self._count = known, count
        self.readings = 0

    async def read_list(self, kind: Kind) -> ServerList:
        self.readings += 1
        return ServerList(tuple(Entry(f"tool_{number}", {}) for number in range(self._count)))

    async def announce(self) -> None:
        while True:
            await anyio.sleep(1)
            self._known.mark_stale({Kind.TOOLS}, is_announced=True)


@pytest.mark.parametrize(("count", "readings"), [(10, 60), (4_000, 12)])
def test_a_long_list_that_changes_all_the_time_is_read_less_often(count: int, readings: int) -> None:
    """It is read at once for the first changes, then every eight seconds."""
    assert read_for(60, partial(Changing, count=count)) == pytest.approx(readings, abs=2)
