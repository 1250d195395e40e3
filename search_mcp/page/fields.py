"""The form for the arguments of a tool, made from its input schema. Pure.

Decides the kind of each field, and which arguments a filled form means.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, TypeAlias

from search_mcp.catalog.signature import resolved
from search_mcp.cli.problem import Misuse, Problem
from search_mcp.cli.tools.arguments import Word, check_json, read_object, types_of
from search_mcp.cli.tools.description import parameters
from search_mcp.model.sentences import cut
from search_mcp.page.web import Form
from search_mcp.wire import payload
from search_mcp.wire.structs import Fields

MOST_FIELDS, MOST_CHOICES = 100, 200
"""Fields of a form, and choices of a field. The others are given as JSON."""
LONGEST_ABOUT = 1_000
LONGEST_LINE = 200
"""Characters of a text, by its schema, up to which it is written in one line."""
_LONG_NAME = re.compile("body|contents?|description|diff|message|patch|prompt|script|sql|text")
"""The last word of the name of an argument that is often long."""
OTHERS = "others"
"""The name of the field for all other arguments."""
_REMEDY = 'a text is written in double quotes: "text"'

Shape: TypeAlias = Literal["line", "text", "integer", "number", "choice", "lines", "json"]
"""The kind of a field: `text` may have several lines; a line of `lines` is one text of a list."""

Choices: TypeAlias = tuple[tuple[str, str], ...]
"""The choices of a field as JSON, each with its text."""


@dataclass(frozen=True)
class Field:
    """One field: an argument of the tool."""

    key: str
    shape: Shape
    choices: Choices
    type: str
    """Its type as in a signature."""
    is_required: bool
    about: str
    """Its description, and its default."""

    @property
    def name(self) -> str:
        """Its name in the form, which is different from all others whatever the key is."""
        return f"argument {self.key}"


@dataclass(frozen=True)
class ArgumentForm:
    """The fields for the arguments of a tool."""

    fields: tuple[Field, ...]
    is_open: bool
    """Whether there may be arguments without a field."""


def form_for(schema: Mapping[str, Any]) -> ArgumentForm:
    """Make the form for an input schema; the required arguments come first."""
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    wanted = {each for each in required if isinstance(each, str)} if isinstance(required, list) else set()
    first = sorted(known, key=lambda key: key not in wanted)[:MOST_FIELDS]
    of_first = {**schema, "properties": {key: known[key] for key in first}}
    return ArgumentForm(
        tuple(
            Field(key, *_shape(key, known[key], schema), kind, is_required, cut(about, LONGEST_ABOUT))
            for key, kind, is_required, about in parameters(of_first)
        ),
        schema.get("additionalProperties") is not False or len(first) < len(known),
    )


def _shape(key: str, schema: Any, root: Mapping[str, Any]) -> tuple[Shape, Choices]:
    """Return the kind of the field for a part of the schema, and its choices."""
    core = _without_null(schema, root)
    values = [core["const"]] if "const" in core else core.get("enum")
    types = types_of(schema, root) - {"null"}
    if types == {"boolean"} and not isinstance(values, list):
        values = [True, False]
    if isinstance(values, list) and 0 < len(values) <= MOST_CHOICES:
        return "choice", tuple((payload.encode_text(each), _written(each)) for each in values)
    if types == {"string"}:
        return ("text" if _is_long(key, {**_object(schema), **core}) else "line"), ()
    if types and types <= {"integer", "number"}:
        return ("number" if "number" in types else "integer"), ()
    is_list = types == {"array"} and types_of(core.get("items"), root) == {"string"}
    return ("lines" if is_list else "json"), ()


def _is_long(key: str, schema: Mapping[str, Any]) -> bool:
    """Return whether a text is likely to have several lines."""
    most = schema.get("maxLength")
    lists = (schema.get(each) for each in ("enum", "examples"))
    known = [schema.get("default"), *chain.from_iterable(each for each in lists if isinstance(each, list))]
    last_word = re.sub("(?<=[a-z])(?=[A-Z])", "_", key).lower().replace("-", "_").rpartition("_")[2]
    return (
        (isinstance(most, int) and most > LONGEST_LINE)
        or any(isinstance(each, str) and "\n" in each for each in known)
        or _LONG_NAME.fullmatch(last_word) is not None
        or key.lower() == "code"  # not `country_code`
    )


def _without_null(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a part of the schema allows beside null, where that is one thing; references are followed."""
    found = resolved(_object(schema), root)
    choices = found.get("anyOf") or found.get("oneOf")
    others = [each for each in choices if each != {"type": "null"}] if isinstance(choices, list) else []
    return resolved(others[0], root) if len(others) == 1 and isinstance(others[0], dict) else found


def _object(schema: Any) -> Mapping[str, Any]:
    return schema if isinstance(schema, dict) else {}


def _written(value: object) -> str:
    return value if isinstance(value, str) else payload.encode_text(value)


def filled(shown: ArgumentForm, form: Form) -> tuple[Fields, list[Word]]:
    """Return the arguments that a filled form means: those without a field, and those of the fields.

    Raises:
        Problem: a field for JSON has something else.
    """
    others = form.get(OTHERS).strip()
    try:
        given = read_object(others, "the field for other arguments") if others else {}
        return given, [_word(each, text) for each in shown.fields if (text := form.get(each.name))]
    except Misuse as exc:
        raise Problem(exc.what, _REMEDY) from exc


def _word(field: Field, text: str) -> Word:
    if field.shape == "lines":
        return Word(field.key, json.dumps([line for line in text.split("\n") if line.strip()]), is_json=True)
    is_json = field.shape in ("choice", "json")
    if is_json:
        check_json(text, f"the value of {field.key!r}")
    return Word(field.key, text.rstrip("\n") if field.shape == "line" else text, is_json)
