"""A tool's input schema written as a signature, such as `read_file(path: string, head?: number<lines> = 10)`."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import islice
from typing import Any, Final, Literal, TypeAlias

from search_mcp.catalog import schemas
from search_mcp.catalog.parameter_notes import EXAMPLE, LONGEST_NOTE, notes_in_text, number_note, text_note
from search_mcp.model.sentences import LONGEST_NAME
from search_mcp.model.visible import quoted
from search_mcp.wire import payload
from search_mcp.wire.structs import Struct, replace

SIGNATURE_NODES = 300
"""Most parts of a schema that are written, because recursive schemas are infinite."""
SIGNATURE_LENGTH = 300
"""Most characters of a signature; it says if parts are left out."""
_DEEPEST = 2
"""Levels of nested objects that are written in full; deeper ones are `object`."""
_DEEPEST_OF_ALL = 5
"""Levels of lists and choices that are followed, because many schemas are recursive."""
_Noted: TypeAlias = Literal["all", "required", "none"]
_DETAIL_LEVELS: Final[Sequence[tuple[int, int, _Noted]]] = (
    (0, 20, "all"),
    (0, 20, "required"),
    (0, 20, "none"),
    (0, 6, "all"),
    (0, 6, "required"),
    (0, 6, "none"),
    (1, 6, "none"),
    (2, 6, "none"),
)
"""Level of nesting at which parameters begin, most choices, and the parameters that have notes and defaults; tried in
turn until the signature is short enough."""
_FORMATS = frozenset({"date", "date-time", "duration", "email", "hostname", "regex", "time", "uri", "uuid"})
"""String formats that are written, as in `string<date-time>`."""
_MOST_READ = 1000
"""Most properties and required names of one object that are read, because references may repeat it."""
_MOST_NOTES = 20
"""Most notes of one signature; more do not fit into it."""
_LARGEST_LIMIT = 1 << 31
"""A larger limit of a number is only that of its type."""
_NULLS = ("null", {"type": "null"})
_MOST_WRITTEN = 100
"""Most properties of one object that are written; more do not fit into a signature."""


def parameter(name: str) -> str:
    """Write a parameter's name, quoted unless it is a plain word, because a server may choose any text."""
    return name if len(name) <= LONGEST_NAME and _plain_name().fullmatch(name) else quoted(name)


@cache
def _plain_name() -> re.Pattern[str]:
    return re.compile(r"[\w$@.-]+")


def signature(name: str, schema: Mapping[str, Any], limit: int = SIGNATURE_LENGTH, description: str = "") -> str:
    """Write a tool as `read_text_file(path: string, head?: number<lines> = 10)`: required first, then optional.

    The tool's description is read for what it says of the values of parameters.
    """
    notes = _Notes(schema, description)
    for level, choices, noted in _DETAIL_LEVELS:
        parts = _Signature(schema, choices, notes, noted).parameters(schema, level)
        shown, is_whole = _within(parts, limit - len(f"{name}()"))
        if is_whole:
            return f"{name}({', '.join(shown)})"
    total = len(schema["properties"])
    shown, _ = _within(shown, limit - len(f"{name}(, … {total} more)"))
    return f"{name}({', '.join([*shown, f'… {total - len(shown)} more'])})"


def _within(parts: Iterable[str], room: int) -> tuple[list[str], bool]:
    """Take parts while they fit with the commas between them; return them, and whether they are all."""
    shown: list[str] = []
    for part in parts:
        room -= len(part) + (len(", ") if shown else 0)
        if room < 0:
            return shown, False
        shown.append(part)
    return shown, True


def type_of(schema: Any, root: Mapping[str, Any]) -> str:
    """Write the type of one value as in a signature; only `array` or `object` if that is longer."""
    written = _Signature(root, 6, _Notes(root, "")).type_of(schema)
    if len(written) <= LONGEST_NAME:
        return written
    kind = schema.get("type") if isinstance(schema, dict) else None
    return kind if isinstance(kind, str) and kind in schemas.TYPES else "another value"


class _About(Struct, frozen=True):
    """The name and the description of a parameter."""

    name: str = ""
    text: str = ""
    is_noted: bool = False
    """Whether a note about its values may be written."""
    is_optional: bool = False


_NOTHING = _About()


class _Notes:
    """Notes about values, each made once however often the signature is tried."""

    def __init__(self, schema: Mapping[str, Any], description: str) -> None:
        self._schema, self._description = schema, description
        self._made: dict[tuple[str, str, str], str] = {}

    @cached_property
    def said(self) -> Mapping[str, str]:
        """What the tool's description says of parameters that have none, by their names."""
        properties = self._schema["properties"]
        bare = [key for key in islice(properties, _MOST_READ) if not _description(properties[key])]
        return notes_in_text(self._description, bare)

    def make(self, kind: str, about: _About) -> str:
        """Write a note about a value of this type; empty if too many were made."""
        key = kind, about.name, about.text
        if key not in self._made:
            if len(self._made) >= _MOST_NOTES:
                return ""
            self._made[key] = text_note(about.text) if kind == "string" else number_note(about.name, about.text)
        return self._made[key]


class _Signature:
    """The writing of one schema, with bounds on depth and size."""

    def __init__(self, root: Mapping[str, Any], most_choices: int, notes: _Notes, noted: _Noted = "none") -> None:
        self._root, self._most_choices, self._notes, self._noted = root, most_choices, notes, noted
        self._nodes_left = SIGNATURE_NODES

    def parameters(self, schema: Mapping[str, Any], depth: int) -> Iterator[str]:
        """Write an object schema's properties one by one, required ones first."""
        properties = schema.get("properties")
        if not isinstance(properties, dict):
            return
        required = schema.get("required")
        some = required[:_MOST_READ] if isinstance(required, list) else []
        wanted = {each for each in some if isinstance(each, str)}
        ordered = sorted(islice(properties, _MOST_READ), key=lambda key: key not in wanted)[:_MOST_WRITTEN]
        for key in ordered:
            write = self._required if key in wanted else self._optional
            yield write(key, properties[key], depth)
        if more := len(properties) - len(ordered):
            yield f"… {more} more"

    def type_of(self, schema: Any) -> str:
        return self._type(schema, 0)

    def _required(self, key: str, schema: Any, depth: int) -> str:
        about = self._about(key, schema, depth) if self._noted != "none" else _NOTHING
        return f"{parameter(key)}: {self._type(schema, depth, about)}"

    def _optional(self, key: str, schema: Any, depth: int) -> str:
        is_noted = self._noted == "all"
        about = replace(self._about(key, schema, depth), is_optional=True) if is_noted else _NOTHING
        written = self._type(_without_null(schema), depth, about)
        return f"{parameter(key)}?: {written}{_default(schema) if is_noted else ''}"

    def _about(self, key: str, schema: Any, depth: int) -> _About:
        text = _description(schema)
        return _About(key, text or (self._notes.said.get(key, "") if depth == 0 else ""), is_noted=True)

    def _type(self, schema: Any, depth: int, about: _About = _NOTHING) -> str:
        self._nodes_left -= 1
        if not isinstance(schema, dict) or depth > _DEEPEST_OF_ALL or self._nodes_left < 0:
            return "any"
        schema = resolved(schema, self._root)
        choices = self._choices(schema, depth, about)
        if choices:
            more = ["…"] if len(choices) > self._most_choices else []
            return "|".join([*choices[: self._most_choices], *more])
        kind = _type_name(schema.get("type", "object" if "properties" in schema else None))
        if kind == "array":
            return self._array(schema, depth)
        if kind == "object":
            return self._object(schema, depth)
        detail = self._detail(kind, schema, about)
        return f"{kind}<{detail}>" if detail else kind

    def _array(self, schema: Mapping[str, Any], depth: int) -> str:
        members = schema.get("prefixItems")
        if isinstance(members, list) and 0 < len(members) <= self._most_choices:
            return f"[{', '.join(self._type(each, depth + 1) for each in members)}]"
        inner = self._type(schema.get("items"), depth + 1)
        return f"({inner})[]" if "|" in inner else f"{inner}[]"

    def _object(self, schema: Mapping[str, Any], depth: int) -> str:
        if depth >= _DEEPEST:
            return "object"
        properties, others = schema.get("properties"), schema.get("additionalProperties")
        if isinstance(properties, dict) and properties:
            return "{" + ", ".join(self.parameters(schema, depth + 1)) + "}"
        return f"Record<string, {self._type(others, depth + 1)}>" if isinstance(others, dict) and others else "object"

    def _detail(self, kind: str, schema: Mapping[str, Any], about: _About) -> str:
        """Write what is known of the values of a type: a format, a range, a unit, or an example."""
        form = schema.get("format") if kind == "string" else None
        if isinstance(form, str) and form in _FORMATS:
            return form
        if not about.is_noted or kind not in ("string", "number", "integer"):
            return ""
        note = self._notes.make(kind, about if about.text else replace(about, text=_description(schema)))
        if about.is_optional and note.startswith(EXAMPLE):  # it can be left out
            return ""
        limits = "" if kind == "string" or note.endswith("-based") else _range(schema)
        return " ".join(filter(None, (limits, note)))

    def _choices(self, schema: Mapping[str, Any], depth: int, about: _About) -> list[str]:
        """Return the alternatives of a schema, if it has any; one more than are shown if there are more."""
        if "const" in schema:
            return [_literal(schema["const"])]
        for keyword, write in (("enum", _literal), ("anyOf", None), ("oneOf", None), ("type", _type_name)):
            values = schema.get(keyword)
            if isinstance(values, list):
                some = values[: self._most_choices + 1]
                # The description is about the only choice beside null, not about each of several.
                is_sole = write is None and sum(each not in _NULLS for each in some) == 1
                of_each = about if is_sole else _NOTHING
                return list(
                    dict.fromkeys(write(each) if write else self._type(each, depth + 1, of_each) for each in some)
                )
        return []


def _description(schema: Any) -> str:
    description = schema.get("description") if isinstance(schema, dict) else None
    return description if isinstance(description, str) else ""


def _default(schema: Any) -> str:
    """Write the default of an optional parameter, unless it is the usual one: nothing, or false."""
    value = schema.get("default") if isinstance(schema, dict) else None
    if value is False or value == "" or not isinstance(value, str | int | float):
        return ""
    written = _literal(value)
    return f" = {written}" if len(written) <= LONGEST_NOTE else ""


def _range(schema: Mapping[str, Any]) -> str:
    least, most = (_bound(schema.get(key)) for key in ("minimum", "maximum"))
    if least and most:
        return f"{least}..{most}"
    return f"max {most}" if most else f"min {least}" if least not in ("", "0") else ""


def _bound(value: object) -> str:
    """Write a limit of a number; empty if there is none, or it is only that of the type."""
    if not isinstance(value, int | float) or isinstance(value, bool) or abs(value) >= _LARGEST_LIMIT:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _without_null(schema: Any) -> Any:
    """Return an optional parameter's schema without null where null is its default: it means to leave it out."""
    if not isinstance(schema, dict) or "default" not in schema or schema["default"] is not None:
        return schema
    for keyword in ("anyOf", "oneOf", "type"):
        choices = schema.get(keyword)
        if isinstance(choices, list) and len(choices) <= _MOST_WRITTEN:
            kept = [each for each in choices if each not in _NULLS]
            if len(kept) != 1:
                return {**schema, keyword: kept} if kept else schema
            (only,) = kept
            rest = {key: value for key, value in schema.items() if key != keyword}
            return {**only, **rest} if isinstance(only, dict) else {**rest, "type": only}
    return schema


def resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow references within the schema; an invalid or circular one means any value."""
    for _ in range(_DEEPEST_OF_ALL):
        demands = schema.get("allOf")
        if "$ref" in schema:
            target = schemas.referenced(schema["$ref"], root)
        elif isinstance(demands, list) and len(demands) == 1 and "type" not in schema:
            (target,) = demands
        else:
            return schema
        schema = target if isinstance(target, dict) else {}
    return {}


def _type_name(kind: object) -> str:
    return kind if isinstance(kind, str) and kind in schemas.TYPES else "any"


def _literal(value: object) -> str:
    if isinstance(value, str):
        return quoted(value)
    written = payload.encode_text(value)
    return written if len(written) <= LONGEST_NAME and written.isprintable() else quoted(written)
