"""A tool's arguments as a person types them: `key=value`, `key:=json`, or one JSON object.

Decides what a word means by the tool's schema: text stays text unless the schema wants a number or a
truth value. What is typed as JSON is sent as it was typed. Pure.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from search_mcp.cli.problem import Misuse
from search_mcp.wire import payload
from search_mcp.wire.structs import Fields, Raw

_WORD = re.compile(r"(?P<key>[^=]+?)(?P<json>:)?=(?P<text>.*)", re.DOTALL)
_NEWLINES = str.maketrans("\r\n", "  ")
_INTEGER = re.compile(r"-?\d+")
_WRITTEN = {"integer": "a whole number", "number": "a number", "boolean": "true or false", "null": "null"}
_COMPOSITE = {"array": "'[...]'", "object": "'{...}'"}


@dataclass(frozen=True, slots=True)
class Word:
    """One argument as it was typed."""

    key: str
    text: str
    is_json: bool


def read(words: Sequence[str], read_stdin: Callable[[], str]) -> tuple[Fields, list[Word]]:
    """Read what a person typed: one JSON object, `-` for one on stdin, and words that go over it.

    Raises:
        Misuse: a word is none of these, says what is no JSON, or says something twice.
    """
    objects = [word for word in words if word == "-" or word.lstrip().startswith("{")]
    if len(objects) > 1:
        raise Misuse("there is more than one JSON object", "put all arguments into one")
    given: Fields = {}
    for word in objects:
        given = _read_object(read_stdin(), "stdin") if word == "-" else _read_object(word, "'{...}'")
    return given, _read_words([word for word in words if word not in objects])


def _read_words(words: Sequence[str]) -> list[Word]:
    """Cut `key=value` and `key:=json` at the first sign."""
    read: dict[str, Word] = {}
    for word in words:
        match = _WORD.fullmatch(word)
        if match is None:
            raise Misuse(f"{word!r} is no argument", "write key=value, key:=json, or all of them as one '{...}'")
        key, text, is_json = match["key"], match["text"], match["json"] is not None
        if key in read:
            raise Misuse(f"{key!r} is given twice", "write a list as " + f"{key}:='[...]'")
        if is_json:
            _check_json(text, f"the value of {key!r}")
        read[key] = Word(key, text, is_json)
    return list(read.values())


def _read_object(text: str, source: str) -> Fields:
    if not isinstance(_check_json(text, source), dict):
        raise Misuse(f"{source} is no JSON object", """write '{"key": "value"}'""")
    return payload.fields(_raw(text))


def _check_json(text: str, what: str) -> Any:
    try:
        text.encode()
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as exc:
        raise Misuse(f"{what} is not JSON: {exc}", "text needs double quotes within single ones: '\"text\"'") from exc


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"there is no {name} in it")


def fit(words: Sequence[Word], schema: Mapping[str, Any], usage: str) -> Fields:
    """Turn words into the values that a tool's schema wants; `usage` is the tool's signature.

    Raises:
        Misuse: a text cannot be what the schema wants.
    """
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    return {
        word.key: _raw(word.text) if word.is_json else _converted(word, _types(known.get(word.key), schema), usage)
        for word in words
    }


def refuse_unknown(keys: Iterable[str], schema: Mapping[str, Any], usage: str) -> None:
    """Refuse keys that a closed schema does not have.

    Raises:
        Misuse: there is one.
    """
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    if schema.get("additionalProperties") is not False or schema.get("patternProperties"):
        return
    for key in keys:
        if key not in known:
            raise Misuse(f"there is no parameter {key!r}", f"write {usage}")


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
    """Whether a text is a JSON array or object, where one is wanted and no plain text is."""
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
    return Misuse(f"{word.key!r} must be {wanted or 'null'}, not {word.text!r}", f"write {usage}")


def _types(schema: Any, root: Mapping[str, Any], depth: int = 0) -> set[str]:
    """The JSON types a schema lets through, as far as it says; empty for any."""
    if not isinstance(schema, dict) or depth > 5:
        return set()
    if isinstance(schema.get("$ref"), str):
        return _types(_referenced(schema["$ref"], root), root, depth + 1)
    named = schema.get("type")
    if named is not None:
        return {each for each in (named if isinstance(named, list) else [named]) if isinstance(each, str)}
    for keyword in ("anyOf", "oneOf"):
        if isinstance(schema.get(keyword), list):
            choices = [_types(each, root, depth + 1) for each in schema[keyword]]
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


def _referenced(path: str, root: Mapping[str, Any]) -> Any:
    target: Any = root
    for part in path.removeprefix("#/").split("/"):
        target = target.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
    return target


def _raw(text: str) -> Raw:
    """JSON as it was typed, on one line: a message is a line."""
    return Raw(text.strip().translate(_NEWLINES).encode())
