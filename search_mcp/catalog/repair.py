"""Repair of malformed definitions: a single malformed definition makes most clients drop the whole list.

Members of the wrong type are removed or replaced; a definition that cannot be repaired is left out. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from search_mcp.catalog.skill_uris import directory_of
from search_mcp.model.names import Kind
from search_mcp.model.sentences import enumerated
from search_mcp.model.servers import Entry
from search_mcp.wire import payload, structs
from search_mcp.wire.structs import Fields, Raw, Struct, field

OPEN_SCHEMA: Final = Raw(b'{"type":"object","properties":{},"additionalProperties":true}')
"""A schema for any arguments. OpenAI refuses object schemas without `properties`, and models send only `{}` without
`additionalProperties`."""
LEFT_OUT: Final = "left out: its inputSchema is of a type other than object, which makes clients drop the whole list"
NO_SKILL_FILE: Final = "left out: its uri is not of the form <scheme>://<path>/SKILL.md"
# "The resource for the skill's required `SKILL.md` is therefore always addressable as `skill://<skill-path>/SKILL.md`."
NO_FRONTMATTER: Final = (
    "left out: its frontmatter needs a name and a description, both strings; clients cannot show it without them"
)
# "`name` and `description` are always present"
NO_MANIFEST: Final = 'left out: its resources are neither "dynamic" nor a list of files with uri, digest and size'
# "An entry with no `resources` at all, or with any value other than an array or `"dynamic"`, is invalid"
_UNUSABLE: Final = frozenset({LEFT_OUT, NO_SKILL_FILE, NO_FRONTMATTER, NO_MANIFEST})

Shape: TypeAlias = "bytes | Mapping[str, Shape]"
_TEXT, _OBJECT, _LIST, _TRUTH, _NUMBER = b'"', b"{", b"[", b"tf", b"-0123456789"
_SHAPES: Final[Mapping[str, Shape]] = {
    "name": _TEXT,
    "title": _TEXT,
    "description": _TEXT,
    "uri": _TEXT,
    "uriTemplate": _TEXT,
    "mimeType": _TEXT,
    "size": _NUMBER,
    "inputSchema": _OBJECT,
    "outputSchema": {"properties": _OBJECT},
    "annotations": {
        "title": _TEXT,
        "readOnlyHint": _TRUTH,
        "destructiveHint": _TRUTH,
        "idempotentHint": _TRUTH,
        "openWorldHint": _TRUTH,
        "audience": _LIST,
        "priority": _NUMBER,
        "lastModified": _TEXT,
    },
    "execution": {"taskSupport": _TEXT},
    "_meta": _OBJECT,
    "icons": _LIST,
    "arguments": _LIST,
}
"""The first bytes of a valid value for each key; for an object, its members."""
_TASK_SUPPORT: Final = ("required", "optional", "forbidden")


def declares_read_only(fields: Fields) -> bool:
    """Return whether a tool is declared read-only; the default is that it is not."""
    # "`readOnlyHint`: If true, the tool does not modify its environment. Default: false"
    annotations = payload.object_or_empty(fields.get("annotations"))
    return "readOnlyHint" in annotations and payload.value(annotations["readOnlyHint"]) is True


def repaired(kind: Kind, entry: Entry) -> tuple[Fields, tuple[str, ...]]:
    """Repair a definition; the result is cached in the entry.

    Returns the fields and a remark for each repair; `is_left_out` tells from the remarks if it cannot be repaired.
    """
    known: tuple[Fields, tuple[str, ...]] | None = entry.__dict__.get("repaired")
    if known is None:
        known = entry.__dict__["repaired"] = _repaired(kind, entry)
    return known


def is_left_out(remarks: Sequence[str]) -> bool:
    """Return whether a definition with these remarks could not be repaired."""
    return bool(remarks) and not _UNUSABLE.isdisjoint(remarks)


def _repaired(kind: Kind, entry: Entry) -> tuple[Fields, tuple[str, ...]]:
    if kind is Kind.SKILLS:
        return entry.fields, tuple(_faults_of_skill(entry))
    remarks: list[str] = []
    fields = _fitted(entry.fields, _SHAPES, "its ", remarks)
    for key, member in (("icons", "src"), ("arguments", "name")):
        if key in fields and not _all_have(member, fields[key]):
            fields = _without(fields, key, f"has an entry without {member}", remarks)
    if "execution" in fields and _task_support(fields["execution"]) not in (None, *_TASK_SUPPORT):
        fields = _without(fields, "execution", "has an unknown taskSupport", remarks)
    if kind is Kind.TOOLS:
        fields = _with_object_schema(fields, remarks)
    elif kind in (Kind.RESOURCES, Kind.TEMPLATES) and "name" not in fields:
        fields = {**fields, "name": payload.encode(entry.key)}
        remarks.append("it has no name; its URI stands in")
    return fields, tuple(remarks)


class _Frontmatter(Struct):
    """The part of a skill's frontmatter that every skill has."""

    name: str
    description: str


class _SkillFile(Struct):
    """A file in the manifest of a skill."""

    uri: str
    digest: str
    size: int | float


def _faults_of_skill(entry: Entry) -> Iterator[str]:
    """Yield the reasons for which clients would refuse a skill. Nothing of it is repaired: clients compare digests."""
    if directory_of(entry.key) is None:
        yield NO_SKILL_FILE
    if not payload.fits(entry.fields.get("frontmatter"), _Frontmatter):
        yield NO_FRONTMATTER
    files = entry.fields.get("resources")
    if payload.string(files) != "dynamic" and not payload.fits(files, list[_SkillFile]):
        yield NO_MANIFEST


def _fitted(fields: Fields, shapes: Mapping[str, Shape], where: str, remarks: list[str]) -> Fields:
    """Remove members of the wrong type; the others keep their bytes."""
    fitted = fields
    for key, raw in fields.items():
        shape = shapes.get(key)
        if shape is None:
            continue
        first = memoryview(raw)[0]
        if first not in (shape if isinstance(shape, bytes) else _OBJECT):
            fitted = payload.without(fitted, key)
            remarks.append(f"{where}{key} has the wrong type and is left out")
        elif not isinstance(shape, bytes):
            inside = payload.members(raw, *shape)  # passes if it is nested too deeply to be decoded
            inside_fitted = _fitted(inside, shape, f"{where}{key}.", remarks)
            if inside_fitted is not inside:
                whole = payload.object_or_empty(raw)
                kept = payload.without(whole, *(inside.keys() - inside_fitted.keys()))
                fitted = {**fitted, key: payload.encode(kept)}
    return fitted


def _without(fields: Fields, key: str, why: str, remarks: list[str]) -> Fields:
    remarks.append(f"its {key} {why} and is left out")
    return payload.without(fields, key)


def _all_have(member: str, raw: Raw) -> bool:
    try:
        return all(_has_text(item, member) for item in payload.items(raw))
    except ValueError:  # nested too deeply
        return False


def _has_text(raw: Raw, key: str) -> bool:
    return payload.string(payload.members(raw, key).get(key)) is not None


def _task_support(execution: Raw) -> str | None:
    return payload.string(payload.members(execution, "taskSupport").get("taskSupport"))


class _SoundSchema(Struct):
    """The part of a schema that shows that it needs no repair, as for most."""

    type: Literal["object"]
    properties: dict[str, Fields] = field(default_factory=dict)
    required: list[Raw] = field(default_factory=list)


def _with_object_schema(fields: Fields, remarks: list[str]) -> Fields:
    if payload.fits(fields.get("inputSchema"), _SoundSchema):
        return fields
    schema = payload.object_or_empty(fields.get("inputSchema"))
    if not schema:
        remarks.append("it has no inputSchema; any arguments are let through")
        return {**fields, "inputSchema": OPEN_SCHEMA}
    mended = schema
    if "type" not in schema:
        remarks.append('its inputSchema has no type; "object" is filled in')
        mended = {"type": payload.encode("object"), **schema}
    elif payload.string(schema["type"]) != "object":
        remarks.append(LEFT_OUT)
        return fields
    mended = _fitted(mended, {"properties": _OBJECT, "required": _LIST}, "its inputSchema.", remarks)
    properties = payload.object_or_empty(mended.get("properties"))
    vague = {key: None for key, raw in properties.items() if memoryview(raw)[0] != ord("{")}
    if vague:
        # `true` is a valid schema with the same meaning, but clients do not support it.
        remarks.append(f"its inputSchema.properties {enumerated(vague)} are no objects; anything is let through there")
        properties = {key: structs.EMPTY if key in vague else raw for key, raw in properties.items()}
        mended = {**mended, "properties": payload.encode(properties)}
    return fields if mended is schema else {**fields, "inputSchema": payload.encode(mended)}
