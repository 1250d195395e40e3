"""Reading the lists of a server that announces changes endlessly while its lists cannot be read."""

from typing import cast

from conversations.stillness import StillLoop

from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.known_lists import CHANGE_SECONDS, KnownLists
from search_mcp.config.schema import ServerConfig
from search_mcp.dialects import BackDialect
from search_mcp.model.names import Era, Kind
from search_mcp.model.servers import ServerCapabilities
from search_mcp.wire.inflight import RequestFailure
from search_mcp.wire.peer import RequestFailedError


class Failing:
    """A dialect whose server announces a change at every reading, and gives no list."""

    capabilities = ServerCapabilities("2025-11-25", Era.LEGACY, frozenset({Kind.TOOLS}))

    def __init__(self, known: KnownLists) -> None:
        self._known = known
        self.readings = 0

    async def read_list(self, kind: Kind) -> None:
        self.readings += 1
        self._known.mark_stale({kind}, is_announced=True)
        raise RequestFailedError(RequestFailure("it answered with HTTP status 503"))


def test_a_list_that_fails_is_not_read_at_every_announcement() -> None:
    loop = StillLoop()
    known = KnownLists(ServerConfig(name="there", command=""), lambda _news: None, Dependencies(clock=loop.time))
    dialect = Failing(known)
    known.meet(dialect.capabilities)
    task = loop.create_task(known.keep(cast(BackDialect, dialect)))
    loop.let_pass(10)
    assert dialect.readings == 1 + 10 / CHANGE_SECONDS
    task.cancel()
    loop.settle()
    loop.close()
