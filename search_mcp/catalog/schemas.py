"""JSON Schemas of tools: checks of arguments, references, and compact schemas for models.

This is not a validator: it checks only what a signature shows (required and unknown names, types, fixed values).
Schemas come from untrusted servers and may have exponentially many references, so all work on one is bounded. Pure.
"""

from collections.abc import Mapping
from typing import Any, Final

from search_mcp.catalog.list_limits import LONGEST_NAME

TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}
"""The types of JSON Schema, with the Python types of decoded JSON."""
CHECKS = 2000
"""Most checks of values against schemas for one call, about a millisecond; beyond that, the result is undecided."""
DEEPEST = 20
"""Most levels of nesting, references included."""


def fits(arguments: object, schema: Mapping[str, Any]) -> bool:
    """Return whether arguments fit a schema; true if that takes too long to decide."""
    return Comparison(schema).fits(arguments, schema)


class Comparison:
    """Checks of values against parts of one schema, with a limit for all of them together."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._check = _Check(root)

    def fits(self, value: object, schema: object) -> bool:
        """Return whether a value fits a part of the schema; true if that takes too long to decide."""
        try:
            return self._check.fits(value, schema, 0)
        except _UndecidedError:
            return True


_OPENING = frozenset({"$ref", "allOf", "anyOf", "oneOf", "patternProperties", "unevaluatedProperties"})
"""The keywords by which an object may have other members than its `properties`."""


def only_members(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the properties of an object that has no others, as far as its schema says; empty if it may have others."""
    properties = schema.get("properties")
    is_closed = schema.get("additionalProperties", False) is False and _OPENING.isdisjoint(schema)
    return properties if is_closed and isinstance(properties, dict) else {}


def referenced(path: object, root: Mapping[str, Any]) -> Any:
    """Resolve a `$ref` within its schema; `None` for anything else, because nothing is fetched."""
    # "Implementations MUST NOT automatically dereference `$ref` values that resolve to a network URI."
    if not isinstance(path, str) or len(path) > LONGEST_NAME or path[:1] != "#":
        return None
    target: Any = root
    for part in path[1:].split("/")[1:]:
        target = target.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
    return target


class _UndecidedError(Exception):
    """The limit of checks or levels was reached."""


class _Check:
    """One comparison of arguments with a schema."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._left = CHECKS

    def fits(self, value: object, schema: object, depth: int) -> bool:
        """Return whether a value fits; unknown keywords and invalid schemas admit every value."""
        self._spend(1)
        if depth > DEEPEST:
            raise _UndecidedError
        if schema is False:
            return False
        if not isinstance(schema, dict):
            return True
        if "$ref" in schema and not self.fits(value, referenced(schema["$ref"], self._root), depth + 1):
            return False
        return (
            self._is_of_type(value, schema.get("type"))
            and self._is_listed(value, schema)
            and self._fits_choices(value, schema, depth)
            and (not isinstance(value, dict) or self._has_members(value, schema, depth))
            and (not isinstance(value, list) or self._has_items(value, schema, depth))
        )

    def _spend(self, checks: int) -> None:
        self._left -= checks
        if self._left < 0:
            raise _UndecidedError

    def _is_of_type(self, value: object, wanted: object) -> bool:
        names = wanted if isinstance(wanted, list) else [wanted]
        self._spend(len(names))
        known = [name for name in names if isinstance(name, str) and name in TYPES]
        return not known or len(known) < len(names) or any(_is(value, name) for name in known)

    def _is_listed(self, value: object, schema: Mapping[str, Any]) -> bool:
        """Return whether a scalar is one of the values that a schema lists; objects and lists always are."""
        listed = [schema["const"]] if "const" in schema else schema.get("enum")
        if not isinstance(listed, list) or isinstance(value, dict | list):
            return True
        self._spend(len(listed))
        return any(value == each and isinstance(value, bool) == isinstance(each, bool) for each in listed)

    def _fits_choices(self, value: object, schema: Mapping[str, Any], depth: int) -> bool:
        for keyword, enough in (("anyOf", any), ("oneOf", any), ("allOf", all)):
            choices = schema.get(keyword)
            if not isinstance(choices, list) or not choices:
                continue
            if not enough(self.fits(value, each, depth + 1) for each in choices):
                return False
        return True

    def _has_members(self, value: Mapping[str, Any], schema: Mapping[str, Any], depth: int) -> bool:
        required, properties = schema.get("required"), schema.get("properties")
        if isinstance(required, list):
            self._spend(len(required))
            if not all(name in value for name in required if isinstance(name, str)):
                return False
        properties = properties if isinstance(properties, dict) else {}
        others = schema.get("additionalProperties", True) if "patternProperties" not in schema else True
        return all(self.fits(member, properties.get(name, others), depth + 1) for name, member in value.items())

    def _has_items(self, value: list[Any], schema: Mapping[str, Any], depth: int) -> bool:
        if "items" not in schema or "prefixItems" in schema:
            return True
        return all(self.fits(each, schema["items"], depth + 1) for each in value)


def _is(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES[kind])


_NESTED: Final = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_NAMED: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTED: Final = ("anyOf", "oneOf", "allOf", "prefixItems")


def compact(schema: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Remove what does not help to write arguments: the dialect and the titles."""
    if depth > DEEPEST:
        return dict(schema)
    kept = {key: value for key, value in schema.items() if key != "$schema" and not _is_title(key, value)}
    for key in _NESTED:
        if isinstance(kept.get(key), dict):
            kept[key] = compact(kept[key], depth + 1)
    for key in _NAMED:
        if isinstance(kept.get(key), dict):
            kept[key] = {name: _compact(each, depth) for name, each in kept[key].items()}
    for key in _LISTED:
        if isinstance(kept.get(key), list):
            kept[key] = [_compact(each, depth) for each in kept[key]]
    return kept


def _compact(schema: Any, depth: int) -> Any:
    return compact(schema, depth + 1) if isinstance(schema, dict) else schema


def _is_title(key: str, value: object) -> bool:
    return key == "title" and isinstance(value, str)
