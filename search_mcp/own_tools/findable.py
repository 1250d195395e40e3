"""The entries of a catalogue that a search can find, by kind."""

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.items import Item
from search_mcp.catalog.skills import Skill
from search_mcp.model.names import Kind
from search_mcp.model.servers import Entry
from search_mcp.own_tools.wanted import SearchKind
from search_mcp.wire import payload
from search_mcp.wire.structs import Struct


class Resource(Struct, frozen=True):
    """One resource or resource template of a server."""

    server: str
    entry: Entry
    is_template: bool

    @property
    def uri(self) -> str:
        """Its URI, or its URI template."""
        return self.entry.key

    @property
    def name(self) -> str:
        return payload.string(self.entry.fields.get("name")) or ""

    @property
    def description(self) -> str:
        """Its title and description."""
        texts = (payload.string(self.entry.fields.get(key)) for key in ("title", "description"))
        return ". ".join(filter(None, texts))


Found: TypeAlias = Item | Skill | Resource
"""A tool or prompt, a skill, or a resource."""


class PromptArgument(NamedTuple):
    """One argument of a prompt."""

    name: str
    description: str
    is_required: bool


def prompt_arguments(prompt: Item) -> list[PromptArgument]:
    """Return the arguments of a prompt; those without a name are left out."""
    given = payload.value(prompt.fields["arguments"]) if "arguments" in prompt.fields else None
    found: list[PromptArgument] = []
    for each in given if isinstance(given, list) else ():
        if isinstance(each, dict) and isinstance(name := each.get("name"), str):
            about = each.get("description")
            is_required = each.get("required") is True
            found.append(PromptArgument(name, about if isinstance(about, str) else "", is_required))
    return found


def entries(catalog: Catalog, search_kind: SearchKind) -> Iterator[Found]:
    """Give the entries of a catalogue that are searched, in its order, tools before skills."""
    if search_kind == "prompts":
        yield from catalog.prompts()
    elif search_kind == "resources":
        for kind in (Kind.RESOURCES, Kind.TEMPLATES):
            for server, entry in catalog.by_uri(kind).values():
                yield Resource(server, entry, kind is Kind.TEMPLATES)
    else:
        if search_kind == "tools":
            yield from (item for item in catalog.tools() if item.is_for_models)
        yield from catalog.skills()


def resource(catalog: Catalog, before: Resource) -> Resource | None:
    """Return the resource that has the URI of an earlier one now."""
    kind = Kind.TEMPLATES if before.is_template else Kind.RESOURCES
    found = catalog.by_uri(kind).get(before.uri)
    return Resource(*found, before.is_template) if found is not None else None


def key_of(found: Found) -> str:
    """Return the name of an entry in the index of its kind; the first word keeps skills and templates apart."""
    if isinstance(found, Item):
        return found.name
    if isinstance(found, Skill):
        return f"skill {found.uri}"
    return f"template {found.uri}" if found.is_template else found.uri
