"""Texts of definitions that a person should look at: hidden characters, and the names of other servers' tools.

Decides what is reported, with few false alarms: the full name of another server's tool, or a name that only another
server has, after words such as "before using". A report proves no bad intention, and nothing is withheld because of it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from search_mcp.catalog.catalog import Catalog
from search_mcp.cli.checks.differences import leaves
from search_mcp.cli.counting import enumerated
from search_mcp.model.names import Kind
from search_mcp.model.servers import Status
from search_mcp.model.visible import hidden, wholly_visible
from search_mcp.wire import payload
from search_mcp.wire.structs import Fields

Text = tuple[str, str, str]
"""A server, the place of the text (`time.get_time: its description`), and the text."""
MOST_READ = 100_000
"""Number of characters examined of one text."""
_WORD = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?")
_ASKED = re.compile(
    r"\b(?:use|uses|using|call|calls|calling|invoke|invoking|run|running|instead of|before|after|replaces)\s+"
    r"(?:the\s+)?(?:tool\s+)?[`'\"]?([A-Za-z0-9_.-]*[A-Za-z0-9_])",
    re.IGNORECASE,
)
_TELLING_NAME = re.compile(r"[A-Za-z0-9]+[_-][A-Za-z0-9_-]+|[a-z]+[A-Z][A-Za-z0-9]*")
"""A name that is not an ordinary word: in snake_case, kebab-case or camelCase."""


def remarks(catalog: Catalog, statuses: Sequence[Status]) -> Iterator[tuple[str, str]]:
    """Yield server and text of each remark."""
    full, bare = _names(catalog)
    for server, whose, text in _texts(catalog, statuses):
        if found := list(islice(hidden(text[:MOST_READ]), 5)):
            yield server, f"{whose} holds invisible characters: {enumerated(found)}"
        if others := list(dict.fromkeys(_mentioned(text[:MOST_READ], server, full, bare))):
            named = enumerated([f"{name}, a tool of another server ({owner})" for name, owner in others])
            yield server, f"{whose} names {named}"


def _texts(catalog: Catalog, statuses: Sequence[Status]) -> Iterator[Text]:
    for kind in (Kind.TOOLS, Kind.PROMPTS, Kind.SKILLS):
        for server, entry in catalog.everything(kind):
            for path, text in _members(entry.fields):
                yield server, f"{server}.{wholly_visible(entry.key)}: its {path}", text
    for status in statuses:
        if status.capabilities is not None:
            yield status.server, f"{status.server}: its instructions", status.capabilities.instructions
            yield status.server, f"{status.server}: its title", status.capabilities.title


def _members(definition: Fields) -> Iterator[tuple[str, str]]:
    for member, raw in definition.items():
        if member in ("icons", "_meta"):
            continue
        value = payload.value(raw)
        for path, leaf in leaves(value, member):
            texts = leaf if isinstance(leaf, list) else [leaf]
            yield from ((path, text) for text in texts if isinstance(text, str))
        if value is None:
            yield member, bytes(raw).decode("utf-8", "replace")


def _names(catalog: Catalog) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the full names of all tools, and the bare names of one server only that are not ordinary words."""
    full = {item.name: item.server for item in catalog.tools()}
    having: dict[str, set[str]] = {}
    for server, entry in catalog.everything(Kind.TOOLS):
        full |= {f"{server}{separator}{entry.key}": server for separator in (".", "__")}
        having.setdefault(entry.key, set()).add(server)
    bare = {name: min(servers) for name, servers in having.items() if len(servers) == 1 and _is_telling(name)}
    return full, bare


def _is_telling(name: str) -> bool:
    return len(name) > 5 and _TELLING_NAME.fullmatch(name) is not None


def _mentioned(text: str, server: str, full: Mapping[str, str], bare: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for found in _WORD.finditer(text):
        owner = full.get(found[0])
        if owner is not None and owner != server:
            yield found[0], owner
    for found in _ASKED.finditer(text):
        owner = bare.get(found[1])
        if owner is not None and owner != server:
            yield found[1], owner
