"""The server card: how a client can connect, for those that have not connected yet. Pure.

It says nothing of the servers and tools behind search-mcp, so it needs no token. Sources: SEP-2127 (final), and
docs/discovery.md and schema.ts of modelcontextprotocol/experimental-ext-server-card, of 2026-07-24.
"""

import hashlib
from typing import Any

from search_mcp import __version__
from search_mcp.dialects import names
from search_mcp.wire import payload

# "which we reserve for this purpose": `GET <streamable-http-url>/server-card`
SUFFIX = "/server-card"
MEDIA_TYPE = "application/mcp-server-card+json"
HEADERS = (
    # "Hosted Server Card endpoints MUST include appropriate CORS headers to allow browser-based clients"
    ("access-control-allow-origin", "*"),
    ("access-control-allow-methods", "GET"),
    ("access-control-allow-headers", "Content-Type, If-None-Match"),
    ("access-control-expose-headers", "ETag"),
    ("cache-control", "public, max-age=3600"),
)
_TOKEN = {"description": "A token that the operator of this server makes.", "isRequired": True, "isSecret": True}


def server_card(url: str, *, takes_tokens: bool, has_issuer: bool) -> bytes:
    """Return the card of the endpoint at `url`; with an issuer, clients can log in instead of sending a token."""
    remote: dict[str, Any] = {
        "type": "streamable-http",
        "url": url,
        "supportedProtocolVersions": [*names.MODERN, *names.LEGACY],
    }
    if takes_tokens:
        header = {"name": "Authorization", "value": "Bearer {token}", "variables": {"token": _TOKEN}}
        remote["headers"] = [{**header, "isRequired": not has_issuer, "isSecret": True}]
    return payload.encode_bytes(
        {
            "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
            "name": "io.github.search-mcp/search-mcp",
            "version": __version__,
            "title": "search-mcp",
            "description": "One MCP server that runs all your other MCP servers, with a search for their tools.",
            "remotes": [remote],
        }
    )


def entity_tag(card: bytes) -> str:
    """Return the validator of a card. "Hosts SHOULD also return an `ETag` response header"."""
    return f'"{hashlib.sha256(card).hexdigest()[:32]}"'


def is_known(tag: str, if_none_match: str) -> bool:
    """Return whether a client has this card already."""
    return tag in [each.strip().removeprefix("W/") for each in if_none_match.split(",")]
