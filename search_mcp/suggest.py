"""The nearest names to one that does not exist."""

from collections.abc import Iterable

from rapidfuzz import fuzz, process, utils

LEAST_SIMILARITY = 55.0
"""Of 100; below it a suggestion misleads more than it helps."""

LONGEST_NAME = 200
"""Characters of a wrong name that are compared."""


def nearest(name: str, names: Iterable[str], limit: int = 5) -> list[str]:
    """Give the names most like a mistyped one, best first."""
    found = process.extract(
        name[:LONGEST_NAME],
        list(names),
        scorer=fuzz.WRatio,
        processor=utils.default_process,
        limit=limit,
        score_cutoff=LEAST_SIMILARITY,
    )
    return [choice for choice, _, _ in found]
