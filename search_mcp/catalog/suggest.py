"""The nearest names to one that does not exist."""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

LEAST_SIMILARITY = 55.0
"""Of 100; below it a suggestion misleads more than it helps."""

LARGEST_GAP = 25.0
"""Of 100; a name so much less alike than the most similar one is no suggestion beside it."""

LONGEST_NAME = 200
"""Characters of names that are compared: servers choose names of any length."""


def nearest(name: str, names: Iterable[str], limit: int = 5) -> list[str]:
    """Give the names most like a mistyped one, best first."""
    rapidfuzz: Any = import_module("rapidfuzz")  # for the first wrong name, not for every start
    candidates = list(names)
    found = rapidfuzz.process.extract(
        name[:LONGEST_NAME],
        [each[:LONGEST_NAME] for each in candidates],
        scorer=rapidfuzz.fuzz.WRatio,
        processor=rapidfuzz.utils.default_process,
        limit=limit,
        score_cutoff=LEAST_SIMILARITY,
    )
    return [candidates[position] for _, similarity, position in found if similarity >= found[0][1] - LARGEST_GAP]
