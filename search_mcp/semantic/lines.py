"""The lines between a process that searches and the process that makes vectors: one JSON object each."""

from search_mcp.wire.structs import Struct


class Texts(Struct, frozen=True, tag="texts"):
    """The texts to compare from now on, in place of those before. Not answered."""

    texts: list[str]


class Query(Struct, frozen=True, tag="query"):
    """A query to compare with the texts."""

    number: int
    query: str
    most_nearest: int


class Compared(Struct, frozen=True):
    """The answer to a query."""

    number: int
    similarities: bytes
    """A 32-bit float for each text, little-endian: 0 for unrelated, 1 for equal, NaN without a vector."""
    nearest: list[int]
    """Positions of the most similar texts; of equally similar ones, the first in the order of the texts."""
    missing: int
    """Texts without a vector yet."""


class Failure(Struct, frozen=True, tag="failure"):
    """The reason why the process ended."""

    failure: str
