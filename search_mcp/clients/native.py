"""Entries of ours for remote servers, from the notations of all clients. Pure.

Decides which keys correspond to ours. A setting without a counterpart is named, never guessed.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_ADDRESS = re.compile(r"(?i)https?://")
_SOCKET = re.compile(r"(?i)(unix|pipe|npipe)://")
_PLACEHOLDER = re.compile(r"\$?\$\{(\w+)(?::-(?:[^}$]|\$(?!\{))*+)?\}")

_WITHOUT_COUNTERPART: Final = ("headersHelper", "authProviderType", "socket", "tls", "tokenParamName")
_OAUTH: Final[Mapping[str, str]] = {
    **{key: key for key in ("clientId", "clientSecret", "clientMetadataUrl", "issuer", "resource", "grant", "scopes")},
    **{key: key for key in ("callbackHost", "callbackPort", "callbackPath")},
    "client_id": "clientId",  # Codex
    "client_secret": "clientSecret",
    "CLIENT_ID": "clientId",  # Cursor
    "CLIENT_SECRET": "clientSecret",
    "scope": "scopes",  # opencode
}
"""Our keys of a login, by those of any client."""
_DISPENSABLE: Final = {"enabled"}
"""Keys of a login that only switch on what search-mcp does anyway."""


@dataclass
class Native:
    """An entry of ours, and what the user has to know about it."""

    entry: dict[str, Any]
    changes: list[str] = field(default_factory=list)
    """Reasons why the entry will not run without changes by the user."""
    remarks: list[str] = field(default_factory=list)
    """Parts that were left out and are not needed."""


def is_address(word: str) -> bool:
    """Return whether a word is the URL of a remote server."""
    return _ADDRESS.match(word) is not None


def is_websocket(kind: str, url: str) -> bool:
    """Return whether a server uses a WebSocket, which no revision of the protocol has."""
    return kind.lower() in ("ws", "websocket") or url.lower().startswith(("ws:", "wss:"))


def flattened(theirs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Lift the members of `transport` into the entry, which Cline CLI writes."""
    inner = theirs.get("transport")
    return {**theirs, **inner} if isinstance(inner, Mapping) else theirs


def entry(theirs: Mapping[str, Any], url: str, headers: Mapping[str, str], env: Mapping[str, str]) -> Native:
    """Build the entry for a URL from a client's entry, whose placeholders are replaced by ours already.

    `env` are variables of the entry itself, which its headers may refer to.
    """
    kind = _kind(theirs)
    made: dict[str, Any] = {"url": inlined(url, env)}
    native = Native(made)
    if is_websocket(kind, url):
        made["type"] = "ws"
        native.changes.append("it uses a WebSocket, which search-mcp does not support; use its https address")
    elif _SOCKET.match(url):
        native.changes.append("its address is a local socket, which search-mcp does not support")
    elif kind == "sse":
        made["type"] = "sse"
    if headers:
        made["headers"] = {name: inlined(value, env) for name, value in headers.items()}
    login = _login(theirs, native.changes)
    if login is not None:
        made["oauth"] = login
    if isinstance(theirs.get("caFile"), str):
        made["caFile"] = theirs["caFile"]
    native.changes += [f'its "{key}" has no counterpart' for key in _WITHOUT_COUNTERPART if theirs.get(key)]
    return native


def inlined(text: str, env: Mapping[str, str]) -> str:
    """Replace placeholders of variables in `env` by their values."""
    return _PLACEHOLDER.sub(lambda match: env.get(match[1], match[0].replace("$$", "$")), text)


def _kind(theirs: Mapping[str, Any]) -> str:
    said = theirs.get("type") or theirs.get("transport") or theirs.get("transportType")
    return said.lower() if isinstance(said, str) else ""


def _login(theirs: Mapping[str, Any], changes: list[str]) -> dict[str, Any] | bool | None:
    """Return the `oauth` of our entry; `None` if the client's entry says nothing about the login."""
    if theirs.get("oauth") is False:
        return False
    login: dict[str, Any] = {}
    for key, value in _settings(theirs):
        if key in _OAUTH:
            login[_OAUTH[key]] = value.split() if _OAUTH[key] == "scopes" and isinstance(value, str) else value
        elif key not in _DISPENSABLE:
            changes.append(f'"{key}" of its login has no counterpart')
    return login or None


def _settings(theirs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key in ("oauth", "auth"):
        if isinstance(theirs.get(key), Mapping):
            yield from ((str(name), value) for name, value in theirs[key].items() if value not in ("", None, []))
    if theirs.get("oauth_resource"):  # Codex
        yield "resource", theirs["oauth_resource"]
    if isinstance(theirs.get("scopes"), list) and theirs["scopes"]:  # Codex
        yield "scopes", theirs["scopes"]
