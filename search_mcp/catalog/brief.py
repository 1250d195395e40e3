"""Short descriptions for light lists: the first sentence of the original."""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

from search_mcp.catalog.signature import parameter, resolved
from search_mcp.model.visible import one_line

LONGEST_ABBREVIATION = 12
REQUIRED_LENGTH = 100
"""Most characters of required parameters behind a brief description."""
OTHERS_LENGTH = 60
"""Most characters of the other ones, and of the names inside one parameter."""


_compiled = cache(re.compile)  # compiled for the first list, not at the start
_SENTENCE_END = "|".join(  # alternatives that each begin with a fixed character are searched fast
    ("。", "！", "？", "｡", *(rf"\{end}(?=[\s\"')\]]|$)" for end in ".!?"), r"\n\s*\n")
)
_ABBREVIATION = r"(?i)(?:\b(?:e\.g|i\.e|etc|vs|approx|incl|no|cf|resp|max|min)|\b[A-Z])\.$"
_SPACELESS = (("\u3040", "\u30ff"), ("\u3400", "\u9fff"), ("\uf900", "\ufaff"))  # Korean has spaces


def brief(description: str, limit: int) -> str:
    """Shorten a description to about its first sentence, never inside a word."""
    text = description.strip()[: 4 * limit]
    for end in _compiled(_SENTENCE_END).finditer(text):
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


def with_parameters(description: str, schema: Mapping[str, Any]) -> str:
    """Append the parameters of a tool, as in `Edit a file (path, edits: {oldText, newText}[], dryRun?)`.

    The required ones come first, with the names inside objects and lists of objects, then as many others as there is
    room for.
    """
    properties, required = _members(schema)
    needed = [f"{parameter(name)}{_inside(properties.get(name), schema)}" for name in required]
    others = [f"{parameter(name)}?" for name in properties if name not in required]
    written = [*_first(needed, REQUIRED_LENGTH), *_first(others, OTHERS_LENGTH)]
    if not written:
        return description
    if description.endswith((".", "。", "｡")) and not _compiled(_ABBREVIATION).search(
        description[-LONGEST_ABBREVIATION:]
    ):
        description = description[:-1]
    return f"{description} ({', '.join(written)})".lstrip()


def _members(schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], Collection[str]]:
    """Return the properties of an object, and the names of those that are required."""
    properties, required = schema.get("properties"), schema.get("required")
    names = [each for each in required if isinstance(each, str)] if isinstance(required, list) else []
    return properties if isinstance(properties, dict) else {}, dict.fromkeys(names)


def _inside(schema: object, root: Mapping[str, Any]) -> str:
    """Write the names inside of an object, or of the objects in a list; empty for another value."""
    outer = resolved(schema, root) if isinstance(schema, dict) else {}
    is_list = isinstance(outer.get("items"), dict)
    properties, required = _members(resolved(outer["items"], root) if is_list else outer)
    ordered = [
        *(name for name in properties if name in required),
        *(name for name in properties if name not in required),
    ]
    names = [parameter(name) + ("" if name in required else "?") for name in ordered]
    return f": {{{', '.join(_first(names, OTHERS_LENGTH))}}}{'[]' if is_list else ''}" if names else ""


def _first(names: Sequence[str], length: int) -> list[str]:
    """Return the first names that have room, at least one, and how many are left out."""
    kept: list[str] = []
    for name in names:
        length -= len(name)
        if kept and length < 0:
            return [*kept, f"… {len(names) - len(kept)} more"]
        kept.append(name)
    return kept


def _is_inside_word(text: str, position: int) -> bool:
    before, after = text[position - 1], text[position]
    return not any(
        each.isspace() or any(first <= each <= last for first, last in _SPACELESS) for each in (before, after)
    )
