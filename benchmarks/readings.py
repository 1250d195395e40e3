"""The vocabulary of the measures: a reading, and how much is to be read.

A measure is a generator over one subject, and every `yield` is one turn of it. Whoever runs them takes a turn of
every subject before the next turn of any, so that all of them have the same weather. A measure that is run to its
end has ended its subject as a client does.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from subjects import Subject


class Reading(NamedTuple):
    """One number: the row it belongs to, its unit, and `None` where it did not come in time."""

    row: str
    unit: str
    value: float | None


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is measured. A block of calls ends after so many calls or so much time."""

    turns: int
    backends: Sequence[int]
    """With how many backends the starts are measured; the last is what memory is measured with."""
    block_calls: int
    block_seconds: float
    windows: Sequence[int]
    """How many calls are in flight when the throughput is measured."""
    megabytes: Sequence[int]
    """The sizes of large results."""


FULL = Extent(5, (1, 5, 20, 50), 500, 1.0, (1, 16, 64), (1, 10, 50))
SHORT = Extent(3, (1, 10), 200, 0.4, (64,), (10,))

Turns = Iterator[list[Reading]]
Measure = Callable[[Subject, Extent, Path], Turns]
"""What is given a subject, an extent and a folder of its own."""


def counted(backends: int) -> str:
    return "1 backend" if backends == 1 else f"{backends} backends"


def milliseconds_since(started: float) -> float:
    return (time.perf_counter() - started) * 1e3


def quantile(values: Sequence[float], part: float) -> float:
    """Return the smallest value that this part of the values does not exceed."""
    return sorted(values)[max(0, math.ceil(part * len(values)) - 1)]
