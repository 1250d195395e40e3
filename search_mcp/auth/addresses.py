"""Checks of the addresses in the metadata of a server's login.

No server can make search-mcp contact an address that the user's network hides from the server.

> MCP clients SHOULD block requests to private and reserved IP address ranges

(docs/tutorials/security/security_best_practices, Server-Side Request Forgery). A server at a private address may name
other private ones, and a server on this machine other local ones. Pure: `fetching` resolves names and checks each
address before it connects.
"""

import ipaddress
import re
from enum import IntEnum
from urllib.parse import urlsplit

from search_mcp.auth.errors import AddressRefused
from search_mcp.config.addresses import is_loopback

LONGEST_URL = 2048
"""Characters of an address that a server names; those of authorization servers have fewer than 200."""
_ENDS_IN_NUMBER = re.compile(r"(?ai)(?:.*\.)?(?:\d+|0x[\da-f]*)\.?")
"""A host that some resolvers read as an IPv4 address, such as `2130706433` and `0x7f.1`."""
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_ONE_OWNER = (
    frozenset({"https://accounts.google.com", "https://oauth2.googleapis.com"}),
    frozenset({"https://www.figma.com", "https://api.figma.com"}),
)
"""Hosts of one authorization server. Any others count as unrelated, also within one domain: whoever has a name in
`github.io` or `vercel.app` owns no other name there."""


class Reach(IntEnum):
    """The network in which an address can be contacted; a server may name addresses of its own reach or a lower one."""

    PUBLIC = 0
    PRIVATE = 1
    LOOPBACK = 2
    SPECIAL = 3
    """Link-local (metadata services of cloud providers), multicast and unspecified addresses."""


WHY = {
    Reach.PRIVATE: "it is in a private network",
    Reach.LOOPBACK: "it is on this computer",
    Reach.SPECIAL: "it is in a reserved network",
}


def reach_of_address(text: str) -> Reach:
    """Return the reach of an IP address.

    Raises:
        ValueError: it is not an IP address.
    """
    address: ipaddress.IPv4Address | ipaddress.IPv6Address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return reach_of_address(str(inner))
    if address.is_loopback:
        return Reach.LOOPBACK
    if address.is_link_local or address.is_multicast or address.is_unspecified:
        return Reach.SPECIAL
    return Reach.PUBLIC if address.is_global else Reach.PRIVATE


def reach_of_host(host: str) -> Reach | None:
    """Return the reach of the host of a URL; `None` for a name that must be resolved."""
    try:
        return reach_of_address(host)
    except ValueError:
        return Reach.LOOPBACK if is_loopback(host) else None


def check_url(purpose: str, url: str, server: Reach) -> None:
    """Check a URL that a server named.

    Raises:
        AddressRefused: it must not be used.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError as exc:
        raise AddressRefused(purpose, "", "it is not a URL") from exc
    if len(url) > LONGEST_URL:
        raise AddressRefused(purpose, url, f"it has more than {LONGEST_URL:,} characters")
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url or not host:
        raise AddressRefused(purpose, url, "it is not a URL")
    if parts.username is not None or parts.password is not None:
        raise AddressRefused(purpose, "", "it contains a user name")
    if parts.fragment:
        raise AddressRefused(purpose, url, "it contains a fragment")
    reach = reach_of_host(host)
    if reach is None and _ENDS_IN_NUMBER.fullmatch(host):
        raise AddressRefused(purpose, url, "its host is a number")
    if parts.scheme != "https" and not (parts.scheme == "http" and reach is Reach.LOOPBACK):
        # "All authorization server endpoints MUST be served over HTTPS."
        raise AddressRefused(purpose, url, "it is not https")
    if reach is not None:
        check_reach(purpose, url, reach, server)


def check_reach(purpose: str, url: str, reach: Reach, server: Reach) -> None:
    """Check the address that a URL leads to.

    Raises:
        AddressRefused: the server may not name it.
    """
    if reach > server:
        raise AddressRefused(purpose, url, f"{WHY[reach]}, and the server is not")


def origin(url: str) -> str:
    """Return the scheme, host and port of a URL, in lower case and without the default port."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    default = {"https": 443, "http": 80}.get(parts.scheme)
    return f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port not in (None, default) else "")


def have_one_owner(*urls: str) -> bool:
    """Return whether URLs are of one host and port, or of hosts that are known to belong together."""
    origins = {origin(url) for url in urls}
    return len(origins) == 1 or any(origins <= each for each in _ONE_OWNER)


def canonical(url: str) -> str:
    """Return the URL of an MCP server as its resource identifier: path and query verbatim.

    > implementations SHOULD consistently use the form without the trailing slash [...] unless the trailing slash is
    > semantically significant

    so the slash is removed only if it is the whole path.
    """
    parts = urlsplit(url)
    path = "" if parts.path == "/" and not parts.query else parts.path
    return origin(url) + path + (f"?{parts.query}" if parts.query else "")
