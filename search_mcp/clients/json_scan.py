"""Positions of members, comments and indents in the text of a valid JSON document. Pure.

The standard decoder finds where values end. Comments and trailing commas are accepted.
"""

import json
from dataclasses import dataclass

from search_mcp.config import json_comments

SPACE = " \t\r\n"
USUAL_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Member:
    """Positions of a member's key (`start`), its value, the end of the value, and the comma after it."""

    key: str
    start: int
    value: int
    end: int
    comma: int | None


@dataclass(frozen=True, slots=True)
class Object:
    """Positions of an object's braces and members."""

    opening: int
    closing: int
    members: tuple[Member, ...]

    def member(self, key: str) -> Member | None:
        return next((member for member in self.members if member.key == key), None)

    def __getitem__(self, key: str) -> Member:
        return next(member for member in self.members if member.key == key)


class Scan:
    """Positions in the text of a valid document."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.bare = json_comments.without_comments(text)
        self._plain = json_comments.blank(text)
        self._decoder = json.JSONDecoder()

    def root(self) -> Object:
        return self.object(self._after_space(0))

    def is_object(self, member: Member) -> bool:
        return self._plain[member.value] == "{"

    def object(self, opening: int) -> Object:
        """Find the members of the object that opens at a position."""
        members = []
        position = self._after_space(opening + 1)
        while self._plain[position] != "}":
            key, after_key = self._decoder.raw_decode(self._plain, position)
            value = self._after_space(self._after_space(after_key) + 1)
            _, end = self._decoder.raw_decode(self._plain, value)
            following = skip(self.bare, end)
            comma = following if self.bare[following] == "," else None
            members.append(Member(key, position, value, end, comma))
            position = self._after_space(end if comma is None else comma + 1)
        return Object(opening, position, tuple(members))

    def _after_space(self, position: int) -> int:
        return skip(self._plain, position)

    def content_before(self, position: int) -> int:
        """Return the end of the text before a position, without trailing white space."""
        return len(self.text[:position].rstrip(SPACE))

    def rest_of_line(self, position: int) -> str:
        line = self.text[position:].partition("\n")[0]
        return line.removesuffix("\r")

    def line_indent(self, position: int) -> str:
        line = self.text[self.text.rfind("\n", 0, position) + 1 :]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def ends_line(self, position: int) -> bool:
        return not self.rest_of_line(position).strip(" \t")

    def own_indent(self, position: int) -> str | None:
        """Return the indent before a position; None if something else is on its line before it."""
        start = self.text.rfind("\n", 0, position) + 1
        before = self.text[start:position]
        return before if start > 0 and not before.strip(" \t") else None

    def unit(self) -> str:
        """Return the indent of one level in this document."""
        first = next(iter(self.root().members), None)
        return (self.own_indent(first.start) if first is not None else None) or USUAL_INDENT

    def is_swallowed(self, position: int) -> bool:
        """Return whether text inserted at a position would become part of a `//` comment."""
        return json_comments.without_comments(self.text[:position] + "x")[-1] != "x"


def skip(text: str, position: int) -> int:
    """Return the position of the next character that is not white space."""
    while text[position] in SPACE:
        position += 1
    return position
