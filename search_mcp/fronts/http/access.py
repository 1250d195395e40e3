"""Who may use the front over HTTP, and from where: tokens with names, and the hosts and origins of requests.

Everything here is decided from the headers of a request, before its body is read.
"""

import hashlib
import hmac
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from search_mcp.wire.structs import Struct

PREFIX = "smcp_"
"""The beginning of every token, by which scanners for secrets find them."""
SUBJECT_PREFIX = "sub-"
"""The beginning of the principals of an authorization server, and of no token's name."""
_SHARING = (("vary", "origin"), ("access-control-expose-headers", "mcp-session-id, www-authenticate"))
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")
"""The hosts of an address that only this machine reaches; with any port."""


class Token(Struct, frozen=True):
    """What is known of a token; its secret is not."""

    name: str
    """The principal, which owns secrets, logins and sessions."""
    digest: str
    """Empty for a subject of an authorization server, which has no secret here."""
    servers: str | None = None
    """Its value of `--servers`."""
    profile: str | None = None
    """The client whose names and lists it is shown."""
    read_only: bool = False
    expires: float | None = None
    """The time from which it is not valid, in seconds since the epoch."""
    created: float = 0.0
    subject: str | None = None
    """The user or client at the authorization server."""

    @property
    def rights(self) -> object:
        """What a client may do and is shown; a token with the same goes on with the sessions of another of its name."""
        return self.name, self.servers, self.profile, self.read_only, self.subject

    def is_valid(self, now: float) -> bool:
        return self.expires is None or now < self.expires


def digest_of(token: str) -> str:
    """Return the digest that is kept of a token, which has 256 random bits and needs no slow hash."""
    return hashlib.sha256(token.encode()).hexdigest()


def bearer(authorization: str | None) -> str:
    """Return what an `Authorization` header proves a client with; empty if it is nothing of this kind."""
    scheme, _, given = (authorization or "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""


def principal(given: str, tokens: Sequence[Token]) -> Token | None:
    """Return the token that a client has given; `None` if it is not valid."""
    digest, found = digest_of(given).encode(), None
    for token in tokens:  # all of them, so that the time does not tell which one fits
        if hmac.compare_digest(digest, token.digest.encode()):
            found = token
    return found if found is not None and found.is_valid(time.time()) else None


class Places(Struct, frozen=True):
    """The hosts by which the front may be called, and the origins of pages that may call it."""

    hosts: Collection[str] = LOCAL_HOSTS
    """In lower case, an address of version 6 in brackets, each with its port or for any port."""
    origins: Collection[str] = ()
    """In lower case."""

    @classmethod
    def of(cls, hosts: Iterable[str], origins: Iterable[str]) -> "Places":
        """Return the hosts of this machine and others, and origins, as a user writes them."""
        named = (f"[{each}]" if each.count(":") > 1 and not each.startswith("[") else each for each in _clean(hosts))
        return cls((*LOCAL_HOSTS, *named), tuple(_clean(origins)))

    def refusal(self, headers: Mapping[str, str]) -> int | None:
        """Return the status with which a request is refused for its place; `None` if it is not."""
        host = headers.get("host", "").lower()
        if host not in self.hosts and _without_port(host) not in self.hosts:
            return 421
        origin = headers.get("origin")
        # "If the `Origin` header is present and invalid, servers MUST respond with HTTP 403 Forbidden."
        if origin is None or origin.lower() in self.origins:
            return None
        scheme, _, place = origin.lower().partition("://")
        is_local = scheme in ("http", "https") and _without_port(place) in LOCAL_HOSTS
        return None if is_local and not self.is_open and _without_port(host) in LOCAL_HOSTS else 403

    def admits_probe(self, headers: Mapping[str, str]) -> bool:
        """Return whether a probe may come by this host: none, an address, a name without dots, or an allowed one.

        A page of another site comes by the name of that site, which has a dot, whatever address it resolves to.
        """
        host = headers.get("host", "")
        _, dot, last = _without_port(host).rpartition(".")
        return not dot or last.rstrip("]").isdecimal() or self.refusal({"host": host}) is None

    def sharing(self, headers: Mapping[str, str]) -> Sequence[tuple[str, str]]:
        """Return the headers with which a browser lets a page of a listed origin read a response (Fetch, 3.3)."""
        origin = headers.get("origin", "")
        return (("access-control-allow-origin", origin), *_SHARING) if origin.lower() in self.origins else ()

    @property
    def is_open(self) -> bool:
        """Whether it is called by other names than those of this machine."""
        return not {*self.hosts} <= {*LOCAL_HOSTS}


def _clean(texts: Iterable[str]) -> Iterator[str]:
    return (each.strip().lower() for each in texts if each.strip())


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host
