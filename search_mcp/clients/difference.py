"""What an edit changes, as a person may see it: a unified diff without secrets.

Decides what counts as a secret in a config file: what stands in an environment or a header, and what is
called a key, a token or a password. Pure.
"""

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from itertools import chain

from search_mcp.clients.document import Document
from search_mcp.config import redact

_SECRET_OBJECTS = {"env", "envs", "environment", "headers", "http_headers"}
_NAME = r"(?:key|token|secret|passw|auth|credential)"
_SECRET_NAME = re.compile(_NAME, re.IGNORECASE)
_IN_URL = re.compile(r"://([^/@\s]+)@|[?&][^=&]*" + _NAME + r"[^=&]*=([^&#\s]+)", re.IGNORECASE)
_IN_TEXT = re.compile(rf"""({_NAME}[\w-]*["']?\s*[:=]\s*["']?)([^\s"',]{{4,}})""", re.IGNORECASE)
"""What a comment may hold, which is no value."""
_SHORTEST_SECRET = 4
"""Characters. Blotted out, shorter values ("true", a port) would garble the rest."""


def unified(before: Document, after: Document) -> str:
    """Show the lines that differ; empty if none does."""
    lines = difflib.unified_diff(
        before.text.splitlines(), after.text.splitlines(), before.source, after.source, lineterm=""
    )
    hidden = {
        spelled for value in (before.value, after.value) for secret in secrets(value) for spelled in _spelt(secret)
    }
    return _IN_TEXT.sub(r"\1***", redact("\n".join(lines), hidden))


def secrets(value: object, *, called: str = "") -> Iterator[str]:
    """Yield the texts in a config file's value that nobody should see."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in _SECRET_OBJECTS and isinstance(inner, Mapping):
                yield from (each for each in inner.values() if _is_secret(each))
            else:
                yield from secrets(inner, called=str(key))
    elif isinstance(value, list):
        option = ""
        for inner in value:
            if isinstance(inner, str) and inner.startswith("-"):
                option, _, given = inner.partition("=")
                yield from secrets(given, called=option)
            else:
                yield from secrets(inner, called=option)
                option = ""
    elif _is_secret(value) and _SECRET_NAME.search(called):
        yield str(value)
    elif isinstance(value, str):
        yield from filter(None, chain.from_iterable(_IN_URL.findall(value)))


def _is_secret(value: object) -> bool:
    return isinstance(value, str) and len(value) >= _SHORTEST_SECRET and not re.fullmatch(r"\$?\{[^{}]*\}", value)


def _spelt(secret: str) -> tuple[str, ...]:
    """A secret as it may stand in the text of a file."""
    return secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]
