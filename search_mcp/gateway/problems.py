"""The log lines about definitions that were repaired, left out or changed, and about contested URIs."""

import logging
from collections import Counter
from collections.abc import Collection

from search_mcp.catalog import remarks
from search_mcp.catalog.uris import ResourceMap
from search_mcp.gateway.listings import COALESCE_SECONDS
from search_mcp.gateway.servers import Servers
from search_mcp.model.calls import CallLater
from search_mcp.model.names import Kind
from search_mcp.model.sentences import shortened

log = logging.getLogger(__name__)

MOST_LOGGED = 20
"""Problems of one server's lists that are logged at a time; the others are only counted."""


class ProblemLog:
    """Logs each problem of the servers' lists once, some time after the catalogue changed."""

    def __init__(self, servers: Servers, later: CallLater) -> None:
        self._servers, self._later = servers, later
        self._is_due = False
        self._known: dict[tuple[str, str], None] = {}
        # The catalogue's version that was last examined, and the servers with changed instructions
        self._examined: tuple[int, Collection[str]] = -1, ()

    def on_change(self) -> None:
        """Examine the catalogue soon: several changes are examined together."""
        if not self._is_due:
            self._is_due = True
            self._later(COALESCE_SECONDS, self._examine)

    def _examine(self) -> None:
        self._is_due = False
        if self._servers.catalog.merge_long(Kind.TOOLS):
            self._is_due = True
            self._later(0, self._examine)
            return
        changed = self._servers.changed_about()
        if self._examined == (self._servers.catalog.version, changed):
            return
        self._examined = self._servers.catalog.version, changed
        catalog = self._servers.catalog
        changes = dict.fromkeys(remarks.changes(catalog, changed))
        before, self._known = self._known, {**changes, **dict.fromkeys(remarks.problems(catalog))}
        new = [each for each in self._known if each not in before]
        for server, change in (each for each in new if each in changes):
            # Not counted with the others, and of another kind: a server can cause any number of those.
            log.warning("! %s: %s.", server, change)
        self._log([each for each in new if each not in changes])

    def _log(self, problems: Collection[tuple[str, str]]) -> None:
        logged: Counter[str] = Counter()
        for server, problem in problems:
            logged[server] += 1
            if logged[server] <= MOST_LOGGED:
                log.warning("! %s: %s", server, problem)
        for server, count in logged.items():
            if count > MOST_LOGGED:
                log.warning(
                    "! %s: %d more of its definitions are repaired or left out: run `%s`",
                    server,
                    count - MOST_LOGGED,
                    self._servers.configs[server].check(),
                )


def log_contested(resources: ResourceMap, server: str) -> None:
    """Warn that a server mentioned a URI that another mentioned before; once for each server."""
    uri, first = resources.contested[server]
    mentioned = f"its result mentions {shortened(uri)}, which a result of {first!r} mentioned before"
    log.warning("! %s: %s; it is read at %r", server, mentioned, first)
