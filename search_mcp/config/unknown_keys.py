"""Unknown keys of a configuration file, each with the known key that it probably misspells."""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any

from search_mcp.config.jsonc import Document, KeyPath
from search_mcp.config.placeholders import Complaint
from search_mcp.config.schema import (
    PROTECTIVE,
    SERVER_KEYS,
    Embeddings,
    File,
    OAuth,
    Search,
    Settings,
    ToolFilter,
    keys,
)
from search_mcp.model.errors import ConfigError
from search_mcp.model.sentences import MOST_NAMED
from search_mcp.model.similar import closest

_KEYS_OF_OTHER_CLIENTS = {  # with what to use here
    **dict.fromkeys(("alwaysAllow", "autoApprove", "trust"), "the client's own approval"),
    **dict.fromkeys(("includeTools", "enabledTools"), '"tools": {"allow": [...]}'),
    **dict.fromkeys(("excludeTools", "disabledTools"), '"tools": {"deny": [...]}'),
    **dict.fromkeys(("timeout", "tool_timeout_sec"), '"callTimeoutSeconds"'),
    **dict.fromkeys(("envFile", "environment", "envs"), '"env"'),
    **dict.fromkeys(("transport", "transportType"), '"type"'),
    "alwaysLoad": '"pinned"',
    "cmd": '"command"',
    "env_vars": '"inheritEnv"',
    "startup_timeout_sec": '"startTimeoutSeconds"',
}
_SHORT_KEY = 4
"""Most characters of a short key, in which one transposition changes a large part."""
_MOST_UNKNOWN = 200
"""Different unknown keys of a file. Each is compared with the known ones, which takes 0.2 ms; all may be misspelt."""


def find(document: Document) -> Mapping[KeyPath, str | None]:
    """Find unknown keys, each with the known key that it probably misspells, if any.

    Raises:
        ConfigError: there are too many.
    """
    unknown = {
        (*path, key): known
        for path, found, known in _objects(document.value)
        if isinstance(found, dict)
        for key in found
        if key not in known
    }
    different = {path[-1] for path in unknown}
    if len(different) > _MOST_UNKNOWN:
        raise ConfigError(document.source, f"it has {len(different):,} different unknown keys", "remove them")
    return {path: _meant(str(path[-1]), frozenset(known)) for path, known in unknown.items()}


def misspelt(unknown: Mapping[KeyPath, str | None]) -> list[Complaint]:
    """Return the unknown keys that are probably misspellings of a protective key."""
    return [
        (path, f'unknown key "{path[-1]}", similar to "{key}"', f'write "{key}", or remove it')
        for path, key in unknown.items()
        if key in PROTECTIVE
    ]


def warnings(document: Document, unknown: Mapping[KeyPath, str | None]) -> Iterator[str]:
    """Yield warnings about all other unknown keys, in the order of the text."""
    in_order = document.lines if unknown else ()  # of the text
    ignored = [path for path in in_order if path in unknown and unknown[path] not in PROTECTIVE]
    for path in ignored[:MOST_NAMED]:
        yield str(document.error(path, *_about_unknown(str(path[-1]), unknown[path])))
    if len(ignored) > MOST_NAMED:
        yield f"{document.source}: {len(ignored) - MOST_NAMED:,} more unknown keys are ignored"


def _objects(root: Any) -> Iterator[tuple[KeyPath, object, Collection[str]]]:
    """Yield the objects of a file that have fixed keys, with their path and known keys."""
    if not isinstance(root, dict):
        return
    yield (), root, {"$schema", *keys(File)}
    settings = root.get("settings")
    yield ("settings",), settings, keys(Settings)
    search = settings.get("search") if isinstance(settings, dict) else None
    yield ("settings", "search"), search, keys(Search)
    semantic = search.get("semantic") if isinstance(search, dict) else None
    yield ("settings", "search", "semantic"), semantic, keys(Embeddings)
    servers = root["mcpServers"]
    for name, entry in servers.items() if isinstance(servers, dict) else ():
        yield ("mcpServers", name), entry, SERVER_KEYS
        if isinstance(entry, dict):
            yield ("mcpServers", name, "tools"), entry.get("tools"), keys(ToolFilter)
            yield ("mcpServers", name, "oauth"), entry.get("oauth"), keys(OAuth)


def _about_unknown(key: str, meant: str | None) -> tuple[str, str]:
    if key in _KEYS_OF_OTHER_CLIENTS:
        return "a key of other clients, ignored here", f"use {_KEYS_OF_OTHER_CLIENTS[key]}"
    return "unknown key, ignored", "remove it" if meant is None else f'did you mean "{meant}"?'


@lru_cache(8 * _MOST_UNKNOWN)  # there are eight kinds of objects
def _meant(key: str, known: frozenset[str]) -> str | None:
    """Return the known key that a misspelt key is most similar to, if it is similar enough."""
    if key in _KEYS_OF_OTHER_CLIENTS:
        return None
    folded = {_fold(name): name for name in known}
    meant = closest(_fold(key), folded, 0.75 if len(key) > _SHORT_KEY else 0.65)  # "evn" is 2/3 "env"
    return None if meant is None else folded[meant]


def _fold(key: str) -> str:
    return re.sub("[^a-z]", "", key.lower())
