"""The front as a protected resource: who issues its access tokens, and how a client is told. Pure.

Sources: basic/authorization of 2025-11-25 and 2026-07-28, RFC 9728, RFC 6750.
"""

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from search_mcp.auth.addresses import Reach, check_url
from search_mcp.auth.errors import AddressRefused
from search_mcp.auth.metadata import resource_urls
from search_mcp.wire import payload
from search_mcp.wire.structs import Struct

# RFC 6749, 3.3: "scope-token = 1*( %x21 / %x23-5B / %x5D-7E )"
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")


class ProtectedResource(Struct, frozen=True):
    """The resource that access tokens are for."""

    issuer: str
    """The authorization server."""
    audience: str
    """The public address of the endpoint, which is the `resource` of requests for tokens."""
    scopes: tuple[str, ...] = ()
    """The scopes that a token needs."""

    @classmethod
    def of(
        cls,
        issuer: str | None,
        audience: str | None,
        scopes: Iterable[str],
        names: tuple[str, str] = ("--issuer", "--audience"),
    ) -> "ProtectedResource | None":
        """Return the resource that an operator describes, if any; `names` are those of the first two in errors.

        Raises:
            ValueError: the description cannot be used.
        """
        needed = tuple(scopes)
        if not (issuer or audience or needed):
            return None
        if not issuer or not audience:
            raise ValueError(f"{' and '.join(names)} are both needed, or neither")
        for name, url in zip(names, (issuer, audience), strict=True):
            try:
                check_url(name, url, Reach.SPECIAL)
            except AddressRefused as exc:
                raise ValueError(f"{name} cannot be used: {exc.why}") from exc
        if not all(map(_SCOPE.fullmatch, needed)):
            raise ValueError("a scope has no spaces, quotes or backslashes")
        return cls(issuer, audience, needed)

    @property
    def host(self) -> str:
        """The host by which clients call."""
        return urlsplit(self.audience).netloc

    @property
    def paths(self) -> set[str]:
        """The paths of the metadata: at the root, and at the path of the endpoint as clients and as we know it."""
        own, known = map(urlsplit, (resource_urls(self.audience)[0], "/.well-known/oauth-protected-resource"))
        return {own.path, known.path, f"{known.path}/mcp"}

    def metadata(self) -> bytes:
        """Return the protected resource metadata.

        > The Protected Resource Metadata document returned by the MCP server MUST include the `authorization_servers`
        > field containing at least one authorization server.
        """
        scopes = {"scopes_supported": self.scopes} if self.scopes else {}
        servers = {"resource": self.audience, "authorization_servers": [self.issuer]}
        return payload.encode_bytes({**servers, **scopes, "bearer_methods_supported": ["header"]})

    def challenge(self, error: str = "") -> tuple[str, str]:
        """Return the header of a response to a client without a sufficient token.

        > Include the resource metadata URL in the `WWW-Authenticate` HTTP header under `resource_metadata` when
        > returning `401 Unauthorized` responses
        """
        # RFC 6750, 3.1: "If the request lacks any authentication information [...] the resource server SHOULD NOT
        # include an error code".
        members = {"error": error, "scope": " ".join(self.scopes), "resource_metadata": resource_urls(self.audience)[0]}
        return "www-authenticate", "Bearer " + ", ".join(f'{name}="{text}"' for name, text in members.items() if text)
