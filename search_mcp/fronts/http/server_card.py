"""The server card: how a client can connect, for those that have not connected yet.

It says nothing of the servers and tools behind search-mcp, so it needs no token. Sources: SEP-2127 (final), and
docs/discovery.md and schema.ts of modelcontextprotocol/experimental-ext-server-card, of 2026-07-24.
"""

import hashlib
from typing import Any

from search_mcp import __version__
from search_mcp.dialects import names
from search_mcp.fronts.http.requests import HttpRequest, RefusedError
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


async def answer(request: HttpRequest, card: bytes) -> None:
    """Answer a request for a card.

    Raises:
        RefusedError: the method is another than GET, or OPTIONS of a browser.
    """
    if request.method == "OPTIONS":
        await request.respond(204, headers=HEADERS)
        return
    if request.method != "GET":
        raise RefusedError(405, "use GET", ("allow", "GET, OPTIONS"))
    # "Hosts SHOULD also return an `ETag` response header", and "SHOULD honor `If-None-Match`"
    tag = f'"{hashlib.sha256(card).hexdigest()[:32]}"'
    known = [each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")]
    headers = (*HEADERS, ("etag", tag))
    if tag in known:
        await request.respond(304, headers=headers)
    else:
        await request.respond(200, card, headers, MEDIA_TYPE)
