"""One login of a user in a browser: the address to open, the checks of the answer, and the tokens. Pure.

Sources: basic/authorization of 2026-07-28; RFC 7636 (PKCE), RFC 9207 (`iss`).
"""

import base64
import hashlib
import hmac
from collections.abc import Callable
from urllib.parse import parse_qsl, urlencode, urlsplit

from search_mcp.auth import scopes
from search_mcp.auth.addresses import Reach, have_one_owner, origin
from search_mcp.auth.challenges import Challenge
from search_mcp.auth.errors import AuthError, Refused, SeveralHosts, quoted
from search_mcp.auth.metadata import discover
from search_mcp.auth.records import Login
from search_mcp.auth.registration import Registration, configured, register
from search_mcp.auth.settings import LoginSettings
from search_mcp.auth.steps import Steps
from search_mcp.auth.tokens import redeem_code, request_as_client
from search_mcp.wire.structs import Struct

RandomText = Callable[[], str]
"""Returns a new text of at least 43 URL-safe characters that cannot be guessed."""


class Pending(Struct, frozen=True, kw_only=True):
    """A login that waits for the user.

    > the client MUST record the `issuer` value from the selected authorization server's validated metadata document
    > [...] and associate it with the same per-request record used to store the PKCE code verifier
    """

    url: str
    """The address that the user opens in a browser."""
    state: str
    verifier: str
    issuer: str
    must_name_issuer: bool
    token_endpoint: str
    revocation_endpoint: str | None
    client: Registration
    resource: str | None
    scopes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Pending login at {self.issuer}>"


def begin(
    settings: LoginSettings,
    redirect_uri: str,
    random_text: RandomText,
    *,
    reach: Reach,
    now: float,
    challenge: Challenge | None = None,
    before: Login | None = None,
) -> Steps[Pending]:
    """Prepare a login; `before` is the login that it replaces.

    Raises:
        SeveralHosts: the user has to accept them.
        AuthError: that is not possible.
    """
    stored = before.client if before else None
    found = yield from discover(
        settings.url, challenge, reach, issuer=settings.issuer, known=stored.issuer if stored else None
    )
    server = found.server
    if not server.authorization_endpoint or not server.token_endpoint:
        raise AuthError(f"the authorization server {quoted(server.issuer)} names no authorization endpoint")
    # "If `code_challenge_methods_supported` is absent, the authorization server does not support PKCE and MCP clients
    # MUST refuse to proceed."
    if "S256" not in (server.code_challenge_methods_supported or ()):
        raise AuthError(f"the authorization server {quoted(server.issuer)} does not support PKCE with S256")
    # A hostile server can name the authorization endpoint of an honest one, at which the user logs in, beside a token
    # endpoint of its own, which is then sent the code and the verifier.
    parts = {
        "login page": server.authorization_endpoint,
        "token endpoint": server.token_endpoint,
        "issuer": server.issuer,
    }
    hosts = {part: origin(url).partition("://")[2] for part, url in parts.items()}
    if not have_one_owner(*parts.values()) and hosts != settings.accepted_hosts:
        raise SeveralHosts(hosts)
    wanted = scopes.chosen(
        challenge.scopes if challenge else (),
        settings.scopes,
        found.scopes,
        server.scopes_supported,
        (*before.wanted_scopes, *before.missing_scopes) if before and before.issuer == server.issuer else (),
    )
    client = yield from register(settings, server, stored, redirect_uri, wanted, now)
    resource = settings.resource_of(found.resource)
    state, verifier = random_text(), random_text()
    query = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": redirect_uri,
        "code_challenge": code_challenge(verifier),
        "code_challenge_method": "S256",
        "state": state,
        **({"scope": " ".join(wanted)} if wanted else {}),
        **({"resource": resource} if resource is not None else {}),
    }
    if scopes.OFFLINE in wanted:
        query["prompt"] = "consent"  # OpenID Connect Core, 11: `offline_access` is ignored without it
    separator = "&" if urlsplit(server.authorization_endpoint).query else "?"
    return Pending(
        url=f"{server.authorization_endpoint}{separator}{urlencode(query)}",
        state=state,
        verifier=verifier,
        issuer=server.issuer,
        must_name_issuer=bool(server.authorization_response_iss_parameter_supported),
        token_endpoint=server.token_endpoint,
        revocation_endpoint=server.revocation_endpoint,
        client=client,
        resource=resource,
        scopes=wanted,
    )


def is_for(pending: Pending, query: str) -> bool:
    """Return whether a request to the redirect URI belongs to this login: it has its `state`."""
    states = [value for name, value in parse_qsl(query) if name == "state"]
    return len(states) == 1 and hmac.compare_digest(states[0].encode(), pending.state.encode())


def finish(settings: LoginSettings, pending: Pending, query: str, now: float) -> Steps[Login]:
    """Check the answer that came to the redirect URI, and exchange its code.

    Raises:
        AuthError: the answer is not of this login, or is an error.
    """
    code = code_of(pending, query)
    tokens = yield from redeem_code(
        pending.token_endpoint, pending.client, code, pending.verifier, pending.resource, now
    )
    return Login(
        name=settings.name,
        url=settings.url,
        issuer=pending.issuer,
        token_endpoint=pending.token_endpoint,
        revocation_endpoint=pending.revocation_endpoint,
        client=pending.client,
        resource=pending.resource,
        wanted_scopes=pending.scopes,
        tokens=tokens,
    )


def code_of(pending: Pending, query: str) -> str:
    """Return the authorization code of an answer.

    Raises:
        AuthError: the answer is not of this login, or is an error.
    """
    if not is_for(pending, query):
        # "clients [...] discard any results that do not include or have a mismatch with the original state"
        raise AuthError("the answer of the authorization server is not of this login: its state differs")
    pairs = parse_qsl(query, keep_blank_values=True)
    answer = dict(pairs)
    if len(answer) != len(pairs):  # RFC 6749, 3.1: "parameters MUST NOT be included more than once"
        raise AuthError("the answer of the authorization server names a parameter twice")
    issuer = answer.get("iss")
    # "`true` / absent: Reject the response"; "present: Compare to the recorded issuer using simple string comparison"
    if issuer is None and pending.must_name_issuer:
        raise AuthError("the answer of the authorization server does not name its issuer, as its metadata promises")
    if issuer is not None and issuer != pending.issuer:
        # "on mismatch the client MUST NOT act on or display `error`, `error_description`, or `error_uri`"
        raise AuthError("the answer to the login comes from another authorization server")
    if "error" in answer:
        raise Refused("login", answer["error"], answer.get("error_description", ""))
    if not answer.get("code"):
        raise AuthError("the answer of the authorization server has no code")
    return answer["code"]


def code_challenge(verifier: str) -> str:
    """Return the S256 challenge of a PKCE verifier (RFC 7636, 4.2)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def log_in_as_client(
    settings: LoginSettings,
    *,
    reach: Reach,
    now: float,
    challenge: Challenge | None = None,
    before: Login | None = None,
) -> Steps[Login]:
    """Log in with the client's own credentials, without a user.

    Source: extensions/auth/oauth-client-credentials.

    Raises:
        AuthError: that is not possible.
    """
    if settings.client_id is None or settings.client_secret is None:
        raise AuthError('the grant "client_credentials" needs "clientId" and "clientSecret" in "oauth" of the entry')
    stored = before.client if before else None
    found = yield from discover(
        settings.url, challenge, reach, issuer=settings.issuer, known=stored.issuer if stored else None
    )
    server = found.server
    assert server.token_endpoint is not None  # discovery refuses a server without one
    client = configured(settings, server, stored)
    challenged = challenge.scopes if challenge else ()
    wanted = scopes.chosen(challenged, settings.scopes, found.scopes, None, before.wanted_scopes if before else ())
    resource = settings.resource_of(found.resource)
    tokens = yield from request_as_client(server.token_endpoint, client, wanted, resource, now)
    return Login(
        name=settings.name,
        url=settings.url,
        issuer=server.issuer,
        token_endpoint=server.token_endpoint,
        client=client,
        resource=resource,
        wanted_scopes=wanted,
        tokens=tokens,
    )
