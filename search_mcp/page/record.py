"""The record of calls as the page reads it.

Decides when it is read again: if its file has changed, and of very many calls less often, because sums take a while.
"""

import contextlib
import datetime
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar

from search_mcp.background import run_in_thread
from search_mcp.cli.checks import fitness
from search_mcp.cli.problem import Problem
from search_mcp.cli.usage import report, usage
from search_mcp.cli.usage.report import By, Report
from search_mcp.folders import usage_file
from search_mcp.page.facts import Facts
from search_mcp.usage.ended_calls import Row
from search_mcp.usage.store import DAY_SECONDS, LaterFormatError, largest_results, last_calls

MOST_CALLS = 50
"""Last calls that are read."""
SHARE = 0.05
"""Most of the time that is spent on one summary while calls go on."""

T = TypeVar("T")
Choice: TypeAlias = tuple[By, int]
"""What is summed up, and the number of days."""
_Stamp: TypeAlias = tuple[object, ...]


@dataclass(frozen=True)
class Summary:
    """The calls of a period, summed up."""

    found: Report
    long_results: Sequence[str]
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
            return stamp, known if stamp == before else last_calls(self.path, MOST_CALLS)

        self._stamp, self._calls = await self._apart(read)
        return self._calls

    async def summary(self, choice: Choice) -> Summary:
        """Sum up the calls of a period.

        Raises:
            Problem: the record cannot be read.
        """
        by, days = choice

        def sum_up() -> Summary:
            began, stamp, since = time.monotonic(), _stamp_of(self.path), time.time() - days * DAY_SECONDS
            found, largest = report.read(self.path, since, by), largest_results(self.path, since)
            remarks = [each.text for each in fitness.of_usage(largest, self._facts.gateway.config.servers)]
            ended = time.monotonic()
            return Summary(found, remarks, stamp, ended + (ended - began) / SHARE)

        made = self._summaries[choice] = await self._apart(sum_up)
        return made

    def last_summary(self, choice: Choice) -> Summary | None:
        """Return the last sums; if there are other calls now, they are made again, but not all the time."""
        known = self._summaries.get(choice)
        is_due = known is None or (known.stamp != self._stamp and time.monotonic() > known.next_at)
        if is_due and choice not in self._being_made:
            self._being_made.add(choice)
            self._facts.tasks.start_soon(self._sum_up, choice)
        return known

    async def _sum_up(self, choice: Choice) -> None:
        with contextlib.suppress(Problem):  # it is shown in the place of the last calls
            await self.summary(choice)
        self._being_made.remove(choice)

    async def _apart(self, read: Callable[[], T]) -> T:
        try:
            return await run_in_thread(read)
        except (sqlite3.Error, LaterFormatError) as exc:
            raise usage.unreadable(self.path, exc) from exc


def _stamp_of(path: Path) -> _Stamp:
    """Return a value that differs whenever the record or the day does; may block."""
    return datetime.date.today(), _state(path), _state(path.with_name(f"{path.name}-wal"))


def _state(path: Path) -> object:
    try:
        status = path.stat()
    except OSError:  # there is none
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
