"""What one client is shown of the catalogue: names as it takes them, definitions as short as it pays.

Decides spelling, brevity and who is said to call what, never what exists or who owns it. Pure.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from typing import Any

from search_mcp import schemas
from search_mcp.catalog import OWN_NAMES, Catalog, Item, NamedItems, fold, stable_suffix, without_separators
from search_mcp.definitions import OPEN_SCHEMA
from search_mcp.model.names import Kind
from search_mcp.model.visible import one_line, quoted
from search_mcp.profiles import Audience, Profile, without_registration
from search_mcp.suggest import nearest
from search_mcp.wire import payload, structs
from search_mcp.wire.structs import Fields, Raw, Struct, field

LONGEST_BEFORE = 1_000
"""Characters of white space that a description may begin with."""
MOST_ENDS = 10
"""Ends of sentences that are looked at: a sentence holds no more abbreviations."""
LONGEST_ABBREVIATION = 12
MOST_SUGGESTIONS = 5
LARGEST_COMPACTED = 1 << 18
"""Bytes of a schema that is shortened for a model; a longer one is given as it is."""
REQUIRED_LENGTH = 100
"""Characters of required parameters' names behind a brief description."""
LONGEST_PARAMETER = 64
"""Characters of a parameter's name or of a literal that are written out."""
SIGNATURE_NODES = 300
"""Parts of a schema that are written out: schemas that hold themselves have no end."""
SIGNATURE_LENGTH = 300
"""Characters of a signature; what does not fit is said to be left out."""
_DEEPEST = 2
"""Nested objects are spelled out this far; further down they are `object`."""
_DEEPEST_OF_ALL = 5
"""Lists and choices are followed this far: many schemas hold themselves."""
_SHORTER_AND_SHORTER = ((0, 20), (0, 6), (1, 6), (2, 6))
"""Level that parameters are taken to have, and choices that are written: what is shortened before one is left out."""
_FORMATS = frozenset({"date", "date-time", "duration", "email", "hostname", "regex", "time", "uri", "uuid"})
"""Formats of strings that are written, as in `string<date-time>`."""
_MOST_READ = 1000
"""Properties and required names of one object that are looked at: the same object may be referred to many times."""
_MOST_WRITTEN = 100
"""Properties of one object that are written; more do not fit into a signature."""


class ShownNames:
    """How one profile spells some items, and what a client means by a name."""

    def __init__(self, items: NamedItems, profile: Profile) -> None:
        self._shown: dict[str, str] = {}
        self._by_shown: dict[str, Item] = {}
        self._items, self._profile = items, profile
        self._folded = folded = set(map(fold, OWN_NAMES))
        canonical = {item.name: item for item in items}  # good for every client, so no other may be shown so
        for item in items:
            name = whole = shown_name(item, profile)
            if not self._is_own(item, whole):
                name = whole = _unmistakable(whole, profile.max_length, item)
            attempt = 0
            while (spelling := fold(name)) in folded or canonical.get(name, item) is not item:
                name = _shortened(whole, profile.max_length, item, attempt)
                attempt += 1
            folded.add(spelling)
            self._shown[item.name] = name
            self._by_shown[name] = item

    def _is_own(self, item: Item, name: str) -> bool:
        """Whether a client that is shown this name cannot take it for one of another server."""
        return self._items.admits(item, name)

    def __getitem__(self, item: Item) -> str:
        return self._shown[item.name]

    def names(self) -> Iterable[str]:
        """Every name that a model is shown, in order."""
        return [name for name, item in self._by_shown.items() if item.is_for_models]

    def spelled(self, name: str) -> Item | None:
        """Look up a full name: as it is shown, or by any other spelling."""
        return self._by_shown.get(name) or self._items.find(name)

    def find(self, name: str) -> Item | None:
        """Look up a full name, else a bare one that only one server has; with a client's prefix for us or without."""
        item = self.spelled(name) or self.bare(name)
        rest = without_registration(name) if item is None and not self._items.carries_prefix(name) else None
        return item if rest is None else self.spelled(rest) or self.bare(rest)

    def bare(self, name: str) -> Item | None:
        """Look up a name without a prefix; it means something only if one server has it."""
        return self._items.find_bare(name)

    def near(self, name: str, others: Iterable[str] = ()) -> list[str]:
        """Suggest names for one that is not found: those that a bare name could mean, then those most like it."""
        sharing = [self[item] for item in self._items.sharing(name) if item.is_for_models]
        return list(dict.fromkeys([*sharing, *nearest(name, [*self.names(), *others])]))[:MOST_SUGGESTIONS]

    def for_apps(self) -> Iterator[tuple[str, Item]]:
        """Give the tools that apps may call by the names they know, where the client takes such a name.

        What means another tool to a model, however it is folded, means that to an app as well.
        """
        folded = set(self._folded)
        for name, item in self._items.for_apps.items():
            if self._profile.shown_name("", name) != name or len(name) > self._profile.max_length:
                continue
            meant = self.spelled(name)
            if meant is item or (meant is None and fold(name) not in folded):
                folded.add(fold(name))
                yield name, item


class Spellings:
    """The names of one catalogue as every profile spells them, made again when it changes."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._made: dict[tuple[Kind, Profile], tuple[int, ShownNames]] = {}

    def of(self, kind: Kind, profile: Profile) -> ShownNames:
        """Give the names of the tools or prompts there are now."""
        version, names = self._made.get((kind, profile), (-1, None))
        if names is None or version != self.catalog.version:
            names = ShownNames(self.catalog.named(kind), profile)
            self._made[kind, profile] = self.catalog.version, names
        return names


def shown_name(item: Item, profile: Profile) -> str:
    """Spell an item's name for a client; over the client's limit, a readable head and a hash tail."""
    name = profile.shown_name(item.prefix, item.own)
    return name if len(name) <= profile.max_length else _shortened(name, profile.max_length, item)


def _unmistakable(name: str, limit: int, item: Item) -> str:
    """Spell a name so that it begins with no server's prefix, however it is folded."""
    return f"x{stable_suffix(item.server, item.key)}_{without_separators(name)}"[:limit].rstrip("_")


def _shortened(name: str, limit: int, item: Item, attempt: int = 0) -> str:
    tail = "_" + stable_suffix(item.server, item.key, *([str(attempt)] if attempt else []))
    return name[: limit - len(tail)].rstrip("_.-") + tail


def tool_list(spellings: Spellings, audience: Audience, own: Iterable[Fields], description_length: int) -> Raw:
    """Write the tools a client is shown, then our own: a JSON array."""
    names = spellings.of(Kind.TOOLS, audience.profile)
    mode = audience.profile.listing

    def define(item: Item, name: str) -> Fields:
        if mode == "full" or item.pinned:
            return full_definition(item, name, audience)
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
    """Write the tools that are shown to a model, and those of these servers by the names that their apps know.

    "Host MUST reject `tools/call` requests from apps for tools that don't include "app" in visibility": it looks for
    the name in this list. "Tool is callable by the app from the same server connection only": we are one connection
    for all servers, so whatever is of a server without an app is left to the model.
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


def prompt_list(spellings: Spellings, audience: Audience) -> Raw:
    """Write the prompts a client is shown, renamed: a JSON array."""
    names = spellings.of(Kind.PROMPTS, audience.profile)
    prompts = spellings.catalog.prompts()
    return payload.encode([{**item.fields, "name": payload.encode(names[item])} for item in prompts])


def resource_list(catalog: Catalog, kind: Kind) -> Raw:
    """Write the resources or templates there are, unchanged: a JSON array."""
    return payload.encode([entry.fields for _, entry in catalog.by_uri(kind).values()])


def full_definition(item: Item, name: str, audience: Audience) -> Fields:
    """A tool as its backend defines it, only renamed."""
    fields = {**item.fields, "name": payload.encode(name)}
    if audience.object_output_only and "outputSchema" in fields:
        # Legacy revisions know output schemas of objects only, and clients drop the list over another.
        output = payload.object_or_empty(fields["outputSchema"])
        if payload.string(output.get("type")) != "object":
            return payload.without(fields, "outputSchema")
    return fields


def compact_definition(item: Item, name: str, audience: Audience) -> Fields:
    """Write what helps a model to call a tool: name, whole description, parameters and annotations."""
    full = full_definition(item, name, audience)
    fields: Fields = {key: full[key] for key in ("name", "description", "inputSchema", "annotations") if key in full}
    if "description" not in fields and item.description:
        fields["description"] = payload.encode(item.description)
    # One that is longer would take too long to shorten; an empty one is nested too deeply to be read.
    if len(memoryview(fields.get("inputSchema", structs.EMPTY))) <= LARGEST_COMPACTED and item.input_schema:
        fields["inputSchema"] = payload.encode(schemas.compact(item.input_schema))
    return fields


def light_definition(item: Item, name: str, description_length: int) -> Fields:
    """Write a tool in a few tokens: its name, what it is for, and the names of its required parameters.

    Clients gate on `annotations`, `execution` says whether it can be called without a task, and `_meta`, which
    no model is shown, names its app. Worked out once for each item.
    """
    known: tuple[str, int, Fields] = item.__dict__.get("light_definition", ("", -1, {}))
    if known[:2] == (name, description_length):
        return known[2]
    about = with_required(brief(item.description, description_length), item.fields.get("inputSchema"))
    fields = {"name": payload.encode(name), "description": payload.encode(about)}
    fields["inputSchema"] = OPEN_SCHEMA
    for key in ("annotations", "execution", "_meta"):
        if key in item.fields:
            fields[key] = item.fields[key]
    item.__dict__["light_definition"] = name, description_length, fields
    return fields


_compiled = cache(re.compile)  # for the first list, which comes after the start
_SENTENCE_END = "|".join(  # where each begins with one character, all are looked for at once
    ("。", "！", "？", "｡", *(rf"\{end}(?=[\s\"')\]]|$)" for end in ".!?"), r"\n\s*\n")
)
_ABBREVIATION = r"(?i)(?:\b(?:e\.g|i\.e|etc|vs|approx|incl|no|cf|resp|max|min)|\b[A-Z])\.$"
_PLAIN_NAME = r"[\w$@.-]+"
_SPACELESS = (("\u3040", "\u30ff"), ("\u3400", "\u9fff"), ("\uf900", "\ufaff"))  # Korean has spaces


def brief(description: str, limit: int) -> str:
    """Cut a description down to its first sentence or so, never inside a word."""
    text = description[: LONGEST_BEFORE + 4 * limit].strip()[: 4 * limit]
    for end in islice(_compiled(_SENTENCE_END).finditer(text), MOST_ENDS):
        before = max(0, end.end() - LONGEST_ABBREVIATION)
        if not _compiled(_ABBREVIATION).search(text, before, end.end()):
            text = text[: end.end()]
            break
    text = one_line(text)
    if len(text) <= limit:
        return text
    cut = limit - 1
    while cut > 0 and _is_inside_word(text, cut):
        cut -= 1
    return text[: cut or limit - 1].rstrip(" ,;:") + "…"


class _Requirement(Struct):
    """The part of a schema that the light list shows; the rest is skipped without being decoded."""

    required: list[Any] = field(default_factory=list)


def with_required(description: str, schema: Raw | None) -> str:
    """Append the names of the required parameters, as in `Edit a file (path, edits)`."""
    try:
        required = payload.typed(schema, _Requirement).required if schema is not None else []
    except ValueError:
        return description
    names = [each for each in required if isinstance(each, str)]
    if not names:
        return description
    written: list[str] = []
    for name in names:
        written.append(_parameter(name))
        if sum(map(len, written)) > REQUIRED_LENGTH and len(written) > 1:
            written[-1:] = [f"… {len(names) - len(written) + 1} more"]
            break
    if description.endswith((".", "。", "｡")) and not _compiled(_ABBREVIATION).search(
        description[-LONGEST_ABBREVIATION:]
    ):
        description = description[:-1]
    return f"{description} ({', '.join(written)})".lstrip()


def _parameter(name: str) -> str:
    """Write a parameter's name: quoted unless it is a plain word, because a server may choose any text."""
    return (
        name
        if len(name) <= LONGEST_PARAMETER and _compiled(_PLAIN_NAME).fullmatch(name)
        else quoted(name, LONGEST_PARAMETER)
    )


def _is_inside_word(text: str, position: int) -> bool:
    before, after = text[position - 1], text[position]
    return not any(
        each.isspace() or any(first <= each <= last for first, last in _SPACELESS) for each in (before, after)
    )


def signature(name: str, schema: Mapping[str, Any], limit: int = SIGNATURE_LENGTH) -> str:
    """Write a tool as `read_text_file(path: string, head?: number)`: required first, then optional."""
    for level, choices in _SHORTER_AND_SHORTER:
        parts = _Signature(schema, choices).parameters(schema, level)
        written = f"{name}({', '.join(parts)})"
        if len(written) <= limit:
            return written
    total = len(schema["properties"])
    room = limit - len(f"{name}(… {total} more)")
    shown: list[str] = []
    for part in parts[:total]:
        room -= len(part) + len(", ")
        if room < 0:
            break
        shown.append(part)
    return f"{name}({', '.join([*shown, f'… {total - len(shown)} more'])})" if total else written


class _Signature:
    """One schema being written out, within bounds of depth and of size."""

    def __init__(self, root: Mapping[str, Any], most_choices: int) -> None:
        self._root, self._most_choices = root, most_choices
        self._nodes_left = SIGNATURE_NODES

    def parameters(self, schema: Mapping[str, Any], depth: int) -> list[str]:
        """Write an object schema's properties, required ones first."""
        properties = schema.get("properties")
        if not isinstance(properties, dict):
            return []
        required = schema.get("required")
        some = required[:_MOST_READ] if isinstance(required, list) else []
        wanted = {each for each in some if isinstance(each, str)}
        ordered = sorted(islice(properties, _MOST_READ), key=lambda key: key not in wanted)[:_MOST_WRITTEN]
        written = [
            f"{_parameter(key)}{'' if key in wanted else '?'}: {self._type(properties[key], depth)}" for key in ordered
        ]
        more = len(properties) - len(ordered)
        return [*written, f"… {more} more"] if more else written

    def _type(self, schema: Any, depth: int) -> str:
        self._nodes_left -= 1
        if not isinstance(schema, dict) or depth > _DEEPEST_OF_ALL or self._nodes_left < 0:
            return "any"
        schema = _resolved(schema, self._root)
        choices = self._choices(schema, depth)
        if choices:
            more = ["…"] if len(choices) > self._most_choices else []
            return "|".join([*choices[: self._most_choices], *more])
        kind = _type_name(schema.get("type", "object" if "properties" in schema else None))
        if kind == "array":
            inner = self._type(schema.get("items"), depth + 1)
            return f"({inner})[]" if "|" in inner else f"{inner}[]"
        if (
            kind == "object"
            and depth < _DEEPEST
            and isinstance(schema.get("properties"), dict)
            and schema["properties"]
        ):
            return "{" + ", ".join(self.parameters(schema, depth + 1)) + "}"
        form = schema.get("format") if kind == "string" else None
        return f"string<{form}>" if isinstance(form, str) and form in _FORMATS else kind

    def _choices(self, schema: Mapping[str, Any], depth: int) -> list[str]:
        """The alternatives a schema spells out, if it does; one more than are shown says that there are more."""
        if "const" in schema:
            return [_literal(schema["const"])]
        for keyword, write in (("enum", _literal), ("anyOf", None), ("oneOf", None), ("type", _type_name)):
            values = schema.get(keyword)
            if isinstance(values, list):
                some = values[: self._most_choices + 1]
                return list(dict.fromkeys(write(each) if write else self._type(each, depth + 1) for each in some))
        return []


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow references into the schema itself; one that leads nowhere, or in a circle, may mean anything."""
    for _ in range(_DEEPEST_OF_ALL):
        if "$ref" not in schema:
            return schema
        target = schemas.referenced(schema["$ref"], root)
        schema = target if isinstance(target, dict) else {}
    return {}


def _type_name(kind: object) -> str:
    return kind if isinstance(kind, str) and kind in schemas.TYPES else "any"


def _literal(value: object) -> str:
    if isinstance(value, str):
        return quoted(value, LONGEST_PARAMETER)
    written = bytes(payload.encode(value)).decode()
    return (
        written if len(written) <= LONGEST_PARAMETER and written.isprintable() else quoted(written, LONGEST_PARAMETER)
    )
