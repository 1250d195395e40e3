"""Names of tools and servers in any spelling: finds the tools that a whole text names.

    fs.read_file    fs__read_file    read_file    readFile    "read file"    fs

Names are looked up, never parsed. Knows nothing of descriptions and scores nothing.
"""

from enum import IntEnum

from search_mcp.search.analysis import fold
from search_mcp.search.documents import Document


class Match(IntEnum):
    """Exactness with which a text names a tool, in ascending order.

    A server's name with a tool's name, in any spelling, counts as a full name: another server may have a tool of the
    same name.
    """

    SERVER = 1
    FOLDED_NAME = 2
    TOOL_NAME = 3
    FULL_NAME = 4
    CANONICAL_NAME = 5


class Names:
    """Numbers of documents by folded name."""

    def __init__(self) -> None:
        self._tools: dict[str, dict[int, Document]] = {}
        self._servers: dict[str, dict[int, Document]] = {}

    def add(self, number: int, document: Document) -> None:
        """Add a tool under all its names."""
        for key in _tool_keys(document):
            self._tools.setdefault(key, {})[number] = document
        self._servers.setdefault(_key(document.server), {})[number] = document

    def remove(self, number: int, document: Document) -> None:
        """Remove a tool."""
        for key in _tool_keys(document):
            _discard(self._tools, key, number)
        _discard(self._servers, _key(document.server), number)

    def of_server(self, text: str) -> set[int]:
        """Return the tools of the server with this name."""
        return set(self._servers.get(_key(text), ()))

    def matches(self, text: str) -> dict[int, Match]:
        """Return the tools that the whole text names."""
        key = _key(text)
        found = dict.fromkeys(self._servers.get(key, ()), Match.SERVER)
        for number, document in self._tools.get(key, {}).items():
            found[number] = _exactness(text.strip(), document)
        return found


def _exactness(text: str, document: Document) -> Match:
    if text == document.name:
        return Match.CANONICAL_NAME
    if _key(text) != _key(document.tool):
        return Match.FULL_NAME
    return Match.TOOL_NAME if text == document.tool else Match.FOLDED_NAME


def _tool_keys(document: Document) -> set[str]:
    return {_key(document.tool), _key(document.server + document.tool), _key(document.name)}


def _key(name: str) -> str:
    return fold(name) or name.strip()  # a name without letters and digits has one spelling


def _discard(entries: dict[str, dict[int, Document]], key: str, number: int) -> None:
    del entries[key][number]
    if not entries[key]:
        del entries[key]
