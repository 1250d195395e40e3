"""Edits of one member of an object in the text of a JSON file; every other character stays. Pure.

Decides where a member is placed, and lays it out like its neighbours. Comments and trailing commas are accepted and
kept. No Python library does this: those that keep comments reformat the whole file."""

import json
import re
from collections.abc import Sequence

from search_mcp.clients.document import line_end_of, nested
from search_mcp.clients.json_scan import SPACE, USUAL_INDENT, Member, Object, Scan, skip
from search_mcp.config import json_comments, jsonc

_LONGEST_LIST = 100
"""Width in columns up to which a list is written on one line."""
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)


def parse(text: str, source: str) -> object:
    """Parse the value.

    Raises:
        ConfigError: the text is not JSON, or an object has the same key twice.
    """
    return jsonc.parse(text, source=source).value


def put(text: str, path: Sequence[str], value: object) -> str:
    """Set the member at a path of a valid document; missing objects on the path are created."""
    if not json_comments.blank(text).strip():
        line_end = line_end_of(text)
        start = text + line_end if text.strip() and not text.endswith("\n") else text
        return start + _written(nested(path, value), "", USUAL_INDENT, line_end) + line_end
    scan = Scan(text)
    found = scan.root()
    for depth, key in enumerate(path, 1):
        member = found.member(key)
        if member is None:
            return _insert(scan, found, key, nested(path[depth:], value))
        if depth == len(path) or not scan.is_object(member):
            return _replace(scan, member, nested(path[depth:], value))
        found = scan.object(member.value)
    return text


def drop(text: str, path: Sequence[str]) -> str:
    """Remove an existing member and the comment at the end of its line."""
    scan, found = _scanned(text, path[:-1])
    member = found[path[-1]]
    return _remove(scan, found, member, *_extent(scan, found, member))


def cut(text: str, path: Sequence[str]) -> tuple[str, str]:
    """Remove an existing member with the comments directly above it and at the end of its line.

    Returns the remaining text, and the member's text without its comma.
    """
    scan, found = _scanned(text, path[:-1])
    member = found[path[-1]]
    start, end = _comments_above(scan, found, member), _comments_behind(scan, member)
    taken = text[start : member.end] + _without_comma(text, member, end)
    if scan.ends_line(end):
        return _remove(scan, found, member, scan.content_before(start), end), taken
    # The next member shares its line, and takes its place there.
    return _remove(scan, found, member, skip(text, start), end if text[end] in "\r\n" else skip(text, end)), taken


def paste(text: str, path: Sequence[str], taken: str) -> str:
    """Add a member that was cut, after the others at its path; missing objects on the path are created.

    Raises:
        ConfigError: the text that was cut is damaged.
    """
    text = text if _reaches(text, path[:-1]) else put(text, path[:-1], {})
    jsonc.parse(f"{{{taken}\n}}", source="")  # raises if the text is damaged
    return _place(*_scanned(text, path[:-1]), taken)


def _scanned(text: str, path: Sequence[str]) -> tuple[Scan, Object]:
    """Find the object at a path of a valid document."""
    scan = Scan(text)
    found = scan.root()
    for key in path:
        found = scan.object(found[key].value)
    return scan, found


def _insert(scan: Scan, found: Object, key: str, value: object) -> str:
    name = json.dumps(key, ensure_ascii=False)
    indent = _indent(scan, found)
    if indent is None:
        return _place(scan, found, f"{name}: {json.dumps(value, ensure_ascii=False)}")
    return _place(scan, found, f"{indent}{name}: {_written(value, indent, scan.unit(), line_end_of(scan.text))}")


def _indent(scan: Scan, found: Object) -> str | None:
    """Return the indent of the members of an object; None if they share a line."""
    return scan.own_indent(found.members[-1].start) if found.members else scan.line_indent(found.opening) + scan.unit()


def _replace(scan: Scan, member: Member, value: object) -> str:
    own_indent = scan.own_indent(member.start)
    if own_indent is None:
        written = json.dumps(value, ensure_ascii=False)
    else:
        written = _written(value, own_indent, scan.unit(), line_end_of(scan.text))
    return scan.text[: member.value] + written + scan.text[member.end :]


def _remove(scan: Scan, found: Object, member: Member, start: int, end: int) -> str:
    text = scan.text
    if not (text[found.opening + 1 : start] + text[end : found.closing]).strip(SPACE):
        return text[: found.opening + 1] + text[found.closing :]
    before = text[:start]
    index = found.members.index(member)
    if member.comma is None and index:
        comma = found.members[index - 1].comma
        assert comma is not None  # there is a comma between any two members
        before = text[:comma] + text[comma + 1 : start]
    return before + text[end:]


def _reaches(text: str, path: Sequence[str]) -> bool:
    """Return whether every member of a path exists and is an object."""
    if not json_comments.blank(text).strip():
        return False
    scan = Scan(text)
    found = scan.root()
    for key in path:
        member = found.member(key)
        if member is None or not scan.is_object(member):
            return False
        found = scan.object(member.value)
    return True


def _comments_above(scan: Scan, found: Object, member: Member) -> int:
    """Return the start of a member, including the comments above it up to an empty line."""
    index = found.members.index(member)
    previous = found.members[index - 1] if index else None
    after = found.opening + 1 if previous is None or previous.comma is None else previous.comma + 1
    between = scan.text[after : member.start]
    is_alone = "\n" in between
    start = len(between)
    for comment in reversed([*_COMMENT.finditer(between)]):
        if between[comment.end() : start].count("\n") > 1:
            break
        if is_alone and "\n" not in between[: comment.start()]:  # it belongs to the previous member, or to the object
            break
        start = comment.start()
    indent = len(between[:start]) - len(between[:start].rstrip(" \t"))
    return after + start - (indent if between[: start - indent].endswith("\n") else 0)


def _comments_behind(scan: Scan, member: Member) -> int:
    """Return the end of a member, including its comma and the comments at the end of its line."""
    end = member.end if member.comma is None else member.comma + 1
    behind = end
    while comment := re.compile(rf"[ \t]*({_COMMENT.pattern})", re.DOTALL).match(scan.text, behind):
        behind = comment.end()
    is_theirs = scan.ends_line(behind) and "\n" not in scan.text[end:behind]
    return behind if is_theirs else end


def _without_comma(text: str, member: Member, end: int) -> str:
    """Return the text from the end of a member's value to a position, without the comma."""
    if member.comma is None:
        return text[member.end : end]
    return text[member.end : member.comma] + text[member.comma + 1 : end]


def _place(scan: Scan, found: Object, taken: str) -> str:
    """Add the text of a member, with its indent and comments, behind the others of an object."""
    text, line_end = scan.text, line_end_of(scan.text)
    inner = Scan(f"{{{taken}\n}}")
    end = inner.root().members[0].end - 1
    with_comma = f"{taken[:end]},{taken[end:]}"
    last = found.members[-1] if found.members else None
    if last is not None and "\n" not in taken and inner.bare == inner.text and _indent(scan, found) is None:
        at = last.end if last.comma is None else last.comma + 1
        return text[:at] + (f", {taken.strip()}" if last.comma is None else f" {with_comma.strip()}") + text[at:]
    at = scan.content_before(found.closing)
    gap = text[at : found.closing]
    if at == found.opening + 1 or ("\n" not in gap and (last is None or inner.bare != inner.text)):
        gap = line_end + scan.line_indent(found.opening)  # a comment must not swallow the brace
    if taken[0] not in SPACE:  # it was on one line with other members
        indent = _indent(scan, found)
        indent = scan.line_indent(found.opening) + scan.unit() if indent is None else indent
        taken, with_comma = indent + taken, indent + with_comma
    if last is None:
        return text[:at] + line_end + taken + gap + text[found.closing :]
    if last.comma is None:
        return text[: last.end] + "," + text[last.end : at] + line_end + taken + gap + text[found.closing :]
    return text[:at] + line_end + with_comma + gap + text[found.closing :]


def _extent(scan: Scan, found: Object, member: Member) -> tuple[int, int]:
    """Return the range to remove with a member: its comma, its line, and the comment at the end of the line."""
    end = member.end if member.comma is None else member.comma + 1
    rest = scan.rest_of_line(end)
    above = scan.content_before(member.start)
    is_alone = scan.own_indent(member.start) is not None
    if is_alone and rest.lstrip(" \t").startswith("//"):
        end, rest = end + len(rest), ""
    if is_alone and not rest.strip(" \t"):
        return above, end
    if is_alone or above == found.opening + 1:
        if not scan.is_swallowed(above) and scan.text[skip(scan.text, end)] == "}":
            return above, end
        return member.start, end + len(rest) - len(rest.lstrip(" \t"))
    return above, end


def _written(value: object, indent: str, unit: str, line_end: str) -> str:
    """Write a value over several lines, but a short list of scalars on one line."""
    on_one_line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value:
        return on_one_line
    if isinstance(value, list) and len(indent + on_one_line) <= _LONGEST_LIST and not _is_nested(value):
        return on_one_line
    inner = indent + unit
    named = value.items() if isinstance(value, dict) else ((None, each) for each in value)
    rows = [
        inner
        + ("" if key is None else f"{json.dumps(key, ensure_ascii=False)}: ")
        + _written(each, inner, unit, line_end)
        for key, each in named
    ]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return line_end.join([opening, ("," + line_end).join(rows), indent + closing])


def _is_nested(value: Sequence[object]) -> bool:
    return any(isinstance(each, dict | list) for each in value)
