"""The names most similar to one that does not exist."""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

LEAST_SIMILARITY = 55.0
"""Of 100; below it a suggestion misleads more than it helps."""

LARGEST_GAP = 25.0
"""Of 100; a name that is so much less similar than the best one is not suggested beside it."""

LONGEST_NAME = 200
"""Characters of names that are compared: servers choose names of any length."""


def nearest(name: str, names: Iterable[str], limit: int = 5) -> list[str]:
    """Return the names most similar to a mistyped one, best first."""
    rapidfuzz: Any = import_module("rapidfuzz")  # loaded for the first wrong name, not for every start
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


def closest(word: str, words: Iterable[str], least: float = 0.7) -> str | None:
    """Return the one word of a few that was most likely meant; `None` if none is as similar as `least`, from 0 to 1.

    The standard library does for a few words: unlike `nearest` it ranks no parts of names, and loads in a millisecond.
    """
    difflib: Any = import_module("difflib")  # loaded for the first wrong word, not for every start
    found = difflib.get_close_matches(word, list(words), n=1, cutoff=least)
    return found[0] if found else None
