"""Which tools a text names outright, in whatever spelling: the tool itself, or the server whose tools are meant.

    fs.read_file    fs__read_file    read_file    readFile    "read file"    fs

Names are looked up, never taken apart. Knows nothing of descriptions and scores nothing: a name matches or does not.
"""

from enum import IntEnum

from search_mcp.search.analysis import fold
from search_mcp.search.documents import Document


class Match(IntEnum):
    """How a text names a tool; the higher, the more exactly.

    A server's and a tool's name together, however spelt, name that server's tool: another server may call a tool so.
    """

    SERVER = 1
    FOLDED_NAME = 2
    TOOL_NAME = 3
    FULL_NAME = 4
    CANONICAL_NAME = 5


class Names:
    """Document numbers by folded name."""

    def __init__(self) -> None:
        self._tools: dict[str, dict[int, Document]] = {}
        self._servers: dict[str, dict[int, Document]] = {}

    def add(self, number: int, document: Document) -> None:
        """Enter a tool under all its names."""
        for key in _tool_keys(document):
            self._tools.setdefault(key, {})[number] = document
        self._servers.setdefault(_key(document.server), {})[number] = document

    def remove(self, number: int, document: Document) -> None:
        """Strike a tool out."""
        for key in _tool_keys(document):
            _strike(self._tools, key, number)
        _strike(self._servers, _key(document.server), number)

    def of_server(self, text: str) -> set[int]:
        """Return the tools of the server called so."""
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
    return fold(name) or name.strip()  # a name of nothing but signs is spelt in one way only


def _strike(entries: dict[str, dict[int, Document]], key: str, number: int) -> None:
    del entries[key][number]
    if not entries[key]:
        del entries[key]
