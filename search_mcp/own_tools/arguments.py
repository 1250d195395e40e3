"""The arguments that a model gives our own tools, read leniently."""

from collections.abc import Mapping, Sequence
from typing import Any

from search_mcp.model.sentences import cut
from search_mcp.model.visible import described, named
from search_mcp.own_tools.wanted import LISTS_NEEDED, OTHER_KINDS, SearchKind

MOST_NAMED = 50
"""Servers or arguments that an answer enumerates."""


class ArgumentError(Exception):
    """A model gave one of our tools arguments it does not take; the text says what to give instead."""


def read_argument(arguments: Mapping[str, Any], name: str, kind: type, default: Any) -> Any:
    """Read a string or a whole number; where it is missing or null, the default.

    Raises:
        ArgumentError: it is of another type.
    """
    value = arguments.get(name)
    if value is None:
        return default
    if kind is int and isinstance(value, float | str):
        # Models write 5.0 and "5"; both mean 5.
        try:
            return int(float(value))
        except (ValueError, OverflowError):
            raise ArgumentError(f"{name} must be a whole number, not {described(value)}") from None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ArgumentError(f"{name} must be a {'whole number' if kind is int else 'string'}, not {described(value)}")
    return value


def read_choice(arguments: Mapping[str, Any], name: str, choices: Sequence[str]) -> str:
    """Read one of a few words; where it is missing or null, the first.

    Raises:
        ArgumentError: it is another one.
    """
    value: str = read_argument(arguments, name, str, choices[0])
    if value not in choices:
        raise ArgumentError(f"{name} must be one of {', '.join(choices)}, not {described(value)}")
    return value


def read_search_kind(arguments: Mapping[str, Any]) -> SearchKind:
    """Read which kind of entries is searched; where it is missing, tools and skills.

    Raises:
        ArgumentError: there is no such kind.
    """
    given = read_argument(arguments, "kind", str, "tools")
    for search_kind in LISTS_NEEDED:
        if given.strip().casefold() in (search_kind, search_kind[:-1], ""):
            return search_kind
    raise ArgumentError(f"kind must be {', '.join(OTHER_KINDS)} or tools, not {described(given)}")


def read_server(name: str, servers: Sequence[str]) -> str | None:
    """Find a configured server by its name, whatever its case; an empty name means all servers, `None`.

    Raises:
        ArgumentError: there is no such server.
    """
    if not name or name in servers:
        return name or None
    alike = [server for server in servers if server.casefold() == name.strip().casefold()]
    if len(alike) != 1:
        raise ArgumentError(f"There is no server {cut(name)!r}. Servers: {enumerated(servers)}")
    return alike[0]


def enumerated(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """Write names as a bounded enumeration; only plain words are not quoted."""
    return _bounded([named(each) for each in names], most)


def _bounded(names: Sequence[str], most: int = MOST_NAMED) -> str:
    more = len(names) - most
    return ", ".join([*names[:most], *([f"… {more} more"] if more > 0 else [])]) or "none"


def instead(arguments: Mapping[str, Any], wanted: str) -> str:
    """Write which arguments were given instead of the one that is missing."""
    if wanted in arguments or not arguments:
        return ""
    return f"; got {_bounded([repr(cut(name)) for name in sorted(arguments)])}"
