"""Discovery of the authorization server of an MCP server, with the fallbacks of revision 2025-03-26. Pure.

Sources: basic/authorization/authorization-server-discovery of 2026-07-28, RFC 9728, RFC 8414, OpenID Connect
Discovery 1.0.
"""

from collections.abc import Sequence
from typing import TypeVar
from urllib.parse import urljoin, urlsplit

from search_mcp.auth.addresses import LONGEST_URL, Reach, canonical, check_url, origin
from search_mcp.auth.challenges import Challenge
from search_mcp.auth.errors import AddressRefused, AuthError, Unavailable, quoted
from search_mcp.auth.steps import Response, Steps, get
from search_mcp.wire import payload
from search_mcp.wire.structs import Struct

MOST_REDIRECTS = 3
"""Redirects of a metadata document that are followed, each checked like the first address."""
MOST_SERVERS = 5
"""Authorization servers of a resource that are tried."""
_REDIRECTS = (301, 302, 303, 307, 308)
RESOURCE, SERVER = "protected resource metadata", "authorization server metadata"

S = TypeVar("S")


class ProtectedResource(Struct, frozen=True):
    """Protected resource metadata (RFC 9728)."""

    resource: str | None = None
    authorization_servers: tuple[str, ...] | None = None
    scopes_supported: tuple[str, ...] | None = None


class AuthorizationServer(Struct, frozen=True):
    """Authorization server metadata (RFC 8414), or that of OpenID Connect."""

    issuer: str
    authorization_endpoint: str | None = None
    token_endpoint: str | None = None
    registration_endpoint: str | None = None
    revocation_endpoint: str | None = None
    jwks_uri: str | None = None
    scopes_supported: tuple[str, ...] | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] | None = None
    code_challenge_methods_supported: tuple[str, ...] | None = None
    authorization_response_iss_parameter_supported: bool | None = None
    client_id_metadata_document_supported: bool | None = None


class Discovery(Struct, frozen=True):
    """The result of discovery."""

    server: AuthorizationServer
    resource: str
    """The `resource` of requests for tokens."""
    scopes: tuple[str, ...] | None
    """The scopes of the protected resource metadata; `None` if it has none."""


def discover(
    url: str, challenge: Challenge | None, reach: Reach, *, issuer: str | None = None, known: str | None = None
) -> Steps[Discovery]:
    """Find the authorization server of an MCP server.

    `issuer` is the configured one, if any, and `known` that of the stored login.

    Raises:
        AuthError: none is found, or it cannot be used.
    """
    resource = yield from _protected_resource(url, challenge, reach)
    if resource is None:
        server = yield from _of_first_revision(url, reach) if issuer is None else of_issuer(issuer, reach)
        return Discovery(server, canonical(url), None)
    identifier = _resource(url, resource)
    offered = resource.authorization_servers or ()
    if issuer is not None and issuer not in offered and offered:
        # "If the authorization server indicated by protected resource metadata no longer matches the one the
        # credentials were registered with, clients SHOULD surface an error".
        raise AuthError(
            f"it uses the authorization server {quoted(offered[0])}, and the configuration names {quoted(issuer)}"
        )
    if issuer is None and not offered:
        server = yield from _of_first_revision(url, reach)
    else:
        wanted = issuer or known
        first = (wanted,) if wanted in offered and wanted else (issuer,) if issuer else ()
        server = yield from _first_usable((*first, *(each for each in offered if each not in first)), reach)
    return Discovery(server, identifier, resource.scopes_supported)


def resource_urls(url: str) -> list[str]:
    """List the well-known addresses of the protected resource metadata, in order."""
    path = urlsplit(url).path.rstrip("/")
    root = f"{origin(url)}/.well-known/oauth-protected-resource"
    return [f"{root}{path}", root] if path else [root]


def server_urls(issuer: str) -> list[str]:
    """List the well-known addresses of an authorization server's metadata, in order."""
    base, path = origin(issuer), urlsplit(issuer).path.rstrip("/")
    known = f"{base}/.well-known/"
    if not path:
        return [f"{known}oauth-authorization-server", f"{known}openid-configuration"]
    return [
        f"{known}oauth-authorization-server{path}",
        f"{known}openid-configuration{path}",
        f"{base}{path}/.well-known/openid-configuration",
    ]


def of_issuer(issuer: str, reach: Reach) -> Steps[AuthorizationServer]:
    """Read the metadata of an authorization server.

    Raises:
        AuthError: it has none, or it cannot be used.
    """
    check_url("authorization server", issuer, reach)
    temporary: Response | None = None
    for url in server_urls(issuer):
        response = yield from _fetch(SERVER, url, reach)
        if response.status == 200:
            server = _decoded(SERVER, response, AuthorizationServer)
            # "the `issuer` value in the document MUST be identical to the issuer identifier used to construct the
            # well-known URL. If they differ, the client MUST NOT use the metadata."
            if server.issuer != issuer:
                raise AuthError(f"the metadata of the authorization server {quoted(issuer)} names another issuer")
            return _checked(server, reach)
        temporary = temporary or (response if response.is_temporary else None)
    if temporary is not None:
        raise Unavailable(_no_answer(SERVER, temporary))
    raise AuthError(f"the authorization server {quoted(issuer)} has no metadata")


def _protected_resource(url: str, challenge: Challenge | None, reach: Reach) -> Steps[ProtectedResource | None]:
    """Read the metadata of the server; `None` if it has none.

    > MCP clients MUST [...] use the resource metadata URL from the parsed `WWW-Authenticate` headers when present;
    > otherwise, they MUST fall back to constructing and requesting the well-known URIs

    A named address with no document is treated like an absent one, as in the SDKs.
    """
    named = challenge.metadata_url if challenge else None
    for each in [*([_joined(RESOURCE, url, named)] if named else []), *resource_urls(url)]:
        response = yield from _fetch(RESOURCE, each, reach)
        if response.status == 200:
            return _decoded(RESOURCE, response, ProtectedResource)
        if response.is_temporary:
            raise Unavailable(_no_answer(RESOURCE, response))
    return None


def _resource(url: str, metadata: ProtectedResource) -> str:
    """Return the identifier of the resource, verbatim: authorization servers compare it as text.

    Raises:
        AuthError: it is the identifier of another server.
    """
    named = metadata.resource
    if named is None:
        return canonical(url)
    if len(named) > LONGEST_URL:
        raise AuthError(f"its {RESOURCE} names a resource of more than {LONGEST_URL:,} characters")
    # RFC 9728, 3.3: "If these values are not identical, the data contained in the response MUST NOT be used." The
    # metadata of the root describes every path of a host, so a parent path is accepted, as by the SDKs.
    try:
        own, other = urlsplit(canonical(url)), urlsplit(canonical(named))
        is_same = origin(url) == origin(named)
    except ValueError:
        is_same = False
    if not is_same or not f"{own.path.rstrip('/')}/".startswith(f"{other.path.rstrip('/')}/"):
        raise AuthError(f"its {RESOURCE} describes another server: {quoted(named)}")
    return named


def _first_usable(issuers: Sequence[str], reach: Reach) -> Steps[AuthorizationServer]:
    """Read the metadata of the first authorization server that has usable metadata.

    Raises:
        AuthError: none has; the text is about the first one.
    """
    first: AuthError | None = None
    for each in issuers[:MOST_SERVERS]:
        try:
            return (yield from of_issuer(each, reach))
        except AuthError as exc:
            first = first or exc
    assert first is not None
    raise first


def _of_first_revision(url: str, reach: Reach) -> Steps[AuthorizationServer]:
    """Find the authorization server of a server without protected resource metadata, as 2025-03-26 has it.

    > The authorization base URL MUST be determined from the MCP server URL by discarding any existing `path`
    > component.
    """
    base = origin(url)
    for each in server_urls(base):
        response = yield from _fetch(SERVER, each, reach)
        if response.status == 200:
            server = _decoded(SERVER, response, AuthorizationServer)
            if server.issuer not in (base, f"{base}/"):
                raise AuthError(f"the metadata of the authorization server {base} names another issuer")
            return _checked(server, reach)
        if response.is_temporary:
            raise Unavailable(_no_answer(SERVER, response))
    # "For servers that do not implement OAuth 2.0 Authorization Server Metadata, clients MUST use the following
    # default endpoint paths relative to the authorization base URL". "PKCE is REQUIRED for all clients".
    return AuthorizationServer(
        issuer=base,
        authorization_endpoint=f"{base}/authorize",
        token_endpoint=f"{base}/token",
        registration_endpoint=f"{base}/register",
        code_challenge_methods_supported=("S256",),
    )


def _checked(server: AuthorizationServer, reach: Reach) -> AuthorizationServer:
    """Check the endpoints of an authorization server.

    Raises:
        AuthError: it cannot be used.
    """
    if not server.token_endpoint:
        raise AuthError(f"the authorization server {quoted(server.issuer)} names no token endpoint")
    for name in ("authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint"):
        url = getattr(server, name)
        if url is not None:
            check_url(name.replace("_", " "), url, reach)
    return server


def _fetch(purpose: str, url: str, reach: Reach) -> Steps[Response]:
    """Get a document; follow redirects to addresses that the server may name."""
    for _ in range(MOST_REDIRECTS + 1):
        check_url(purpose, url, reach)
        response = yield get(purpose, url)
        target = response.headers.get("location", "")
        if response.status not in _REDIRECTS or not target:
            return response
        url = _joined(purpose, url, target)
    raise AuthError(f"its {purpose} cannot be read: too many redirects")


def _joined(purpose: str, base: str, target: str) -> str:
    try:
        return urljoin(base, target)
    except ValueError as exc:
        raise AddressRefused(purpose, "", "it is not a URL") from exc


def _decoded(purpose: str, response: Response, kind: type[S]) -> S:
    try:
        return payload.typed(response.body, kind)
    except ValueError as exc:
        raise AuthError(f"its {purpose} cannot be read: {exc}") from exc


def _no_answer(purpose: str, response: Response) -> str:
    return f"its {purpose} cannot be read: {response.failure or f'HTTP status {response.status}'}"
