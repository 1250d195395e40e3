"""A tool's input schema written as a signature, such as `read_file(path: string, head?: number)`."""

import re
from collections.abc import Mapping
from functools import cache
from itertools import islice
from typing import Any

from search_mcp.catalog import schemas
from search_mcp.model.visible import quoted
from search_mcp.wire import payload

LONGEST_PARAMETER = 64
"""Most characters of a parameter's name or of a literal."""
SIGNATURE_NODES = 300
"""Most parts of a schema that are written, because recursive schemas are infinite."""
SIGNATURE_LENGTH = 300
"""Most characters of a signature; it says if parts are left out."""
_DEEPEST = 2
"""Levels of nested objects that are written in full; deeper ones are `object`."""
_DEEPEST_OF_ALL = 5
"""Levels of lists and choices that are followed, because many schemas are recursive."""
_DETAIL_LEVELS = ((0, 20), (0, 6), (1, 6), (2, 6))
"""Level of nesting at which parameters begin, and most choices; tried in turn until the signature is short enough."""
_FORMATS = frozenset({"date", "date-time", "duration", "email", "hostname", "regex", "time", "uri", "uuid"})
"""String formats that are written, as in `string<date-time>`."""
_MOST_READ = 1000
"""Most properties and required names of one object that are read, because references may repeat it."""
_MOST_WRITTEN = 100
"""Most properties of one object that are written; more do not fit into a signature."""


def parameter(name: str) -> str:
    """Write a parameter's name, quoted unless it is a plain word, because a server may choose any text."""
    return name if len(name) <= LONGEST_PARAMETER and _plain_name().fullmatch(name) else quoted(name, LONGEST_PARAMETER)


@cache
def _plain_name() -> re.Pattern[str]:
    return re.compile(r"[\w$@.-]+")


def signature(name: str, schema: Mapping[str, Any], limit: int = SIGNATURE_LENGTH) -> str:
    """Write a tool as `read_text_file(path: string, head?: number)`: required first, then optional."""
    for level, choices in _DETAIL_LEVELS:
        parts = _Signature(schema, choices).parameters(schema, level)
        written = f"{name}({', '.join(parts)})"
        if len(written) <= limit:
            return written
    if not parts:
        return written
    total = len(schema["properties"])
    room = limit - len(f"{name}(… {total} more)")
    shown: list[str] = []
    for part in parts[:total]:
        room -= len(part) + len(", ")
        if room < 0:
            break
        shown.append(part)
    return f"{name}({', '.join([*shown, f'… {total - len(shown)} more'])})"


class _Signature:
    """The writing of one schema, with bounds on depth and size."""

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
            f"{parameter(key)}{'' if key in wanted else '?'}: {self._type(properties[key], depth)}" for key in ordered
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
        """Return the alternatives of a schema, if it has any; one more than are shown if there are more."""
        if "const" in schema:
            return [_literal(schema["const"])]
        for keyword, write in (("enum", _literal), ("anyOf", None), ("oneOf", None), ("type", _type_name)):
            values = schema.get(keyword)
            if isinstance(values, list):
                some = values[: self._most_choices + 1]
                return list(dict.fromkeys(write(each) if write else self._type(each, depth + 1) for each in some))
        return []


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow references within the schema; an invalid or circular one means any value."""
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
