"""Servers of several clients become one list: which are new, which are there already, and under which name.

Pure.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal, TypeAlias

from search_mcp import config
from search_mcp.clients.document import Document
from search_mcp.clients.found import Server
from search_mcp.errors import ConfigError

ROOT = "mcpServers"
Result: TypeAlias = Literal["added", "present", "skipped"]


@dataclass(frozen=True)
class Merged:
    """What became of one server."""

    server: Server
    result: Result
    name: str
    """What it is called here."""
    notes: tuple[str, ...] = ()

    @property
    def is_disabled(self) -> bool:
        translation = self.server.translation
        return translation is not None and translation.entry.get("enabled") is False


def merge(own: Document, servers: Iterable[Server]) -> tuple[Document, list[Merged]]:
    """Put servers into our configuration; search-mcp itself is left out.

    Raises:
        ConfigError: our file cannot be edited.
    """
    merged = []
    known = {_identity(entry): name for name, entry in own.members((ROOT,)).items() if isinstance(entry, dict)}
    for server in servers:
        if server.is_ours:
            continue
        translation = server.translation
        if translation is None:
            merged.append(Merged(server, "skipped", "", ("it has neither a command nor a url",)))
            continue
        identity = _identity(translation.entry)
        if identity in known:
            merged.append(Merged(server, "present", known[identity]))
            continue
        if problem := fault(server.name, translation.entry):
            merged.append(Merged(server, "skipped", "", (problem,)))
            continue
        name = _free_name(server.name, own.members((ROOT,)))
        own = own.put((ROOT, name), dict(translation.entry))
        known[identity] = name
        renamed = (f"there is another {server.name} already, so it is called {name}",) if name != server.name else ()
        merged.append(Merged(server, "added", name, (*renamed, *translation.notes)))
    return own, merged


def is_same(server: Server, entry: object) -> bool:
    """Tell whether an entry of ours starts what a server of somebody else's starts."""
    theirs = server.translation
    return theirs is not None and isinstance(entry, dict) and _identity(theirs.entry) == _identity(entry)


def fault(name: str, entry: Mapping[str, Any]) -> str | None:
    """Say why an entry could not be read by search-mcp, if so."""
    text = json.dumps({ROOT: {name: entry}})
    try:
        config.parse(text, source="", variables={}, home="", config_dir="", python="")
    except ConfigError as exc:
        return f"{exc.problem}; {exc.remedy}"
    return None


def _identity(entry: Mapping[str, Any]) -> tuple[object, ...]:
    args, environment = entry.get("args") or [], entry.get("env") or {}
    if not isinstance(args, list) or not isinstance(environment, dict):
        return (id(entry),)
    return (entry.get("command"), entry.get("url"), tuple(map(str, args)), frozenset(map(str, environment.items())))


def _free_name(name: str, taken: Mapping[str, Any]) -> str:
    if name not in taken:
        return name
    return next(numbered for number in count(2) if (numbered := f"{name}-{number}") not in taken)
