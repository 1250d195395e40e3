"""The validation of access tokens of an authorization server, which are JWTs; the front is the resource server.

> MCP servers MUST validate that access tokens were issued specifically for them as the intended audience
> The MCP server MUST NOT pass through the token it received from the MCP client.

So a token becomes the name of its subject here, and nothing behind this module sees it. Sources: basic/authorization
of 2025-11-25 and 2026-07-28, OAuth 2.1 section 5, RFC 9068, RFC 8725. Loaded only if there is an issuer.
"""

import base64
import hashlib
from typing import Any

import jwt

from search_mcp.fronts.http.access import SUBJECT_PREFIX, Token
from search_mcp.fronts.http.issuer_keys import ALGORITHMS, REST_SECONDS, IssuerKeys, IssuerUnreachableError
from search_mcp.fronts.http.protected_resource import ProtectedResource
from search_mcp.fronts.http.requests import RefusedError

MOST_CHARACTERS = 16 << 10
"""Of a token; those of authorization servers have one or two thousand."""
LEEWAY_SECONDS = 30
"""Difference of clocks that is accepted."""
LONGEST_SUBJECT = 255
"""OpenID Connect Core, 2: "It MUST NOT exceed 255 ASCII characters in length"."""
# RFC 9068, 4: "The resource server MUST verify that the "typ" header value is "at+jwt" or "application/at+jwt"".
# Keycloak, Entra and Auth0 write "JWT" by default, and RFC 7519 lets it out; an ID token has another audience.
_TYPES = ("at+jwt", "application/at+jwt", "jwt", "")
_REASONS: tuple[tuple[type[jwt.PyJWTError], str], ...] = (
    (jwt.ExpiredSignatureError, "it has expired"),
    (jwt.ImmatureSignatureError, "it is not valid yet"),
    (jwt.InvalidAudienceError, "it is for another audience"),
    (jwt.InvalidIssuerError, "it is of another issuer"),
    (jwt.MissingRequiredClaimError, "iss, sub, aud or exp is missing"),
    (jwt.InvalidSignatureError, "its signature is wrong"),
)


class ResourceServer:
    """Finds out whose an access token is."""

    def __init__(self, resource: ProtectedResource, keys: IssuerKeys) -> None:
        self.resource, self.keys = resource, keys

    async def principal(self, token: str) -> Token:
        """Return the principal of an access token: the same one for all tokens of a subject.

        Raises:
            RefusedError: it is not valid, or it is not known whether it is.
        """
        claims = await self._claims(token)
        subject = claims["sub"]
        if not subject.isprintable() or not 0 < len(subject) <= LONGEST_SUBJECT:
            raise self._invalid("its subject cannot be used")
        # RFC 7800: its sender has to prove that it has a key, by TLS (RFC 8705) or DPoP (RFC 9449). This front cannot
        # check that, and such a token must not be worth as much as one that is not bound.
        if "cnf" in claims:
            raise self._invalid("it is bound to a key")
        if not _scopes(claims).issuperset(self.resource.scopes):
            # "`HTTP 403 Forbidden` status code [...] `error="insufficient_scope"`"
            raise RefusedError(403, "the token lacks a scope", self.resource.challenge("insufficient_scope"))
        return Token(principal_name(self.resource.issuer, subject), "", subject=subject)

    async def _claims(self, token: str) -> dict[str, Any]:
        if len(token) > MOST_CHARACTERS:
            raise self._invalid(f"it has more than {MOST_CHARACTERS:,} characters")
        try:
            header = jwt.get_unverified_header(token)
        except jwt.PyJWTError as exc:
            raise self._invalid("it is not a JWT") from exc
        # All other members, such as `jku`, `x5u` and `jwk`, are ignored: no token says where its key is.
        algorithm, kind = header.get("alg"), header.get("typ", "")
        if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
            raise self._invalid("its algorithm is not allowed")
        if not isinstance(kind, str) or kind.lower() not in _TYPES:
            raise self._invalid("it is not an access token")
        try:
            key = await self.keys.find(header.get("kid"), algorithm)
        except IssuerUnreachableError as exc:
            wait = ("retry-after", f"{REST_SECONDS:g}")
            raise RefusedError(503, "the issuer of access tokens does not answer", wait) from exc
        if key is None:
            raise self._invalid("its key is not known")
        try:
            return jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=self.resource.audience,
                issuer=self.resource.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["iss", "sub", "aud", "exp"], "enforce_minimum_key_length": True},
            )
        except jwt.PyJWTError as exc:
            reason = next((text for kind, text in _REASONS if isinstance(exc, kind)), "it cannot be used")
            raise self._invalid(reason) from exc

    def _invalid(self, reason: str) -> RefusedError:
        # "Invalid or expired tokens MUST receive a HTTP 401 response."
        return RefusedError(401, f"the token is not valid: {reason}", self.resource.challenge("invalid_token"))


def principal_name(issuer: str, subject: str) -> str:
    """Return the name of a subject in folders, commands and logs.

    RFC 7519, 4.1.2: "The subject value MUST either be scoped to be locally unique in the context of the issuer or be
    globally unique." So it is a digest of both (130 bits), and no name of a token begins like it.
    """
    digest = hashlib.sha256(f"{issuer}\n{subject}".encode()).digest()
    return SUBJECT_PREFIX + base64.b32encode(digest).decode().lower()[:26]


def _scopes(claims: dict[str, Any]) -> set[str]:
    """Return the scopes of a token: a text with spaces in `scope` (RFC 9068), or Entra's and Okta's `scp`."""
    found = claims.get("scope", claims.get("scp", ""))
    if isinstance(found, list):
        return {each for each in found if isinstance(each, str)}
    return set(found.split()) if isinstance(found, str) else set()
