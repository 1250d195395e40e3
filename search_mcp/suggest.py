"""The nearest names to one that does not exist."""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

LEAST_SIMILARITY = 55.0
"""Of 100; below it a suggestion misleads more than it helps."""

LONGEST_NAME = 200
"""Characters of a wrong name that are compared."""


def nearest(name: str, names: Iterable[str], limit: int = 5) -> list[str]:
    """Give the names most like a mistyped one, best first."""
    rapidfuzz: Any = import_module("rapidfuzz")  # for the first wrong name, not for every start
    found = rapidfuzz.process.extract(
        name[:LONGEST_NAME],
        list(names),
        scorer=rapidfuzz.fuzz.WRatio,
        processor=rapidfuzz.utils.default_process,
        limit=limit,
        score_cutoff=LEAST_SIMILARITY,
    )
    return [choice for choice, _, _ in found]
