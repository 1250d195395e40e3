"""The names most similar to one that does not exist."""

from collections.abc import Iterable

LEAST_SIMILARITY = 55.0
"""Of 100; less similar names are not suggested, because they mislead more than they help."""

LARGEST_GAP = 25.0
"""Of 100; a name is not suggested if it is less similar than the best one by more than this."""

LONGEST_NAME, SHORTEST_CUT = 200, 40
"""Characters of a name that are compared, its beginning and its end: fewer the more names there are."""

MOST_CHARACTERS = 400_000
"""Characters of all names that are compared: servers choose thousands of long names. This takes 30 ms."""


def nearest(name: str, names: Iterable[str], limit: int = 5) -> list[str]:
    """Return the names most similar to a mistyped one, best first."""
    import rapidfuzz  # loaded for the first wrong name, not for every start

    candidates = list(names)
    length = min(LONGEST_NAME, max(SHORTEST_CUT, MOST_CHARACTERS // max(1, len(candidates))))
    found = rapidfuzz.process.extract(
        _cut(name, length),
        [_cut(each, length) for each in candidates],
        scorer=rapidfuzz.fuzz.WRatio,
        processor=rapidfuzz.utils.default_process,
        limit=limit,
        score_cutoff=LEAST_SIMILARITY,
    )
    return [candidates[position] for _, similarity, position in found if similarity >= found[0][1] - LARGEST_GAP]


def _cut(name: str, length: int) -> str:
    """Keep the beginning and the end of a long name: URIs often differ in their last characters."""
    return name if len(name) <= length else name[: length // 2] + name[-(length // 2) :]


def closest(word: str, words: Iterable[str], least: float = 0.7) -> str | None:
    """Return the one word of a few that was most likely meant; `None` if none is as similar as `least`, from 0 to 1.

    The standard library does for a few words: unlike `nearest` it ranks no parts of names, and loads in a millisecond.
    """
    import difflib  # loaded for the first wrong word, not for every start

    found = difflib.get_close_matches(word, list(words), n=1, cutoff=least)
    return found[0] if found else None
