"""Texts to the tokens of a SentencePiece model: of all ways to cut a word into known pieces, the most probable one.

The file is a message of Protocol Buffers: field 1 is a piece, whose field 1 is its text and field 2 the logarithm of
its probability. Source: `sentencepiece_model.proto` of google/sentencepiece.
"""

import struct
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain

UNKNOWN, BEGIN, END = 0, 1, 2
"""The first tokens of a model."""
_SPACE = "\u2581"
"""What stands for the space before a word."""
_PIECE, _TEXT, _SCORE = 1, 1, 2
"""Numbers of fields."""
_VARINT, _LONG, _BYTES, _FLOAT = 0, 1, 2, 5
"""Kinds of fields."""


class SentencePieces:
    """The pieces of a model."""

    def __init__(self, data: bytes) -> None:
        """Read the content of the file of a model.

        Raises:
            ValueError: it is no such file.
        """
        try:
            pieces = [_piece(data, *span) for number, span in _fields(data, 0, len(data)) if number == _PIECE]
            self._tokens = {text: (token, score) for token, (text, score) in enumerate(pieces)}
            self._unknown = min(score for _, score in pieces) - 10.0  # less probable than any piece, as in the original
        except (IndexError, struct.error) as exc:
            raise ValueError(f"it ends too early: {exc}") from exc
        self._longest = max(map(len, self._tokens))
        self._of_word = lru_cache(20_000)(self._cut)  # catalogues repeat their words

    def tokens(self, text: str) -> list[int]:
        """Return the tokens of a text, with those for its begin and end."""
        words = unicodedata.normalize("NFKC", text).split()
        found = list(chain.from_iterable(self._of_word(_SPACE + word) for word in words))
        return [BEGIN, *(found or [UNKNOWN]), END]

    def _cut(self, word: str) -> Sequence[int]:
        """Return the most probable tokens of a word: from the best one that ends at each position (Viterbi)."""
        best = [(0.0, 0, UNKNOWN), *[(-float("inf"), 0, UNKNOWN)] * len(word)]  # score, begin of the last token, token
        for begin in range(len(word)):
            before = best[begin][0]
            best[begin + 1] = max(best[begin + 1], (before + self._unknown, begin, UNKNOWN))
            for end in range(begin + 1, min(begin + self._longest, len(word)) + 1):
                if (known := self._tokens.get(word[begin:end])) and before + known[1] > best[end][0]:
                    best[end] = before + known[1], begin, known[0]
        tokens, end = [], len(word)
        while end:
            _, end, token = best[end]
            tokens.append(token)
        return tokens[::-1]


def _piece(data: bytes, start: int, end: int) -> tuple[str, float]:
    text, score = "", 0.0
    for number, (begin, stop) in _fields(data, start, end):
        if number == _TEXT:
            text = data[begin:stop].decode()
        elif number == _SCORE:
            (score,) = struct.unpack_from("<f", data, begin)
    return text, score


def _fields(data: bytes, start: int, end: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield the number of each field of a message, and where its content begins and ends.

    Raises:
        IndexError: the message ends too early.
        ValueError: a field has an unknown kind.
    """
    while start < end:
        tag, start = _varint(data, start)
        size, kind = 0, tag & 7
        if kind == _BYTES:
            size, start = _varint(data, start)
        elif kind == _VARINT:
            _, stop = _varint(data, start)
            size = stop - start
        elif kind in (_LONG, _FLOAT):
            size = 8 if kind == _LONG else 4
        else:
            raise ValueError(f"it has a field of the kind {kind}")
        yield tag >> 3, (start, start + size)
        start += size


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """Return a number and the position after it: seven bits in each byte, the eighth if another follows."""
    number = shift = 0
    while True:
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, position
        shift += 7
