"""Values that an example leaves to its reader, such as `<YOUR_TOKEN>`, in variables and headers of servers. Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from search_mcp.model.errors import for_shell

IS_BLANK = "still has the text of an example"
PARTS = ("env", "headers")
"""The members of an entry whose values `search-mcp secret` can store."""
# As written in the examples of servers: <token>, YOUR_API_KEY, your-token, YOUR API KEY, API_KEY_HERE, ghp_xxxx,
# sk-..., changeme, and ${input:token} of VS Code. Not blank: `Ada <ada@example.com>`, `./...`, `about your letters`.
_BLANK = re.compile(
    r"<[^<>@]+>|\$\{input:|(?<![^\W_])(?:your[-_]|x{3,}(?![^\W_])|(?:change|replace)[-_]?me(?![^\W_]))"
    r"|(?-i:YOUR [A-Z])|(?:key|token|secret|password)[-_ ]here(?![^\W_])|[\w-](?:\.{3}|…)$",
    re.IGNORECASE,
)


def is_blank(value: object) -> bool:
    """Return whether a value is to be replaced by the reader's own."""
    return isinstance(value, str) and _BLANK.search(value) is not None


def blanks(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the place of each value of a server that is to be replaced: `env` or `headers`, and the name in it."""
    for part in PARTS:
        values = entry.get(part)
        yield from ((part, name) for name, value in (values or {}).items() if is_blank(value))


def setting(server: str, name: str, file: str = "") -> str:
    """Write the command that asks for a value; `file` is that of the configuration, if `--config` has to name it."""
    named = ("--config", for_shell(file)) if file else ()
    return " ".join(("search-mcp", "secret", for_shell(server), for_shell(name), *named))
