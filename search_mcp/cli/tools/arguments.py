"""Arguments of a tool on the command line: `key=value`, `key:=json`, or one JSON object. Pure.

Decides how a value is converted by the tool's schema: it stays a string unless the schema requires a number or a
boolean. JSON is sent unchanged.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from search_mcp.catalog import schemas
from search_mcp.cli.problem import Misuse
from search_mcp.wire import payload
from search_mcp.wire.structs import Fields, Raw

_WORD = re.compile(r"(?P<key>[^=]+?)(?P<json>:)?=(?P<text>.*)", re.DOTALL)
_NEWLINES = str.maketrans("\r\n", "  ")
_INTEGER = re.compile(r"-?\d+")
_WRITTEN = {"integer": "a whole number", "number": "a number", "boolean": "true or false", "null": "null"}
_DEEPEST = 5
"""Levels of references and choices that are followed."""
_COMPOSITE = {"array": "'[...]'", "object": "'{...}'"}


@dataclass(frozen=True, slots=True)
class Word:
    """One argument on the command line."""

    key: str
    text: str
    is_json: bool


def read(words: Sequence[str], read_stdin: Callable[[], str]) -> tuple[Fields, list[Word]]:
    """Parse the arguments: at most one JSON object (`-` reads it from stdin), and words that override its members.

    Raises:
        Misuse: a word has another form, holds invalid JSON, or repeats a key.
    """
    objects = [word for word in words if word == "-" or word.lstrip().startswith("{")]
    if len(objects) > 1:
        raise Misuse("there is more than one JSON object", "put all arguments into one")
    given: Fields = {}
    for word in objects:
        given = read_object(read_stdin(), "stdin") if word == "-" else read_object(word, "'{...}'")
    return given, _read_words([word for word in words if word not in objects])


def _read_words(words: Sequence[str]) -> list[Word]:
    """Split `key=value` and `key:=json` at the first sign."""
    read: dict[str, Word] = {}
    for word in words:
        match = _WORD.fullmatch(word)
        if match is None:
            raise Misuse(f"{word!r} is not an argument", "write key=value, key:=json, or all of them as one '{...}'")
        key, text, is_json = match["key"], match["text"], match["json"] is not None
        if key in read:
            raise Misuse(f"{key!r} is given twice", "write a list as " + f"{key}:='[...]'")
        if is_json:
            check_json(text, f"the value of {key!r}")
        read[key] = Word(key, text, is_json)
    return list(read.values())


def read_object(text: str, source: str) -> Fields:
    """Read a JSON object, whose origin is named in errors.

    Raises:
        Misuse: it is something else.
    """
    if not isinstance(check_json(text, source), dict):
        raise Misuse(f"{source} is not a JSON object", """write '{"key": "value"}'""")
    return payload.fields(_raw(text))


def check_json(text: str, what: str) -> Any:
    """Decode JSON, which is named in errors.

    Raises:
        Misuse: it is not JSON.
    """
    try:
        text.encode()
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as exc:
        raise Misuse(
            f"{what} is not JSON: {exc}", "put a string in double quotes inside single quotes: '\"text\"'"
        ) from exc


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"there is no {name} in it")


def fit(words: Sequence[Word], schema: Mapping[str, Any], usage: str) -> Fields:
    """Convert words to the types in a tool's schema; `usage` is the tool's signature.

    Raises:
        Misuse: a value cannot be converted.
    """
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    return {
        word.key: _raw(word.text) if word.is_json else _converted(word, types_of(known.get(word.key), schema), usage)
        for word in words
    }


def refuse_unknown(keys: Iterable[str], schema: Mapping[str, Any], usage: str) -> None:
    """Refuse unknown keys if the schema allows no additional properties.

    Raises:
        Misuse: there is an unknown key.
    """
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    if schema.get("additionalProperties") is not False or schema.get("patternProperties"):
        return
    for key in keys:
        if key not in known:
            raise Misuse(f"there is no parameter {key!r}", f"the signature is {usage}")


def _converted(word: Word, types: set[str], usage: str) -> Raw:
    if _is_json_of(word.text, types):
        return _raw(word.text)
    if not types or "string" in types:
        return payload.encode(word.text)
    text = word.text.strip()
    if "integer" in types | _if_number(types) and _INTEGER.fullmatch(text):
        return payload.encode(int(text)) if len(text) < 19 else _raw(str(int(text)))
    if "number" in types and (number := _number(text)) is not None:
        return payload.encode(number)
    if "boolean" in types and text.lower() in ("true", "false"):
        return payload.encode(text.lower() == "true")
    if "null" in types and text == "null":
        return payload.encode(None)
    raise _misfit(word, types, usage)


def _is_json_of(text: str, types: set[str]) -> bool:
    """Return whether a text is a JSON array or object, if the schema allows one and no string."""
    wanted = {kind: kind in types and "string" not in types for kind in _COMPOSITE}
    if not any(wanted.values()):
        return False
    try:
        text.encode()
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return False
    return (wanted["array"] and isinstance(value, list)) or (wanted["object"] and isinstance(value, dict))


def _if_number(types: set[str]) -> set[str]:
    return {"integer"} if "number" in types else set()


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _misfit(word: Word, types: set[str], usage: str) -> Misuse:
    for kind, example in _COMPOSITE.items():
        if kind in types:
            return Misuse(f"{word.key!r} must be an {kind}", f"write it as JSON: {word.key}={example}, as in {usage}")
    wanted = " or ".join(written for kind, written in _WRITTEN.items() if kind in types - {"null"})
    return Misuse(f"{word.key!r} must be {wanted or 'null'}, not {word.text!r}", f"the signature is {usage}")


def types_of(schema: Any, root: Mapping[str, Any]) -> set[str]:
    """Return the JSON types that a part of a schema allows; empty if it does not restrict them."""
    return _types(schema, root, {}, 0)


def _types(schema: Any, root: Mapping[str, Any], known: dict[int, set[str]], depth: int) -> set[str]:
    """Return the same; `known` has the parts that were read before, because references may repeat them endlessly."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return set()
    if id(schema) not in known:
        known[id(schema)] = set()  # while it is read: one that refers to itself restricts nothing
        known[id(schema)] = _read_types(schema, root, known, depth + 1)
    return known[id(schema)]


def _read_types(schema: Mapping[str, Any], root: Mapping[str, Any], known: dict[int, set[str]], depth: int) -> set[str]:
    if isinstance(schema.get("$ref"), str):
        return _types(schemas.referenced(schema["$ref"], root), root, known, depth)
    named = schema.get("type")
    if named is not None:
        return {each for each in (named if isinstance(named, list) else [named]) if isinstance(each, str)}
    for keyword in ("anyOf", "oneOf"):
        if isinstance(schema.get(keyword), list):
            choices = [_types(each, root, known, depth) for each in schema[keyword]]
            return set().union(*choices) if all(choices) else set()
    values = schema.get("enum")
    return {_TYPE_NAMES[type(value)] for value in values} if isinstance(values, list) else set()


_TYPE_NAMES = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


def _raw(text: str) -> Raw:
    """Return JSON on one line, as a message requires, but otherwise unchanged."""
    return Raw(text.strip().translate(_NEWLINES).encode())
