"""Short descriptions for light lists: the first sentence of the original."""

import re
from functools import cache
from typing import Any

from search_mcp.catalog.signature import parameter
from search_mcp.model.visible import one_line
from search_mcp.wire import payload
from search_mcp.wire.structs import Raw, Struct, field

LONGEST_ABBREVIATION = 12
REQUIRED_LENGTH = 100
"""Most characters of required parameters behind a brief description."""


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


class _Requirement(Struct):
    """The parts of a schema that a light list shows; the others are not decoded."""

    required: list[Any] = field(default_factory=list)


def with_required(description: str, schema: Raw | None) -> str:
    """Append the names of the required parameters, as in `Edit a file (path, edits)`."""
    try:
        required = payload.typed(schema, _Requirement).required if schema is not None else []
    except ValueError:
        return description
    names = [each for each in required if isinstance(each, str)]
    if not names:
        return description
    written: list[str] = []
    for name in names:
        written.append(parameter(name))
        if sum(map(len, written)) > REQUIRED_LENGTH and len(written) > 1:
            written[-1:] = [f"… {len(names) - len(written) + 1} more"]
            break
    if description.endswith((".", "。", "｡")) and not _compiled(_ABBREVIATION).search(
        description[-LONGEST_ABBREVIATION:]
    ):
        description = description[:-1]
    return f"{description} ({', '.join(written)})".lstrip()


def _is_inside_word(text: str, position: int) -> bool:
    before, after = text[position - 1], text[position]
    return not any(
        each.isspace() or any(first <= each <= last for first, last in _SPACELESS) for each in (before, after)
    )
