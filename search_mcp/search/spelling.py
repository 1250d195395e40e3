"""The words of the catalogue, and which of them a mistyped word was meant to be.

Only words nobody knows are asked about, so this decides nothing for a query that is spelt right.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

_SHORTEST = 4  # letters; one edit turns a shorter word into too many others
_LONGEST = 24  # letters; longer runs are no words
_TWO_EDITS_FROM = 8  # letters from which a word may hold two mistakes

_Shelf = tuple[str, int]
_EMPTY: frozenset[str] = frozenset()


class Spelling:
    """Words filed by first letter and by last letters, both with the length: one mistake rarely hits both ends."""

    def __init__(self) -> None:
        self._uses: dict[str, int] = {}
        self._shelves: dict[_Shelf, set[str]] = {}

    def add(self, words: Iterable[str]) -> None:
        """Learn words; each may be learnt several times, from several texts."""
        for word in words:
            if word in self._uses:
                self._uses[word] += 1
            elif _is_correctable(word):
                self._uses[word] = 1
                for shelf in _shelves(word, len(word)):
                    self._shelves.setdefault(shelf, set()).add(word)

    def discard(self, words: Iterable[str]) -> None:
        """Forget words as often as they were learnt."""
        for word in words:
            if word not in self._uses:
                continue
            self._uses[word] -= 1
            if not self._uses[word]:
                del self._uses[word]
                for shelf in _shelves(word, len(word)):
                    self._shelves[shelf].discard(word)

    def nearest(self, word: str) -> tuple[list[str], int]:
        """Return the known words fewest edits away, and how many; swapped neighbours are one edit."""
        if not _is_correctable(word):
            return [], 0
        most = 1 if len(word) < _TWO_EDITS_FROM else 2
        candidates: set[str] = set()
        for length in range(len(word) - most, len(word) + most + 1):
            for shelf in _shelves(word, length):
                candidates |= self._shelves.get(shelf, _EMPTY)
        rapidfuzz: Any = import_module("rapidfuzz")  # for the first unknown word, not for every start
        distance = rapidfuzz.distance.OSA.distance
        found = rapidfuzz.process.extract(word, candidates, scorer=distance, score_cutoff=most, limit=None)
        edits = min((distance for _, distance, _ in found), default=0)
        return sorted(candidate for candidate, distance, _ in found if distance == edits), edits


def _is_correctable(word: str) -> bool:
    return _SHORTEST <= len(word) <= _LONGEST


def _shelves(word: str, length: int) -> tuple[_Shelf, _Shelf]:
    return (word[0], length), (word[-2:], length)
