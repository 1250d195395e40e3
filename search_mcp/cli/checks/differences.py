"""Differences between a server's definitions and the accepted ones, written for a person.

Decides which members are shown, in which order, and how much of each: of a changed definition the former and the
present value of each path, of a new one every text. Control and invisible characters are written as `\\u{...}`.
"""

import json
import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any

from search_mcp.backends.pin_records import ABOUT, Open
from search_mcp.cli.terminal import Terminal
from search_mcp.model.visible import wholly_visible
from search_mcp.wire import payload
from search_mcp.wire.structs import Raw

MOST_CHARACTERS = 4000
"""Number of characters shown of one text."""
MOST_COMPARED = 500
"""Number of lines up to which texts are compared line by line; of longer ones, both are shown."""
_PLAIN_KEY = re.compile(r"[\w$/-]+")
_FIRST = ("title", "description", "instructions")

Line = tuple[str, str]
"""A sign (`-`, `+`, or none for a path) and a text."""


def title(server: str, each: Open) -> str:
    """Write the heading of a difference: the definition, and whether it is changed, new or gone."""
    state = "gone" if each.now is None else "new" if each.before is None else "changed"
    other = ", as another client got it" if each.is_of_another_client else ""
    if each.section == ABOUT:
        return f"{server}: its title and instructions ({state}{other})"
    return f"{server}.{wholly_visible(each.name)} ({state} {each.section.removesuffix('s')}{other})"


def show(server: str, differences: Sequence[Open], terminal: Terminal) -> None:
    """Show the differences of one server."""
    for each in differences:
        if each.now is None:
            continue
        terminal.text("")
        terminal.heading(title(server, each))
        for mark, text in lines(each):
            if mark:
                terminal.marked(mark, text, indent=4)
            else:
                terminal.paragraph(text, indent=2)
    if gone := [wholly_visible(each.name) for each in differences if each.now is None]:
        terminal.text("")
        terminal.paragraph(f"{server}: no longer listed: {', '.join(gone)}")


def lines(each: Open) -> Iterator[Line]:
    """Yield the lines of one difference: the path of each member that differs, its former and its present value."""
    before, now = _members(each.before), _members(each.now)
    for path in sorted(before.keys() | now.keys(), key=_order):
        was, becomes = before.get(path), now.get(path)
        if was == becomes or path == "name" or (each.before is None and _says_nothing(path, becomes)):
            continue
        yield "", path
        yield from _changed(was, becomes)


def _says_nothing(path: str, value: str | None) -> bool:
    """Return whether a member of a new definition is left out, because nearly every definition has it."""
    return value in ("{}", "[]") or (path, value) == ("inputSchema.type", "object")


def as_json(each: Open) -> dict[str, Any]:
    """Write a whole difference for scripts."""
    return {
        "kind": each.section,
        "name": each.name,
        "state": "gone" if each.now is None else "new" if each.before is None else "changed",
        "otherClient": each.is_of_another_client,
        "before": Raw(each.before) if each.before is not None else None,
        "now": Raw(each.now) if each.now is not None else None,
    }


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield the path and value of every leaf."""
    if isinstance(value, dict) and value:
        for key, member in value.items():
            yield from leaves(member, f"{path}.{_key(key)}" if path else _key(key))
    elif isinstance(value, list) and any(isinstance(each, dict | list) for each in value):
        for position, member in enumerate(value):
            yield from leaves(member, f"{path}[{position}]")
    else:
        yield path, value


def written(value: object) -> str:
    """Write a string as it is, and any other value as JSON."""
    return wholly_visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _members(definition: bytes | None) -> dict[str, str]:
    if definition is None:
        return {}
    value = payload.value(definition)
    if value is None:  # nested too deeply to decode
        return {"definition": wholly_visible(definition.decode("utf-8", "replace"))}
    return {path: _distinct(member) for path, member in leaves(value) if path}


def _distinct(value: object) -> str:
    """Write a value; a string that could be read as another JSON value is quoted."""
    is_ambiguous = isinstance(value, str) and value in ("", "true", "false", "null")
    return json.dumps(value) if is_ambiguous else written(value)


def _key(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) else f'"{wholly_visible(key)}"'


def _order(path: str) -> tuple[int, str]:
    return _FIRST.index(path) if path in _FIRST else len(_FIRST), path


def _changed(was: str | None, becomes: str | None) -> Iterator[Line]:
    before, now = (was or "").split("\n"), (becomes or "").split("\n")
    if was is None or becomes is None or max(len(before), len(now)) > MOST_COMPARED:
        yield from (("-", text) for text in ([] if was is None else _bounded(was)))
        yield from (("+", text) for text in ([] if becomes is None else _bounded(becomes)))
        return
    for kind, start, end, new_start, new_end in SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
        if kind != "equal":
            yield from (("-", text) for text in _bounded("\n".join(before[start:end])) if end > start)
            yield from (("+", text) for text in _bounded("\n".join(now[new_start:new_end])) if new_end > new_start)


def _bounded(text: str) -> list[str]:
    left_out = len(text) - MOST_CHARACTERS
    shown = text[:MOST_CHARACTERS].split("\n")
    return [*shown, f"... {left_out:,} more characters; --json shows them"] if left_out > 0 else shown
