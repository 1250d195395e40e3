"""Entries that reach a remote server through `npx mcp-remote`, a bridge from stdio to HTTP. Pure.

Decides which parts of a remote entry mcp-remote can be given. Header values are passed in environment variables,
because arguments are visible in the process list; mcp-remote expands `${NAME}` itself.
"""

import re
from collections.abc import Container, Mapping, Sequence
from typing import Any, Final

from search_mcp.config import placeholders, secrets

ABOUT: Final = (
    "npx mcp-remote, which needs Node.js; the first start opens a browser to log in if the server asks for it"
)

_ADDRESS = re.compile(r"(?i)https?://")
_NEEDS_ALLOW_HTTP = re.compile(r"(?i)http://(?!(localhost|127\.0\.0\.1)([:/?#]|$))")
_HEADER = re.compile(r"[A-Za-z0-9_-]+")  # what mcp-remote accepts
_UNKNOWN_TO_IT = ("oauth", "auth", "authProviderType", "headersHelper", "caFile", "tls")


def is_address(word: str) -> bool:
    """Return whether a word is the URL of a remote server."""
    return _ADDRESS.match(word) is not None


def is_websocket(kind: str, url: str) -> bool:
    """Return whether a server uses a WebSocket, which no known bridge supports."""
    return kind in ("ws", "websocket") or url.lower().startswith(("ws:", "wss:"))


def entry(url: str, kind: str, headers: Mapping[str, str]) -> dict[str, Any]:
    """Build the entry for a URL; `kind` is the `type` in the client's entry."""
    args = ["-y", "mcp-remote", url]
    if kind == "sse":
        args += ["--transport", "sse-only"]
    if _NEEDS_ALLOW_HTTP.match(url):
        args.append("--allow-http")
    env: dict[str, str] = {}
    for name, value in headers.items():
        variable = _variable(name, env)
        # No space after the colon: some shells that npx uses would split the argument there.
        args += ["--header", f"{name}:{placeholders.escaped(variable)}"]
        env[variable] = value
    made: dict[str, Any] = {"command": "npx", "args": args}
    return {**made, "env": env} if env else made


def omissions(theirs: Mapping[str, Any], url: str, headers: Mapping[str, str]) -> list[str]:
    """Describe each part of a remote entry that mcp-remote cannot be given."""
    missing = [
        f'its "{key}" is not passed on: mcp-remote logs in by itself' for key in _UNKNOWN_TO_IT if theirs.get(key)
    ]
    missing += [f"mcp-remote does not take a header named {name!r}" for name in headers if not _HEADER.fullmatch(name)]
    if any(secrets.find_secrets({"url": url})):
        missing.append("its URL holds a secret, which mcp-remote would show in the process list; use a header")
    return missing


def is_bridge(words: Sequence[str]) -> bool:
    """Return whether a command line runs mcp-remote."""
    return any(re.fullmatch(r"mcp-remote(@.*)?", word) for word in words)


def protected(arg: str, env: Container[str]) -> str:
    """Escape the placeholders of variables in `env`, so that mcp-remote expands them instead of search-mcp."""
    return re.sub(r"(?<!\$)\$\{(\w+)\}", lambda match: f"${match[0]}" if match[1] in env else match[0], arg)


def _variable(header: str, taken: Container[str]) -> str:
    name = f"HEADER_{re.sub(r'[^A-Za-z0-9]', '_', header).upper()}"
    while name in taken:
        name += "_"
    return name
