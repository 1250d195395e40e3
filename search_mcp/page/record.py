"""The record of calls as the page reads it.

Decides when it is read again: if its file has changed, and of very many calls less often, because sums take a while.
"""

import datetime
import logging
import sqlite3
import time
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar

from search_mcp.background import run_in_thread
from search_mcp.cli.checks import fitness
from search_mcp.cli.problem import Problem
from search_mcp.cli.usage import report, usage
from search_mcp.cli.usage.report import By, Calls, Report
from search_mcp.config.schema import ServerConfig
from search_mcp.dialects.names import CLIENT_INFO
from search_mcp.folders import usage_file
from search_mcp.model.names import GIVEN_UP
from search_mcp.page.facts import Facts
from search_mcp.usage.ended_calls import Row
from search_mcp.usage.store import DAY_SECONDS, LaterFormatError, largest_results, last_calls

log = logging.getLogger(__name__)

MOST_CALLS = 50
"""Last calls that are read."""
MOST_ROWS = 100
"""Rows of the sums that are shown, those with the most calls."""
SHARE = 0.05
"""Most of the time that is spent on one summary while calls go on."""

T = TypeVar("T")
Choice: TypeAlias = tuple[By, int]
"""What is summed up, and the number of days."""
Cells: TypeAlias = tuple[str, ...]
"""A name, and the numbers about it."""
_Stamp: TypeAlias = tuple[object, ...]


@dataclass(frozen=True)
class Bar:
    """One day of the chart."""

    day: str
    calls: int
    errors: int


@dataclass(frozen=True)
class Summary:
    """The calls of a period, summed up and written."""

    choice: Choice
    found: Report
    headline: str
    rows: Sequence[Cells]
    days: Sequence[Cells]
    bars: Sequence[Bar]
    long_results: Sequence[str]
    unused: Sequence[str]
    """Servers that were enabled, and not called."""
    stamp: _Stamp
    next_at: float
    """The time before which they are not summed up again."""


class Record:
    """The record of the calls of all clients."""

    def __init__(self, facts: Facts) -> None:
        self._facts, self.path = facts, usage_file()
        self._stamp: _Stamp = ()
        self._calls: list[Row] = []
        self._summaries: dict[Choice, Summary] = {}
        self._being_made: set[Choice] = set()

    def hasten(self) -> None:
        """Have the calls written that ended a moment ago: they would wait for others for some seconds."""
        for gateway in (self._facts.gateway, *(each.gateway for each in self._facts.host.clients)):
            if gateway.usage is not None:
                gateway.usage.queue.hasten()

    async def calls(self) -> list[Row]:
        """Return the last calls, the latest first; the same list while there are no others.

        Raises:
            Problem: the record cannot be read.
        """
        known, before = self._calls, self._stamp

        def read() -> tuple[_Stamp, list[Row]]:
            stamp = _stamp_of(self.path)
            found = known if stamp == before else last_calls(self.path, MOST_CALLS)
            return stamp, known if found == known else found

        self._stamp, self._calls = await self._apart(read)
        return self._calls

    async def summary(self, choice: Choice) -> Summary:
        """Sum up the calls of a period, unless that was just done.

        Raises:
            Problem: the record cannot be read.
        """
        known, servers = self._summaries.get(choice), self._facts.gateway.config.servers
        failed = {each.server for each in self._facts.rows() if each.state in GIVEN_UP}
        if known is not None and not self._is_old(known):
            return known
        made = self._summaries[choice] = await self._apart(
            partial(_summed_up, self.path, choice, servers, self._facts.config_path, failed)
        )
        return made

    def last_summary(self, choice: Choice) -> Summary | None:
        """Return the last sums; if there are other calls now, they are made again, but not all the time."""
        known = self._summaries.get(choice)
        if (known is None or self._is_old(known)) and choice not in self._being_made:
            self._being_made.add(choice)
            self._facts.tasks.start_soon(self._sum_up, choice)
        return known

    def _is_old(self, known: Summary) -> bool:
        return known.stamp != self._stamp and time.monotonic() > known.next_at

    async def _sum_up(self, choice: Choice) -> None:
        try:
            await self.summary(choice)
        except Problem:
            pass  # it is shown in the place of the last calls
        except Exception:  # a bug in the sums must not end the page
            log.exception("! bug while calls were summed up")
        finally:
            self._being_made.remove(choice)

    async def _apart(self, read: Callable[[], T]) -> T:
        try:
            return await run_in_thread(read)
        except (sqlite3.Error, LaterFormatError) as exc:
            raise usage.unreadable(self.path, exc) from exc


def _summed_up(
    path: Path, choice: Choice, servers: Sequence[ServerConfig], config: Path, failed: Container[str]
) -> Summary:
    """Sum up the calls of a period; this may take seconds."""
    began, stamp, (by, days) = time.monotonic(), _stamp_of(path), choice
    since = time.time() - days * DAY_SECONDS
    found, largest = report.read(path, since, by), largest_results(path, since)
    return Summary(
        choice,
        found,
        usage.headline(found, days),
        [_cells(each, client_name(each.name) if by is By.CLIENT else each.name) for each in found.rows[:MOST_ROWS]],
        [_cells(each, each.name) for each in reversed(found.days) if each.count],
        _bars(found, days),
        [each.text for each in fitness.of_usage(largest, servers)],
        usage.never_used(found, servers, config, failed),
        stamp,
        (ended := time.monotonic()) + (ended - began) / SHARE,
    )


def client_name(name: str) -> str:
    """Return the name of a client as it is shown; calls of this page and of commands have the name of search-mcp."""
    return f"{name} (this page or `call`)" if name == CLIENT_INFO["name"] else name


def _cells(calls: Calls, name: str) -> Cells:
    return (name, *usage.numbers(calls))


def _bars(found: Report, days: int) -> list[Bar]:
    """Return the days of a period up to today; the first is a part of a day."""
    known, today = {each.name: each for each in found.days}, datetime.date.today()
    names = [(today - datetime.timedelta(back)).isoformat() for back in range(days, -1, -1)]
    return [Bar(name, each.count, each.errors) for name in names for each in [known.get(name) or Calls(name, {})]]


def _stamp_of(path: Path) -> _Stamp:
    """Return a value that differs whenever the record or the day does; may block."""
    return datetime.date.today(), state_of(path), state_of(path.with_name(f"{path.name}-wal"))


def state_of(path: Path) -> object:
    """Return a value that differs whenever a file does; may block."""
    try:
        status = path.stat()
    except OSError:  # there is none
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
