"""Lists and definitions as shown to a client, by its profile."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from search_mcp.catalog import schemas
from search_mcp.catalog.brief import brief, with_parameters
from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.items import Item
from search_mcp.catalog.profiles import Audience
from search_mcp.catalog.repair import OPEN_SCHEMA
from search_mcp.catalog.shown_names import ShownNames, Spellings
from search_mcp.model.names import Kind
from search_mcp.wire import payload, structs
from search_mcp.wire.payload import SMALL_BYTES
from search_mcp.wire.structs import Fields, Raw


def tool_list(spellings: Spellings, audience: Audience, own: Iterable[Fields], description_length: int) -> Raw:
    """Write the tools for a client, then search-mcp's own: a JSON array."""
    names = spellings.of(Kind.TOOLS, audience.profile)
    mode = audience.profile.listing

    def define(item: Item, name: str) -> Fields:
        if mode == "full" or item.pinned:
            return _shortenable(item, full_definition(item, name, audience))
        if name == names[item]:  # as nearly always; an app uses another one
            return kept_light_definition(item, names, description_length)
        return light_definition(item, name, description_length)

    shown = [item for item in spellings.catalog.tools() if mode != "search" or item.pinned]
    servers = {item.server for item in shown if item.is_of_app} if audience.shows_apps else set()
    if not servers:
        return payload.encode([*(define(item, names[item]) for item in shown), *own])
    return payload.encode(_with_apps(shown, servers, names, define, own))


def _with_apps(
    shown: Iterable[Item],
    servers: Collection[str],
    names: ShownNames,
    define: Callable[[Item, str], Fields],
    own: Iterable[Fields],
) -> list[Fields]:
    """Write the tools for a model, and the tools of these servers with the names that their apps use.

    "Host MUST reject `tools/call` requests from apps for tools that don't include "app" in visibility": it looks for
    the name in this list. "Tool is callable by the app from the same server connection only": search-mcp is one
    connection for all servers, so tools of servers without an app are listed for the model only.
    """
    for_apps = {name: item for name, item in names.for_apps() if item.server in servers}
    listed: dict[str, Fields] = {}
    for item in shown:
        name = names[item]
        if item.server not in servers and item.is_for_apps:
            listed[name] = _visible_to("model", define(item, name))
        elif item.is_for_models or for_apps.get(item.key) is not item:
            listed[name] = define(item, name)
    for name, item in for_apps.items():
        if name not in listed:
            listed[name] = _visible_to("app", define(item, name))
    return [*listed.values(), *(_visible_to("model", definition) for definition in own)]


def _visible_to(whom: str, definition: Fields) -> Fields:
    meta = payload.object_or_empty(definition.get("_meta"))
    app = {**payload.object_or_empty(meta.get("ui")), "visibility": payload.encode([whom])}
    return {**definition, "_meta": payload.encode({**meta, "ui": app})}


def _shortenable(item: Item, fields: Fields) -> Fields:
    """Leave out the output schema of a tool whose results are limited: a shortened result has no structured content.

    "Servers MUST provide structured results that conform to this schema", where one is declared.
    """
    return payload.without(fields, "outputSchema") if item.is_limited and not item.is_of_app else fields


def prompt_list(spellings: Spellings, audience: Audience) -> Raw:
    """Write the prompts for a client, renamed: a JSON array."""
    names = spellings.of(Kind.PROMPTS, audience.profile)
    prompts = spellings.catalog.prompts()
    return payload.encode([{**item.fields, "name": payload.encode(names[item])} for item in prompts])


def resource_list(catalog: Catalog, kind: Kind) -> Raw:
    """Write all resources or templates, unchanged: a JSON array."""
    return payload.encode([entry.fields for _, entry in catalog.by_uri(kind).values()])


def full_definition(item: Item, name: str, audience: Audience) -> Fields:
    """Return a tool as its backend defines it, renamed."""
    fields = {**item.fields, "name": payload.encode(name)}
    if audience.object_output_only and "outputSchema" in fields:
        # Legacy revisions know output schemas of objects only, and clients drop the list over another.
        output = payload.object_or_empty(fields["outputSchema"])
        if payload.string(output.get("type")) != "object":
            return payload.without(fields, "outputSchema")
    return fields


def compact_definition(item: Item, name: str, audience: Audience) -> Fields:
    """Return what a model needs to call a tool: name, full description, parameters and annotations."""
    full = full_definition(item, name, audience)
    fields: Fields = {key: full[key] for key in ("name", "description", "inputSchema", "annotations") if key in full}
    if "description" not in fields and item.description:
        fields["description"] = payload.encode(item.description)
    # A longer one would take too long to make compact; an empty one is nested too deeply.
    if len(fields.get("inputSchema", structs.EMPTY)) <= SMALL_BYTES and item.input_schema:
        fields["inputSchema"] = payload.encode(schemas.compact(item.input_schema))
    return fields


def light_definition(item: Item, name: str, description_length: int) -> Fields:
    """Return a tool in a few tokens: its name, a short description, and the names of its parameters.

    Clients ask for permission by `annotations`; `execution` says whether it can be called without a task; `_meta`,
    which no model sees, names its app.
    """
    about = with_parameters(brief(item.description, description_length), _schema(item))
    fields = {"name": payload.encode(name), "description": payload.encode(about)}
    fields["inputSchema"] = OPEN_SCHEMA
    for key in ("annotations", "execution", "_meta"):
        if key in item.fields:
            fields[key] = item.fields[key]
    return fields


def _schema(item: Item) -> Mapping[str, Any]:
    """Decode the schema of a tool, which is not kept: most tools of a list are never called."""
    raw = item.fields.get("inputSchema", structs.EMPTY)
    schema = payload.value(raw) if len(raw) <= SMALL_BYTES else None
    return schema if isinstance(schema, dict) else {}


def kept_light_definition(item: Item, names: ShownNames, description_length: int) -> Fields:
    """Return the same with the name that is shown; it is kept with the names."""
    kept = names.light_definitions.setdefault(description_length, {})
    if (known := kept.get(item.name)) is None:
        known = kept[item.name] = light_definition(item, names[item], description_length)
    return known
