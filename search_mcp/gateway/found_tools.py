"""Tools and skills as the answers of `search_tools` show them."""

from collections.abc import Iterable, Iterator
from typing import Any

from search_mcp.catalog.brief import brief
from search_mcp.catalog.items import Item
from search_mcp.catalog.shown_names import ShownNames
from search_mcp.catalog.skills import Skill
from search_mcp.gateway.own_arguments import LONGEST_NAME
from search_mcp.model.visible import indented, one_line, visible_json
from search_mcp.wire import payload, structs
from search_mcp.wire.structs import Raw, Struct

ANSWER_LENGTH = 20_000
"""Characters of an answer; tools that do not fit are left out, and the answer says how many."""
SCHEMA_BYTES = 1 << 20
"""Bytes of schemas that are read for one answer: more than fifty of the longest that real servers have."""


class FoundTool(Struct, frozen=True):
    """One tool in an answer."""

    name: str
    """The name that the client may call, with the parameters if there is no schema."""
    hint: str = ""
    description: str = ""
    schema: Raw | None = None

    @property
    def heading(self) -> str:
        return f"{self.name} [{self.hint}]" if self.hint else self.name

    def text(self, position: int) -> str:
        lines = [f"{position}. {self.heading}"]
        if self.description:
            # A line of a description must not look like the next result, so each line of a long one is marked.
            is_long = len(self.description.splitlines()) > 1
            lines.append(indented(self.description, "   | " if is_long else "   "))
        if self.schema is not None:
            lines.append(f"   inputSchema: {on_one_line(self.schema)}")
        return "\n".join(lines)

    def data(self) -> str | dict[str, Any]:
        # One string is shorter than an object with three keys. Double quotes would be escaped in JSON, so they are
        # replaced.
        if self.schema is None:
            return (f"{self.heading}: {self.description}" if self.description else self.heading).replace('"', "'")
        hint = {"hint": self.hint} if self.hint else {}
        return {"name": self.name, **hint, "description": self.description, "inputSchema": self.schema}


class FoundSkill(Struct, frozen=True):
    """One skill in an answer: a text for the model to read, not a tool to call."""

    skill: Skill
    description: str = ""

    def text(self, position: int) -> str:
        lines = [f"{position}. {skill_heading(self.skill)}"]
        if self.description:
            is_long = len(self.description.splitlines()) > 1
            lines.append(indented(self.description, "   | " if is_long else "   "))
        return "\n".join([*lines, f"   {how_to_read(self.skill)}"])

    def data(self) -> str:
        about = f"{skill_heading(self.skill)}: {self.description}" if self.description else skill_heading(self.skill)
        return f"{about} ({how_to_read(self.skill)})".replace('"', "'")


def skill_heading(skill: Skill) -> str:
    """Write what a skill is; no tool's name begins with `skill` and a space."""
    return f"skill {one_line(skill.name[:LONGEST_NAME])} (server {skill.server})"


def how_to_read(skill: Skill) -> str:
    return f"instructions to read as a resource, not a tool to call: {one_line(skill.uri)}"


def found_tools(
    found: Iterable[Item | Skill], shown: ShownNames, detail: str, description_length: int
) -> Iterator[FoundTool | FoundSkill]:
    """Write tools and skills one by one; after `SCHEMA_BYTES` of schemas, the other tools without parameters."""
    room = SCHEMA_BYTES
    for item in found:
        if isinstance(item, Skill):
            yield _found_skill(item, detail, description_length)
            continue
        room -= len(memoryview(item.fields.get("inputSchema", structs.EMPTY)))
        if room < 0 and detail != "name":
            yield FoundTool(f"{shown[item]}(…)", item.hint, brief(item.description, description_length))
        else:
            yield _found_tool(item, shown, detail, description_length)


def _found_tool(item: Item, shown: ShownNames, detail: str, description_length: int) -> FoundTool:
    if detail == "name":
        return FoundTool(shown[item], item.hint)
    if detail == "full":
        schema, description = item.fields["inputSchema"], item.description
        if len(memoryview(schema)) + len(description) <= ANSWER_LENGTH:
            return FoundTool(shown[item], item.hint, description, schema)
    return FoundTool(shown.signature(item), item.hint, brief(item.description, description_length))


def _found_skill(skill: Skill, detail: str, description_length: int) -> FoundSkill:
    if detail == "name":
        return FoundSkill(skill)
    is_whole = detail == "full" and len(skill.description) <= ANSWER_LENGTH
    return FoundSkill(skill, skill.description if is_whole else brief(skill.description, description_length))


def within_answer(results: Iterable[FoundTool | FoundSkill], count: int) -> tuple[list[FoundTool | FoundSkill], int]:
    """Keep as many results as an answer may hold, at least one; return them and how many were left out."""
    kept: list[FoundTool | FoundSkill] = []
    length = 0
    for result in results:
        length += len(payload.encode_bytes(result.data()))
        if kept and length > ANSWER_LENGTH:
            break
        kept.append(result)
    return kept, count - len(kept)


def on_one_line(json: Raw) -> str:
    """Write a server's JSON on one line; line breaks outside of its strings become spaces."""
    return visible_json(bytes(json).translate(_BREAKS_TO_SPACES).decode("utf-8", "replace"))


_BREAKS_TO_SPACES = bytes.maketrans(b"\r\n", b"  ")
