"""What of a server's definitions is not as it was accepted, as a person reads it.

Decides which members are shown, in which order and how long: of a changed definition what was and what is, by path, of
a new one all of its text. Every control and invisible character is written as `\\u{...}`.
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
"""Characters of one text that are shown."""
MOST_COMPARED = 500
"""Lines of a text that are compared line by line; of a longer one all is shown."""
_PLAIN_KEY = re.compile(r"[\w$/-]+")
_FIRST = ("title", "description", "instructions")

Line = tuple[str, str]
"""A mark (`-`, `+`, or nothing for a path) and a text."""


def title(server: str, each: Open) -> str:
    """Name a difference: what it is, and whether it is changed, new or gone."""
    state = "gone" if each.now is None else "new" if each.before is None else "changed"
    other = ", as another client was given it" if each.is_of_another_client else ""
    if each.section == ABOUT:
        return f"{server}: its title and instructions ({state}{other})"
    return f"{server}.{wholly_visible(each.name)} ({state} {each.section.removesuffix('s')}{other})"


def show(server: str, differences: Sequence[Open], terminal: Terminal) -> None:
    """Show all differences of one server."""
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
        terminal.paragraph(f"{server}: gone: {', '.join(gone)}")


def lines(each: Open) -> Iterator[Line]:
    """Write one difference: the path of each member that differs, what was there and what is."""
    before, now = _members(each.before), _members(each.now)
    for path in sorted(before.keys() | now.keys(), key=_order):
        was, becomes = before.get(path), now.get(path)
        if was == becomes or path == "name" or (each.before is None and _says_nothing(path, becomes)):
            continue
        yield "", path
        yield from _changed(was, becomes)


def _says_nothing(path: str, value: str | None) -> bool:
    """Whether a member of a new definition is there because nearly every definition has it."""
    return value in ("{}", "[]") or (path, value) == ("inputSchema.type", "object")


def as_json(each: Open) -> dict[str, Any]:
    """Give a difference whole, for programs."""
    return {
        "kind": each.section,
        "name": each.name,
        "state": "gone" if each.now is None else "new" if each.before is None else "changed",
        "otherClient": each.is_of_another_client,
        "before": Raw(each.before) if each.before is not None else None,
        "now": Raw(each.now) if each.now is not None else None,
    }


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, object]]:
    """Give every value that holds no others, with its path."""
    if isinstance(value, dict) and value:
        for key, member in value.items():
            yield from leaves(member, f"{path}.{_key(key)}" if path else _key(key))
    elif isinstance(value, list) and any(isinstance(each, dict | list) for each in value):
        for position, member in enumerate(value):
            yield from leaves(member, f"{path}[{position}]")
    else:
        yield path, value


def written(value: object) -> str:
    """Write a text as it is, anything else as JSON."""
    return wholly_visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _members(definition: bytes | None) -> dict[str, str]:
    if definition is None:
        return {}
    value = payload.value(definition)
    if value is None:  # nested too deeply to be taken apart
        return {"definition": wholly_visible(definition.decode("utf-8", "replace"))}
    return {path: _told_apart(member) for path, member in leaves(value) if path}


def _told_apart(value: object) -> str:
    """Write a text that could be mistaken for another JSON value in quotation marks."""
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
