"""Vocabulary of the measures: a reading, and the extent of a run.

A measure is a generator over one subject, and every `yield` is one turn. The runner takes one turn of every subject
before the next turn of any, so that all of them run under the same load. A measure that runs to its end has ended
its subject as a client does.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from subjects import Subject


class Reading(NamedTuple):
    """One number, with its row and unit; the value is `None` if it was not measured in time."""

    row: str
    unit: str
    value: float | None


@dataclass(frozen=True, slots=True)
class Extent:
    """Amount to measure. A block of calls ends after a number of calls or a time."""

    turns: int
    backends: Sequence[int]
    """Numbers of backends for the starts; the last is used for memory."""
    block_calls: int
    block_seconds: float
    windows: Sequence[int]
    """Numbers of calls in flight for the throughput."""
    megabytes: Sequence[int]
    """Sizes of the large results."""


FULL = Extent(5, (1, 5, 20, 50), 500, 1.0, (1, 16, 64), (1, 10, 50))
SHORT = Extent(3, (1, 10), 200, 0.4, (64,), (10,))

Turns = Iterator[list[Reading]]
Measure = Callable[[Subject, Extent, Path], Turns]
"""Function of a subject, an extent and a folder of its own."""


def counted(backends: int) -> str:
    return "1 backend" if backends == 1 else f"{backends} backends"


def milliseconds_since(started: float) -> float:
    return (time.perf_counter() - started) * 1e3


def quantile(values: Sequence[float], part: float) -> float:
    """Return the smallest value that this part of the values does not exceed."""
    return sorted(values)[max(0, math.ceil(part * len(values)) - 1)]
