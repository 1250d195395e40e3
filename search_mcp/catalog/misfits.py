"""What is wrong with the arguments of a call, in words from which a model can correct it: where, what was given, and
what is allowed.

Names and types are of an untrusted server, and values are of a model, so all of them are written on one line. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from search_mcp.catalog import schemas
from search_mcp.catalog.signature import parameter, resolved, type_of
from search_mcp.model.visible import described
from search_mcp.wire import payload
from search_mcp.wire.structs import Raw

MOST_TOLD = 5
"""Most mistakes of one call that are told."""


def misfits(arguments: object, schema: Mapping[str, Any]) -> Sequence[str]:
    """Tell what does not fit, or is unknown, as parts of a sentence; empty if all is as the schema says."""
    if not isinstance(arguments, dict):
        fits = schemas.fits(arguments, schema)
        return [] if fits else [f"they must be an object, not {described(arguments)}"]
    found = _Comparison(schema)
    if schemas.fits(arguments, schema):
        return list(islice(found.unknown(arguments, schema, ""), MOST_TOLD))
    return list(islice(found.members(arguments, schema, ""), MOST_TOLD)) or ["they do not fit the schema"]


class _Comparison:
    """The comparison of one call's arguments with a schema."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._fits = schemas.Comparison(root).fits

    def members(self, value: Mapping[str, Any], schema: Mapping[str, Any], path: str) -> Iterator[str]:
        """Tell what is wrong with the members of an object: those that are missing, then unknown, then wrong."""
        properties, required = schema.get("properties"), schema.get("required")
        some = required[: schemas.CHECKS] if isinstance(required, list) else []
        needed = dict.fromkeys(each for each in some if isinstance(each, str))
        yield from (f"{path}{parameter(name)} is missing" for name in needed if name not in value)
        yield from self.unknown(value, schema, path)
        for name, member in islice(value.items(), schemas.CHECKS):
            if isinstance(properties, dict) and name in properties:
                yield from self._value(member, properties[name], f"{path}{parameter(name)}", name in needed)

    def unknown(self, value: Mapping[str, Any], schema: Mapping[str, Any], path: str) -> Iterator[str]:
        """Tell which members an object should not have, unless its schema says that it may have others."""
        if members := schemas.only_members(schema):
            yield from (f"{path}{parameter(each)} is not a parameter" for each in value if each not in members)

    def _value(self, value: Any, schema: Any, path: str, is_required: bool) -> Iterator[str]:
        # What is nested more deeply than a schema is compared counts as fitting, so this ends.
        if self._fits(value, schema):
            return
        within = self._only_choice(schema)
        told = list(islice(self._inside(value, within, path), MOST_TOLD))
        if told:
            yield from told
            return
        wanted = type_of(schema, self._root)
        if isinstance(value, dict | list) and within.get("type") == ("object" if isinstance(value, dict) else "array"):
            yield f"{path} is not {wanted}"  # it is too long to tell where
            return
        advice = self._advice(value, within, is_required=is_required)
        yield f"{path} must be {wanted}, not {described(value)}{advice}"

    def _inside(self, value: Any, schema: Mapping[str, Any], path: str) -> Iterator[str]:
        if isinstance(value, dict) and isinstance(schema.get("properties"), dict):
            yield from self.members(value, schema, f"{path}.")
        elif isinstance(value, list) and "items" in schema:
            for position, each in enumerate(value[: schemas.CHECKS]):
                yield from self._value(each, schema["items"], f"{path}[{position}]", True)

    def _only_choice(self, schema: Any) -> Mapping[str, Any]:
        """Follow references, and choices of which all others are null."""
        read = resolved(schema, self._root) if isinstance(schema, dict) else {}
        for keyword in ("anyOf", "oneOf"):
            choices = read.get(keyword)
            if isinstance(choices, list):
                some = [each for each in choices if isinstance(each, dict) and each.get("type") != "null"]
                return resolved(some[0], self._root) if len(some) == 1 else {}
        return read

    def _advice(self, value: Any, schema: Mapping[str, Any], *, is_required: bool) -> str:
        if value in (None, "") and not is_required:
            return "; leave it out instead"
        if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
            inner = payload.value(Raw(value.encode("utf-8", "replace")))
            return "; give the value itself, not JSON in a string" if isinstance(inner, list | dict) else ""
        if "items" in schema and not isinstance(value, list) and self._fits(value, schema["items"]):
            return "; put it into an array"
        return ""
