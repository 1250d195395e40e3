"""A unified diff of an edit, with secrets replaced by `***`. Pure."""

import difflib
import re

from search_mcp.clients.document import Document
from search_mcp.config.secrets import NAME, PLACEHOLDER, SCHEME, Redactor, find_secrets, spellings

_IN_TEXT = re.compile(
    rf"""(
        (?<![\w-])
        (?: --?(?=[\w-]*{NAME})[\w-]*+["']?[ \t,=]+["']?    # --api-key X
          | (?=[\w-]*(?<!\$\{{){NAME})[\w-]*+["']?\s*+[:=]\s*["']? )  # apiKey: X, but not ${{keyring:X}}
        {SCHEME}?+
    )
    (?!{PLACEHOLDER})([^\s"',]{{4,}})""",
    re.IGNORECASE | re.VERBOSE,
)
"""A secret in text that is not a value, such as a comment. Placeholders do not match: they are not secret."""


def unified(before: Document, after: Document) -> str:
    """Return the lines that differ; an empty string if there are none."""
    lines = difflib.unified_diff(
        before.text.splitlines(), after.text.splitlines(), before.source, after.source, lineterm=""
    )
    redact = Redactor(spellings(secret for each in (before, after) for secret in find_secrets(each.value)))
    return _IN_TEXT.sub(r"\1***", redact("\n".join(lines)))
