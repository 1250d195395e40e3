"""Tools, skills, prompts and resources as the answers of `search_tools` show them."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeAlias

from search_mcp.catalog.brief import brief
from search_mcp.catalog.items import Item
from search_mcp.catalog.shown_names import ShownNames
from search_mcp.catalog.signature import parameter
from search_mcp.catalog.skills import Skill
from search_mcp.model.visible import indented, named, one_line, visible_json
from search_mcp.own_tools.arguments import MOST_NAMED
from search_mcp.own_tools.findable import Found, Resource, prompt_arguments
from search_mcp.wire import payload, structs
from search_mcp.wire.payload import LARGE_BYTES
from search_mcp.wire.structs import Raw, Struct

ANSWER_LENGTH = 20_000
"""Characters of an answer; results that do not fit are left out, and the answer says how many."""
_RETURNED_LENGTH = 60
"""Limit of characters for the names of the members that a call returns."""


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
            lines.append(_below(self.description))
        if self.schema is not None:
            lines.append(f"   inputSchema: {on_one_line(self.schema)}")
        return "\n".join(lines)

    def data(self) -> str | dict[str, Any]:
        if self.schema is None:  # one string is shorter than an object with three keys
            return f"{self.heading}: {self.description}" if self.description else self.heading
        hint = {"hint": self.hint} if self.hint else {}
        return {"name": self.name, **hint, "description": self.description, "inputSchema": self.schema}


class FoundText(Struct, frozen=True):
    """One skill, prompt or resource in an answer: not a tool to call."""

    heading: str
    use: str
    """How it is used."""
    description: str = ""

    def text(self, position: int) -> str:
        lines = [f"{position}. {self.heading}"]
        if self.description:
            lines.append(_below(self.description))
        return "\n".join([*lines, f"   {self.use}"])

    def data(self) -> str:
        about = f"{self.heading}: {self.description}" if self.description else self.heading
        return f"{about} ({self.use})"


SearchResult: TypeAlias = FoundTool | FoundText
"""One result."""


def _below(description: str) -> str:
    # A line of a description must not look like the next result, so each line of a long one is marked.
    return indented(description, "   | " if len(description.splitlines()) > 1 else "   ")


def skill_heading(skill: Skill) -> str:
    """Write what a skill is; no tool's name begins with `skill` and a space."""
    return f"skill {named(skill.name)} (server {skill.server})"


def how_to_read(skill: Skill) -> str:
    return f"instructions to read as a resource, not a tool to call: {one_line(skill.uri)}"


def _prompt_heading(prompt: Item, name: str) -> str:
    arguments = prompt_arguments(prompt)
    names = [named(each.name) + ("" if each.is_required else "?") for each in arguments[:MOST_NAMED]]
    more = ", …" if len(arguments) > MOST_NAMED else ""
    return f"prompt {name}({', '.join(names)}{more})"


def _resource_heading(resource: Resource) -> str:
    noun = "resource template" if resource.is_template else "resource"
    return f"{noun} {named(resource.name)} (server {resource.server})"


def _how_to_use(found: Found) -> str:
    if isinstance(found, Item):
        return "a prompt for the user to choose in the client, not a tool to call"
    if isinstance(found, Skill):
        return how_to_read(found)
    uri = one_line(found.uri)
    return f"URI to fill in and read as a resource: {uri}" if found.is_template else f"to read as a resource: {uri}"


def results_of(
    found: Iterable[Found], shown: ShownNames, detail: str, description_length: int, *, are_prompts: bool
) -> Iterator[SearchResult]:
    """Write results one by one; after `LARGE_BYTES` of schemas, the other tools without parameters."""
    room = LARGE_BYTES
    for item in found:
        if are_prompts or not isinstance(item, Item):
            yield _found_text(item, shown, detail, description_length)
            continue
        room -= len(item.fields.get("inputSchema", structs.EMPTY))
        if room < 0 and detail != "name":
            yield FoundTool(f"{shown[item]}(…)", item.hint, brief(item.description, description_length))
        else:
            yield _found_tool(item, shown, detail, description_length)


def _found_tool(item: Item, shown: ShownNames, detail: str, description_length: int) -> FoundTool:
    if detail == "name":
        return FoundTool(shown[item], item.hint)
    if detail == "full":
        schema, description = item.fields["inputSchema"], item.description
        if len(schema) + len(description) <= ANSWER_LENGTH:
            return FoundTool(shown[item], item.hint, description, schema)
    return FoundTool(shown.signature(item) + _returned(item), item.hint, brief(item.description, description_length))


def _returned(item: Item) -> str:
    """Write the members of what a call returns as ` -> {temperature, unit}`; empty for fewer than two."""
    schema = payload.object_or_empty(item.fields.get("outputSchema"))
    members = list(islice(payload.object_or_empty(schema.get("properties")), _RETURNED_LENGTH))
    if len(members) < 2:  # a single one is mostly `result` or `content`, in which libraries put any value
        return ""
    names = ", ".join(map(parameter, members))
    if len(names) > _RETURNED_LENGTH:
        names = "".join(names[:_RETURNED_LENGTH].rpartition(", ")[:2]) + "…"
    return f" -> {{{names}}}"


def _found_text(found: Found, shown: ShownNames, detail: str, description_length: int) -> FoundText:
    if isinstance(found, Item):
        heading = _prompt_heading(found, shown[found])
    else:
        heading = skill_heading(found) if isinstance(found, Skill) else _resource_heading(found)
    description = ""
    if detail != "name":
        is_whole = detail == "full" and len(found.description) <= ANSWER_LENGTH
        description = found.description if is_whole else brief(found.description, description_length)
    return FoundText(heading, _how_to_use(found), description)


def within_answer(results: Iterable[SearchResult], count: int) -> tuple[list[SearchResult], int]:
    """Keep as many results as an answer may hold, at least one; return them and how many were left out."""
    kept: list[SearchResult] = []
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
