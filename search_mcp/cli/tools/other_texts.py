"""Texts of a tool's definition that the screen of `describe` does not show elsewhere.

A model may be given every text in a definition, so a person has to be able to read all of them.
"""

import re
from collections.abc import Iterator, Sequence

from search_mcp.cli.checks.differences import leaves, written
from search_mcp.model.visible import visible, wholly_visible
from search_mcp.wire import payload
from search_mcp.wire.structs import Fields

_PLAIN_TEXTS = frozenset(
    {"", "string", "number", "integer", "boolean", "object", "array", "null", "required", "optional", "forbidden"}
)
"""Texts that only name a type or a requirement."""
_DIALECTS = ("http://json-schema.org/", "https://json-schema.org/")
_KEYWORDS = frozenset(
    [
        "name",
        "title",
        "description",
        "inputSchema",
        "outputSchema",
        "annotations",
        "readOnlyHint",
        "destructiveHint",
        "idempotentHint",
        "openWorldHint",
        "execution",
        "taskSupport",
        "icons",
        "src",
        "mimeType",
        "sizes",
        "theme",
        "_meta",
        "$schema",
        "$id",
        "$ref",
        "$defs",
        "definitions",
        "type",
        "properties",
        "required",
        "items",
        "prefixItems",
        "additionalItems",
        "additionalProperties",
        "patternProperties",
        "propertyNames",
        "enum",
        "const",
        "default",
        "examples",
        "format",
        "pattern",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minContains",
        "maxContains",
        "minProperties",
        "maxProperties",
        "contains",
        "anyOf",
        "oneOf",
        "allOf",
        "not",
        "if",
        "then",
        "else",
        "dependentRequired",
        "dependentSchemas",
        "unevaluatedProperties",
        "unevaluatedItems",
        "contentEncoding",
        "contentMediaType",
        "readOnly",
        "writeOnly",
        "deprecated",
        "nullable",
        "$comment",
        "$anchor",
    ]
)
"""Names of members defined by MCP and JSON Schema."""


def other_texts(definition: Fields, shown: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield path and text of everything in a definition that is not in `shown`, including names of members."""
    # A text with control characters was shown without them, so it counts as not shown.
    seen = {" ".join(text.split()) for text in shown if wholly_visible(text) == visible(text)}
    everything = "\n".join(seen)
    for member, raw in definition.items():
        value = payload.value(raw)
        if value is None and bytes(raw) != b"null":  # nested too deeply to decode
            yield member, wholly_visible(bytes(raw).decode("utf-8", "replace"))
            continue
        for path, leaf in leaves(value, member):
            if path != "name" and not (_is_shown(path, leaf, everything) and _has_known_names(path, everything)):
                yield path, written(leaf)


def _is_shown(path: str, leaf: object, everything: str) -> bool:
    """Return whether a value is shown already, or is not a text."""
    if isinstance(leaf, list):
        return all(_is_shown(path, each, everything) for each in leaf)
    text = " ".join(leaf.split()) if isinstance(leaf, str) else ""
    is_plain = text in _PLAIN_TEXTS or (path.endswith(".$schema") and text.startswith(_DIALECTS))
    return is_plain or text in everything or _letters(path).endswith(_letters(f"{text}.title"))


def _letters(text: str) -> str:
    """Return a text without what distinguishes a title from a name: the title of `repo_path` is often `Repo Path`."""
    return re.sub(r"[ _-]", "", text).casefold()


def _has_known_names(path: str, everything: str) -> bool:
    """Return whether every name in a path is defined by JSON Schema or MCP, or shown already."""
    names = re.findall(r'"[^"]*"|[^.\[\]]+', path)
    return all(
        name in _KEYWORDS or name.isdecimal() or name.strip('"') in everything or f'"{name}"' in everything
        for name in names
    )
