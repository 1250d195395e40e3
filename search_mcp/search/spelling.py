"""Correction of mistyped words: the words of the catalogue that are the fewest edits away.

Only unknown words are looked up, so a query without mistakes is not affected.
"""

from collections.abc import Iterable

from search_mcp.search.analysis import LONGEST_WORD

_SHORTEST = 4  # letters; a shorter word is one edit away from too many others
_TWO_EDITS_FROM = 8  # letters; a word this long may have two mistakes

_Bucket = tuple[str, int]
_EMPTY: frozenset[str] = frozenset()


class Spelling:
    """Known words in buckets: by first letter and length, and by last two letters and length.

    A mistake is rarely at both ends of a word, so one of the two buckets has the right word.
    """

    def __init__(self) -> None:
        self._uses: dict[str, int] = {}
        self._words_in: dict[_Bucket, set[str]] = {}

    def add(self, words: Iterable[str]) -> None:
        """Add words; each is counted, since several texts may contain it."""
        for word in words:
            if word in self._uses:
                self._uses[word] += 1
            elif _is_correctable(word):
                self._uses[word] = 1
                for bucket in _buckets(word, len(word)):
                    self._words_in.setdefault(bucket, set()).add(word)

    def discard(self, words: Iterable[str]) -> None:
        """Remove words that were added; a word is forgotten when it was removed as often as added."""
        for word in words:
            if word not in self._uses:
                continue
            self._uses[word] -= 1
            if not self._uses[word]:
                del self._uses[word]
                for bucket in _buckets(word, len(word)):
                    self._words_in[bucket].discard(word)

    def nearest(self, word: str) -> tuple[list[str], int]:
        """Return the known words with the fewest edits, and the number of edits; swapped neighbours are one edit."""
        if not _is_correctable(word):
            return [], 0
        most = 1 if len(word) < _TWO_EDITS_FROM else 2
        candidates: set[str] = set()
        for length in range(len(word) - most, len(word) + most + 1):
            for bucket in _buckets(word, length):
                candidates |= self._words_in.get(bucket, _EMPTY)
        import rapidfuzz  # loaded for the first unknown word

        distance = rapidfuzz.distance.OSA.distance
        found = rapidfuzz.process.extract(word, candidates, scorer=distance, score_cutoff=most, limit=None)
        edits = min((distance for _, distance, _ in found), default=0)
        return sorted(candidate for candidate, distance, _ in found if distance == edits), edits


def _is_correctable(word: str) -> bool:
    return _SHORTEST <= len(word) <= LONGEST_WORD


def _buckets(word: str, length: int) -> tuple[_Bucket, _Bucket]:
    return (word[0], length), (word[-2:], length)
