"""The server card of a new remote server: its description of itself, which is shown but not used.

> Clients MUST NOT treat Server Card contents as authoritative for security or access-control decisions.

Sources: SEP-2127 (final), and docs/discovery.md and schema.ts of modelcontextprotocol/experimental-ext-server-card, of
2026-07-24.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from search_mcp.auth.errors import AuthError
from search_mcp.auth.fetching import Fetcher
from search_mcp.auth.steps import Request
from search_mcp.cli.terminal import Terminal
from search_mcp.fronts.http.server_card import MEDIA_TYPE, SUFFIX
from search_mcp.http.failures import CONNECT_SECONDS
from search_mcp.model.visible import one_line
from search_mcp.wire import payload
from search_mcp.wire.structs import Struct, field

_LONGEST = 100
"""Characters of a title or a description: "@maxLength 100"."""
_HEADER = re.compile(r"[A-Za-z0-9-]{1,64}")


class Header(Struct, frozen=True):
    """A header that clients send to the server."""

    name: str
    is_required: bool = field(name="isRequired", default=False)


class Remote(Struct, frozen=True):
    """An address of the server."""

    url: str
    headers: tuple[Header, ...] = ()


class Card(Struct, frozen=True):
    """The members of a card that a person is shown."""

    name: str
    description: str
    title: str = ""
    remotes: tuple[Remote, ...] = ()


def show(name: str, entry: Mapping[str, Any], screen: Terminal) -> None:
    """Show the card of a new server, if it has one, and the required headers that its entry lacks."""
    card = read(entry)
    if card is None:
        return
    screen.note(f"{name} describes itself as {_short(card.title or card.name)}: {_short(card.description)}")
    for header in _missing(card, entry):
        screen.warning(f"{name} asks for the header {header}; remove it, and add it again with --secret {header}")


def read(entry: Mapping[str, Any]) -> Card | None:
    """Return the card of the server of an entry; `None` if there is none that can be read."""
    url = entry.get("url")
    if not isinstance(url, str) or "${" in url or entry.get("type") == "sse":
        return None
    try:
        parts = urlsplit(url)
        # "The `/server-card` suffix is appended to the server's **streamable-HTTP URL**". Secrets in it are not sent.
        host, path = parts.netloc.rpartition("@")[2], parts.path + SUFFIX
        card_url = parts._replace(netloc=host, path=path, query="", fragment="").geturl()
        # "A client requesting a Server Card SHOULD send `Accept: application/mcp-server-card+json`"
        request = Request("server card", card_url, headers={"accept": MEDIA_TYPE})
        response = Fetcher(card_url, seconds=CONNECT_SECONDS).fetch(request)
        card = payload.typed(response.body, Card) if response.status == 200 else None
    except (AuthError, ValueError):
        return None
    return card if card is not None and 0 < len(card.description) <= _LONGEST >= len(card.title) else None


def _missing(card: Card, entry: Mapping[str, Any]) -> Iterator[str]:
    present = {f"{each}".lower() for each in entry.get("headers") or ()}
    headers = next((remote.headers for remote in card.remotes if remote.url == entry["url"]), ())
    for header in headers[:8]:
        if header.is_required and header.name.lower() not in present and _HEADER.fullmatch(header.name):
            yield header.name


def _short(text: str) -> str:
    return one_line(text)[:_LONGEST]
