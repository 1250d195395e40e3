"""The recorded tool calls of a period, summed up by tool, server, client or day.

Decides which calls count as errors and which durations are compared. Pure, except for the file and the local time zone.
"""

import datetime
import enum
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from search_mcp.catalog import profiles
from search_mcp.usage.ended_calls import LOST, OK, REFUSED, TOOL_ERROR, Row, principal_and_name
from search_mcp.usage.store import calls_since, reading

CHARACTERS_A_TOKEN: Final = 4
"""Estimate of the length of a token: models have different tokenizers, and not all are public."""
OURS: Final = "search-mcp"
"""The name under which search-mcp's own tools are shown as those of a server."""
NO_TOOL: Final = "(no such tool)"
"""The name of tools that do not exist: a client may write anything in the place of a name, so it is not recorded."""
_FAILED: Final = frozenset({TOOL_ERROR, REFUSED, LOST})
_ANSWERED: Final = frozenset({OK, TOOL_ERROR})
"""Endings with a duration that says something about the tool."""


class By(enum.StrEnum):
    """The subject of a row."""

    TOOL = "tool"
    SERVER = "server"
    CLIENT = "client"
    CLIENT_AND_TOOL = "client,tool"
    DAY = "day"


@dataclass
class Calls:
    """Calls that were summed up."""

    name: str
    fields: dict[str, Any]
    """Its name in the JSON output, by part."""
    endings: Counter[str] = field(default_factory=Counter)
    characters_in: int = 0
    characters_out: int = 0
    largest_text: int | None = None
    """Characters of the longest text of a result; `None` if all are short."""
    _seconds: "array[float]" = field(default_factory=lambda: array("d"))

    def add(self, seconds: float, ending: str, given: int, returned: int, text: int | None) -> None:
        """Add a call."""
        self.endings[ending] += 1
        if text is not None:
            self.largest_text = max(text, self.largest_text or 0)
        self.characters_in += given
        self.characters_out += returned
        if ending in _ANSWERED:
            self._seconds.append(seconds)

    @property
    def count(self) -> int:
        return self.endings.total()

    @property
    def errors(self) -> int:
        return sum(self.endings[each] for each in _FAILED)

    @property
    def tokens_out(self) -> int:
        """Tokens of the results, by an estimate."""
        return round(self.characters_out / CHARACTERS_A_TOKEN)

    def seconds(self, quantile: float) -> float | None:
        """Return a quantile of the durations, such as the median for 0.5; `None` if no call was answered."""
        if not self._seconds:
            return None
        return sorted(self._seconds)[max(0, math.ceil(quantile * len(self._seconds)) - 1)]

    def as_json(self) -> dict[str, Any]:
        return {
            **self.fields,
            "calls": self.count,
            "errors": self.errors,
            "endings": dict(sorted(self.endings.items())),
            "p50Seconds": _rounded(self.seconds(0.5)),
            "p95Seconds": _rounded(self.seconds(0.95)),
            "charactersIn": self.characters_in,
            "charactersOut": self.characters_out,
            "estimatedTokensOut": self.tokens_out,
            "largestText": self.largest_text,
        }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)


@dataclass
class Report:
    """The calls of a period."""

    rows: Sequence[Calls]
    days: Sequence[Calls]
    """In order, from the first day with a call to the last."""
    total: Calls
    clients: int
    servers: frozenset[str]
    """The servers with a call."""
    since: float | None
    """Time of the first call, in seconds since the epoch."""


@dataclass(frozen=True)
class Wanted:
    """A filter of calls, by client and by server; all calls by default."""

    client: str | None = None
    """The name that the client gives itself, or that of its profile."""
    server: str | None = None

    def includes(self, call: Row) -> bool:
        """Return whether a call passes the filter."""
        _, client, server, tool = call[:4]
        return (self.client is None or not self._names.isdisjoint((client, *principal_and_name(client)))) and (
            self.server is None or (server or (OURS if tool else NO_TOOL)) == self.server
        )

    @property
    def _names(self) -> Set[str]:
        known = profiles.BY_NAME.get(self.client or "")
        return {self.client or "", *(known.client_names if known is not None else ())}

    def __str__(self) -> str:
        to, by = f" to {self.server}" if self.server else "", f" by {self.client}" if self.client else ""
        return to + by


ALL: Final = Wanted()


def read(path: Path, since: float, by: By, wanted: Wanted = ALL) -> Report:
    """Sum up the calls since a time.

    Raises:
        LaterFormatError, sqlite3.Error: the file cannot be read.
    """
    with reading(path) as database:
        calls = calls_since(database, since) if database is not None else ()
        return summed_up(filter(wanted.includes, calls), by)


def summed_up(calls: Iterable[Row], by: By) -> Report:
    """Sum up calls, which are in order of time."""
    groups: dict[object, Calls] = {}
    days: dict[object, Calls] = {}
    total, clients, servers = Calls("total", {}), set(), set()
    since = None
    for call in calls:
        time, client, server, tool = call[:4]
        measured = call[4:]
        since = time if since is None else since
        date = datetime.date.fromtimestamp(time)
        key, name, fields = _subject(by, client, server, tool, date)
        for place, at, label, parts in ((groups, key, name, fields), (days, date, date.isoformat(), {})):
            if at not in place:
                place[at] = Calls(label, parts)
            place[at].add(*measured)
        total.add(*measured)
        clients.add(client)
        if server:
            servers.add(server)
    ordered = [*groups.values()] if by is By.DAY else sorted(groups.values(), key=lambda each: (-each.count, each.name))
    return Report(ordered, _without_gaps(days), total, len(clients), frozenset(servers), since)


def _subject(by: By, client: str, server: str, tool: str, date: datetime.date) -> tuple[object, str, dict[str, Any]]:
    """Return the key, the name and the JSON members of the row that a call belongs to."""
    match by:
        case By.DAY:
            return date, date.isoformat(), {"day": date.isoformat()}
        case By.CLIENT:
            return client, client, {"client": client}
        case By.SERVER:
            known = server or (OURS if tool else NO_TOOL)
            return known, known, {"server": server or None}
        case By.CLIENT_AND_TOOL:
            key, name, fields = _subject(By.TOOL, client, server, tool, date)
            return (client, key), f"{client} {name}", {"client": client, **fields}
        case By.TOOL:
            return (server, tool), full_name(server, tool), {"server": server or None, "tool": tool or None}


def full_name(server: str, tool: str) -> str:
    """Return the name under which a tool is shown; ours have no server, and a server that never ran has no tools."""
    if not server:
        return tool or NO_TOOL
    return f"{server}.{tool or '(unknown tool)'}"


def _without_gaps(days: dict[object, Calls]) -> list[Calls]:
    """Add the days without calls between the first and the last."""
    dates = [each for each in days if isinstance(each, datetime.date)]
    if not dates:
        return []
    first, last = min(dates), max(dates)
    all_days = (first + datetime.timedelta(number) for number in range((last - first).days + 1))
    return [days.get(each) or Calls(each.isoformat(), {}) for each in all_days]
