"""The OAuth client as which search-mcp logs in: pre-registered, described by a document, or registered dynamically.

Source: basic/authorization/client-registration of 2026-07-28; RFC 7591. Pure.
"""

import base64
from collections.abc import Collection
from typing import Literal
from urllib.parse import quote_plus

from search_mcp.auth.addresses import have_one_owner
from search_mcp.auth.errors import AuthError, Refused, Unavailable, quoted
from search_mcp.auth.metadata import AuthorizationServer
from search_mcp.auth.settings import LoginSettings
from search_mcp.auth.steps import JSON, Request, Response, Steps
from search_mcp.wire import payload
from search_mcp.wire.structs import Struct

CLIENT_NAME = "search-mcp"
PURPOSE = "client registration"

LONGEST_CREDENTIAL = 4096
"""Characters of a client ID, which is a part of the login's address, and of a secret that a server gives."""

AuthMethod = Literal["none", "client_secret_post", "client_secret_basic"]
METHODS: tuple[AuthMethod, ...] = ("none", "client_secret_post", "client_secret_basic")
"""Methods of authentication at the token endpoint, the preferred one first; a local program cannot keep a secret."""


class Registration(Struct, frozen=True, kw_only=True):
    """A client ID at one authorization server."""

    issuer: str
    client_id: str
    client_secret: str | None = None
    auth_method: AuthMethod = "none"
    redirect_uri: str = ""
    source: Literal["configured", "document", "registered"] = "registered"
    scopes: tuple[str, ...] = ()
    """The scopes that it was registered with; some authorization servers refuse others to it."""
    secret_expires_at: float = 0
    """Seconds since 1970; 0 for never."""
    is_forgotten: bool = False
    """Whether the authorization server does not know it any more."""

    def __repr__(self) -> str:
        return f"<Registration {self.source} at {self.issuer}>"

    def fits(self, issuer: str, redirect_uri: str, scopes: Collection[str], now: float) -> bool:
        """Return whether a stored registration can be used for a login.

        > When the authorization server changes [...], clients MUST NOT reuse client credentials from a different
        > authorization server and MUST re-register with the new authorization server.
        """
        is_valid = not self.is_forgotten and (not self.secret_expires_at or now < self.secret_expires_at)
        # Authorization servers compare the port of a loopback address, although RFC 8252, 7.3 tells them not to.
        is_same = (self.issuer, self.redirect_uri) == (issuer, redirect_uri) and {*scopes} <= {*self.scopes}
        return self.source == "registered" and is_valid and is_same

    def proof(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the headers and the members of a form that prove who the client is (RFC 6749, 2.3.1)."""
        if self.auth_method == "client_secret_basic":
            # Both parts are form-encoded before they are joined.
            pair = f"{quote_plus(self.client_id)}:{quote_plus(self.client_secret or '')}"
            return {"authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}, {}
        if self.auth_method == "client_secret_post":
            return {}, {"client_id": self.client_id, "client_secret": self.client_secret or ""}
        return {}, {"client_id": self.client_id}


class _Registered(Struct, frozen=True):
    """The response of a registration endpoint, or its error."""

    client_id: str | None = None
    client_secret: str | None = None
    client_secret_expires_at: float | None = None
    token_endpoint_auth_method: str | None = None
    error: str | None = None
    error_description: str | None = None


def register(
    settings: LoginSettings,
    server: AuthorizationServer,
    stored: Registration | None,
    redirect_uri: str,
    scopes: tuple[str, ...],
    now: float,
) -> Steps[Registration]:
    """Return the client to log in with.

    Raises:
        AuthError: there is none, and no way to get one.
    """
    # "1. Use pre-registered client information [...] 2. Use Client ID Metadata Documents if the Authorization Server
    # indicates that it supports them [...] 3. Use Dynamic Client Registration as a fallback [...] 4. Prompt the user"
    if settings.client_id is not None:
        return configured(settings, server, stored, redirect_uri)
    document = settings.client_metadata_url
    if document is not None and server.client_id_metadata_document_supported:
        return Registration(issuer=server.issuer, client_id=document, redirect_uri=redirect_uri, source="document")
    supported = server.scopes_supported
    # Authorization servers refuse the registration of scopes that they do not list: those of the resource alone.
    known = frozenset(scopes if supported is None else supported)
    registered = tuple(each for each in scopes if each in known)
    if stored is not None and stored.fits(server.issuer, redirect_uri, registered, now):
        return stored
    if server.registration_endpoint is not None:
        return (yield from _registered(server, server.registration_endpoint, redirect_uri, registered))
    raise AuthError(
        f"the authorization server {quoted(server.issuer)} registers no clients itself: register one there, with the "
        f'redirect URI {redirect_uri}, and set "oauth": {{"clientId": "..."}} in the entry'
    )


def configured(
    settings: LoginSettings, server: AuthorizationServer, stored: Registration | None, redirect_uri: str = ""
) -> Registration:
    """Return the client of the configuration.

    Raises:
        AuthError: it was registered with another authorization server, or its secret may not be sent to this one.
    """
    assert settings.client_id is not None
    is_bound = stored is not None and stored.source == "configured" and stored.client_id == settings.client_id
    if settings.issuer is None and is_bound and stored is not None and stored.issuer != server.issuer:
        # "Pre-registered credentials are inherently specific to a particular authorization server."
        raise AuthError(
            f"its authorization server was {quoted(stored.issuer)} and is now {quoted(server.issuer)}; if that is "
            f'right, set "oauth": {{"issuer": "{quoted(server.issuer)}"}} in the entry, with the client ID from there'
        )
    is_sent = is_bound and stored is not None and stored.auth_method != "none"
    is_named = settings.issuer is not None or have_one_owner(settings.url, server.issuer)
    if settings.client_secret is not None and not (is_named or is_sent):
        # Any server may name any authorization server, which is then sent the secret.
        raise AuthError(
            f'its "clientSecret" is sent only to an authorization server that the entry names: if the client is from '
            f'{quoted(server.issuer)}, set "issuer": "{quoted(server.issuer)}" in "oauth" of the entry'
        )
    return Registration(
        issuer=server.issuer,
        client_id=settings.client_id,
        client_secret=settings.client_secret,
        auth_method=_method(server, has_secret=settings.client_secret is not None),
        redirect_uri=redirect_uri,
        source="configured",
    )


def _registered(
    server: AuthorizationServer, endpoint: str, redirect_uri: str, scopes: tuple[str, ...]
) -> Steps[Registration]:
    supported = server.token_endpoint_auth_methods_supported
    wanted = next((each for each in METHODS if supported is None or each in supported), METHODS[0])
    content = {
        "client_name": CLIENT_NAME,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": wanted,
        # "MCP clients MUST specify an appropriate `application_type` during Dynamic Client Registration."
        "application_type": "native",
    }
    if scopes:
        content["scope"] = " ".join(scopes)
    headers = {"accept": JSON, "content-type": JSON}
    response = yield Request(PURPOSE, endpoint, "POST", headers, payload.encode_bytes(content))
    found = _read(response)
    if not found.client_id:
        raise AuthError("the authorization server registered no client: its answer has no client ID")
    if max(len(found.client_id), len(found.client_secret or "")) > LONGEST_CREDENTIAL:
        raise AuthError(
            f"the authorization server registered a client whose ID or secret has more than {LONGEST_CREDENTIAL:,} "
            "characters"
        )
    method = found.token_endpoint_auth_method
    if method not in METHODS:
        method = _method(server, has_secret=found.client_secret is not None)
    return Registration(
        issuer=server.issuer,
        client_id=found.client_id,
        client_secret=found.client_secret,
        auth_method=method,
        redirect_uri=redirect_uri,
        scopes=scopes,
        secret_expires_at=found.client_secret_expires_at or 0,
    )


def _read(response: Response) -> _Registered:
    if response.is_temporary:
        why = response.failure or f"HTTP status {response.status}"
        raise Unavailable(f"the authorization server registered no client: {why}")
    try:
        found = payload.typed(response.body, _Registered)
    except ValueError as exc:
        raise AuthError(f"the authorization server registered no client: HTTP status {response.status}") from exc
    if response.status >= 300:
        # "clients SHOULD surface a meaningful error to the user or developer"
        raise Refused(PURPOSE, found.error or f"HTTP status {response.status}", found.error_description or "")
    return found


def _method(server: AuthorizationServer, *, has_secret: bool) -> AuthMethod:
    if not has_secret:
        return "none"
    # RFC 8414: "If omitted, the default is `client_secret_basic`".
    supported = server.token_endpoint_auth_methods_supported or ("client_secret_basic",)
    return "client_secret_post" if "client_secret_basic" not in supported else "client_secret_basic"
