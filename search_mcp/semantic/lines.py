"""The lines between a process that searches and the process that makes vectors: one JSON object each.

The first line names what makes the vectors: a model or an address. A key is never on a command line, which other users
can read.
"""

from search_mcp.wire.structs import Struct


class Local(Struct, frozen=True, tag="local"):
    """The first line: the model in a folder makes the vectors."""

    folder: str


class Address(Struct, frozen=True, tag="address"):
    """The first line: an address with the interface of OpenAI for embeddings makes the vectors."""

    url: str
    """The address up to the version, such as http://localhost:11434/v1."""
    model: str
    api_key: str = ""
    ca_file: str = ""
    """File with certificates to trust besides those of the system; empty without one."""

    def __repr__(self) -> str:  # without the address and the key
        return f"<Address {self.model}>"


class Texts(Struct, frozen=True, tag="texts"):
    """The texts of a catalogue from now on, in place of those before. Not answered."""

    catalogue: int
    texts: list[str]


class Forget(Struct, frozen=True, tag="forget"):
    """A catalogue is no longer compared. Not answered."""

    catalogue: int


class Query(Struct, frozen=True, tag="query"):
    """A query to compare with the texts of a catalogue."""

    number: int
    catalogue: int
    query: str
    most_nearest: int


class Compared(Struct, frozen=True, tag="compared"):
    """The answer to a query."""

    number: int
    similarities: bytes
    """A 32-bit float for each text, little-endian: 0 for unrelated, 1 for equal, NaN without a vector."""
    nearest: list[int]
    """Positions of the most similar texts; of equally similar ones, the first in the order of the texts."""
    missing: int
    """Texts without a vector yet."""
    knows_all_languages: bool = False
    """Whether queries in other languages than English are compared as well."""


class Problem(Struct, frozen=True, tag="problem"):
    """The reason why vectors cannot be made or kept now; empty once they can."""

    problem: str
    is_given_up: bool = False
    """Whether none are made for some time; queries are answered without vectors."""


class Failure(Struct, frozen=True, tag="failure"):
    """The reason why the process ended; another one would end for the same."""

    failure: str
