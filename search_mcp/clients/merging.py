"""Adding servers of clients to our configuration: which are new, and under which name. Pure."""

import json
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal, TypeAlias

from search_mcp.clients import entries, found
from search_mcp.clients.document import Document
from search_mcp.clients.entries import Translation
from search_mcp.clients.found import Server
from search_mcp.config import parsing
from search_mcp.model.errors import ConfigError

ROOT = "mcpServers"
MergeResult: TypeAlias = Literal["added", "present", "enabled", "skipped"]
"""`present` is a server that we had already; `enabled` is one that we had, disabled, and that is enabled now."""

_NAMED_VALUES = ("env", "headers")
"""Keys whose values are often secrets."""
_STARTED_BY = ("command", "args", "env", "inheritEnv", "cwd", "url", "headers", "oauth", "caFile")


@dataclass(frozen=True)
class Merged:
    """The result for one server."""

    server: Server
    result: MergeResult
    name: str
    """Its name in our configuration."""
    notes: tuple[str, ...] = ()

    @property
    def is_disabled(self) -> bool:
        return self.server.translation is not None and entries.is_disabled(self.server.translation.entry)


def merge(own: Document, servers: Iterable[Server], chosen: Container[str] = ()) -> tuple[Document, list[Merged]]:
    """Add servers to our configuration, except search-mcp itself.

    A server that we have already, even under another name, is not added again, except under a name in `chosen`. Nor is
    one of the same name with other values in the same variables and headers: the user may have moved secrets out of
    ours. If ours is disabled and the given one is not, ours is enabled.

    Raises:
        ConfigError: our file cannot be edited.
    """
    merged = []
    before = own.members((ROOT,))
    for server in servers:
        if not server.is_ours:
            own, result = _merge_one(own, server, chosen, before)
            merged.append(result)
    return own, merged


def _merge_one(
    own: Document, server: Server, chosen: Container[str], before: Mapping[str, Any]
) -> tuple[Document, Merged]:
    translation = server.translation
    if translation is None:
        return own, Merged(server, "skipped", "", ("it has neither a command nor a url",))
    twin = _twin(own, server, chosen, before)
    if twin is not None:
        return _merge_twin(own, server, translation, twin)
    if problem := fault(server.name, translation.entry):
        return own, Merged(server, "skipped", "", (problem,))
    name = free_name(server.name, own.members((ROOT,)))
    renamed = (f"named {name}, because another server is called {server.name}",) if name != server.name else ()
    own = own.put((ROOT, name), dict(translation.entry))
    return own, Merged(server, "added", name, (*renamed, *translation.notes))


def _merge_twin(own: Document, server: Server, translation: Translation, twin: str) -> tuple[Document, Merged]:
    """Enable the same server of ours, if it is disabled and the given one is not."""
    present = own.members((ROOT, twin))
    is_off = entries.is_disabled(present) or _has_address_as_command(present)
    if not is_off or entries.is_disabled(translation.entry):
        theirs = translation.entry.get("tools")
        is_lost = theirs is not None and theirs != present.get("tools")
        notes = [f'its "tools" are not taken over: {json.dumps(theirs)}'] if is_lost else []
        if differing := _differing(translation.entry, _native(server.name, present)):
            whose = f"{server.client.title}'s" if server.client.name else "that"
            notes.append(f"kept yours; it differs from {whose} in {', '.join(differing)}")
        return own, Merged(server, "present", twin, tuple(notes))
    present_as = f", called {twin}," if twin != server.name else ""
    note = f"it was in the config file{present_as} but disabled; it is now enabled"
    return switch_on(own, twin), Merged(server, "enabled", twin, (note,))


def is_same(server: Server, entry: object, read: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict) -> bool:
    """Return whether an entry of ours starts the same program as a client's server, comparing what `read` gives."""
    theirs = server.translation
    if theirs is None or not isinstance(entry, dict):
        return False
    return _identity(read(theirs.entry)) == _identity(read(_native(server.name, entry)))


def _without_values(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an entry with the names of its variables and headers only."""
    return {**entry, **{key: sorted(entry[key]) for key in _NAMED_VALUES if isinstance(entry.get(key), dict)}}


def _differing(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> list[str]:
    """Name the variables and headers with other values in our entry, except those that were moved out of it."""
    return [
        name
        for key in _NAMED_VALUES
        if isinstance(theirs.get(key), dict)
        for name, value in theirs[key].items()
        if ours[key][name] != value and "${" not in str(ours[key][name])
    ]


def switch_on(own: Document, name: str) -> Document:
    """Enable a server of ours, by the keys it has; without any it is enabled.

    An address that was written as the command becomes the `url`.

    Raises:
        ConfigError: our file cannot be edited.
    """
    entry = own.members((ROOT, name))
    if _has_address_as_command(entry):
        runnable = _native(name, entry)
        for key in entry.keys() - runnable.keys():
            own = own.drop((ROOT, name, key))
        for key, value in runnable.items():
            own = own.put((ROOT, name, key), value)
    for switch, value in (("enabled", True), ("disabled", False)):
        if switch in entry:
            own = own.put((ROOT, name, switch), value)
    return own


def _has_address_as_command(entry: Mapping[str, Any]) -> bool:
    return bool(entry.get("command")) and entries.address(entry) is not None


def _native(name: str, entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Write an address as import writes it, also that of a bridge; the switches stay."""
    if entries.address(entry) is None and not entries.is_bridge(entry):
        return entry
    translation = found.typed(name, entry).translation
    if translation is None:
        return entry
    switches = {key: entry[key] for key in ("enabled", "disabled") if key in entry}
    return {**{key: value for key, value in translation.entry.items() if key != "enabled"}, **switches}


def fault(name: str, entry: Mapping[str, Any]) -> str | None:
    """Return why search-mcp could not read an entry; None if it could."""
    text = json.dumps({ROOT: {name: entry}})
    try:
        parsing.parse(text, source="", variables={}, home="", config_dir="", python="")
    except ConfigError as exc:
        return f"{exc.problem}; {exc.remedy}"
    return None


def _twin(own: Document, server: Server, chosen: Container[str], before: Mapping[str, Any]) -> str | None:
    """Return the name of our server that is the same; an enabled one first, then one of the same name.

    Of those that were there `before`, one of the same name may have other values, if none is quite the same.
    """
    same = {name: entry for name, entry in own.members((ROOT,)).items() if is_same(server, entry)}
    if not same:
        named = {name: before[name] for name in before if _is_called(name, server.name)}
        same = {name: entry for name, entry in named.items() if is_same(server, entry, _without_values)}
    names = [name for name in same if name == server.name or server.name not in chosen]
    return min(names, key=lambda name: (entries.is_disabled(same[name]), name != server.name), default=None)


def _identity(entry: Mapping[str, Any]) -> list[object]:
    return [*(entry.get(key) or None for key in _STARTED_BY), entry.get("oauth") is False]


def _is_called(name: str, original: str) -> bool:
    """Return whether a server has this name, or the one that it was given beside another of this name."""
    return name == original or name.removeprefix(f"{original}-").isdecimal()


def free_name(name: str, taken: Container[str]) -> str:
    """Return a name, with a number if it is taken."""
    if name not in taken:
        return name
    return next(numbered for number in count(2) if (numbered := f"{name}-{number}") not in taken)
