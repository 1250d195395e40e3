"""Requests to a token endpoint, and their answers. Pure.

Sources: OAuth 2.1 (draft 13), 3.2 and 4; RFC 6749, 2.3.1; RFC 8707.
"""

from collections.abc import Mapping

from search_mcp.auth import scopes
from search_mcp.auth.errors import AuthError, Refused, Unavailable
from search_mcp.auth.registration import Registration
from search_mcp.auth.steps import Response, Steps, post_form
from search_mcp.config.secrets import Redactor, spellings
from search_mcp.wire import payload
from search_mcp.wire.structs import Struct

FINAL_ERRORS = frozenset({"invalid_grant", "invalid_client", "unauthorized_client", "unsupported_grant_type"})
"""Errors of a token endpoint after which a login is over."""
LONGEST_TOKEN = 16 << 10
"""Characters of a token; web servers take about as much in all headers of a request together."""
SHORTEST_SECRET = 8
"""Fewest characters of a secret that is taken out of a server's text: shorter ones are parts of words."""
_SECRET_MEMBERS = ("refresh_token", "code", "code_verifier", "client_secret")
CLIENT_ERRORS = frozenset({"invalid_client", "unauthorized_client"})
"""Those after which the client has to be registered again."""
_TEMPORARY_ERRORS = frozenset({"temporarily_unavailable", "server_error", "slow_down"})


class Tokens(Struct, frozen=True, kw_only=True):
    """The tokens of a login."""

    access_token: str
    refresh_token: str | None = None
    obtained_at: float
    """Seconds since 1970, like all times here."""
    expires_at: float | None = None
    """The end of the access token; `None` if the server did not say."""
    scopes: tuple[str, ...] | None = None
    """The granted scopes; `None` if exactly the requested scopes were granted."""

    def __repr__(self) -> str:
        return f"<Tokens until {self.expires_at}>"


class _Answer(Struct, frozen=True):
    access_token: str | None = None
    token_type: str | None = None
    expires_in: float | str | None = None
    refresh_token: str | None = None
    scope: str | None = None
    error: str | None = None
    error_description: str | None = None


def request_tokens(
    purpose: str, endpoint: str, client: Registration, form: Mapping[str, str | None], now: float
) -> Steps[Tokens]:
    """Ask for tokens; members of the form that are `None` are left out.

    Raises:
        Unavailable: there was no answer.
        Refused: the answer is an error of OAuth.
        AuthError: the answer cannot be used.
    """
    content = {name: value for name, value in form.items() if value is not None}
    headers, members = client.proof()
    content |= members
    response = yield post_form(purpose, endpoint, content, headers)
    sent = [content.get(name) or "" for name in _SECRET_MEMBERS] + [client.client_secret or ""]
    redact = Redactor(spellings(each for each in sent if len(each) >= SHORTEST_SECRET))
    return _read(purpose, response, now, redact)


def redeem_code(
    endpoint: str, client: Registration, code: str, verifier: str, resource: str | None, now: float
) -> Steps[Tokens]:
    """Exchange an authorization code for tokens."""
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": client.redirect_uri,
        "code_verifier": verifier,
        "resource": resource,
    }
    return request_tokens("authorization code", endpoint, client, form, now)


def refresh(endpoint: str, client: Registration, tokens: Tokens, resource: str | None, now: float) -> Steps[Tokens]:
    """Exchange a refresh token for new tokens; the refresh token is kept if the answer has no new one."""
    form = {"grant_type": "refresh_token", "refresh_token": tokens.refresh_token, "resource": resource}
    new = yield from request_tokens("refresh token", endpoint, client, form, now)
    return Tokens(
        access_token=new.access_token,
        refresh_token=new.refresh_token or tokens.refresh_token,
        obtained_at=new.obtained_at,
        expires_at=new.expires_at,
        # RFC 6749, 6: "if omitted is treated as equal to the scope originally granted"
        scopes=tokens.scopes if new.scopes is None else new.scopes,
    )


def request_as_client(
    endpoint: str, client: Registration, wanted: tuple[str, ...], resource: str | None, now: float
) -> Steps[Tokens]:
    """Ask for tokens with the credentials of the client alone, without a user."""
    form = {"grant_type": "client_credentials", "scope": " ".join(wanted) or None, "resource": resource}
    return request_tokens("client credentials", endpoint, client, form, now)


def _read(purpose: str, response: Response, now: float, redact: Redactor) -> Tokens:
    answer = _answer(response.body)
    if answer.error:
        # Servers quote what they were sent.
        refused = Refused(purpose, redact(answer.error), redact(answer.error_description or ""))
        if response.is_temporary or answer.error in _TEMPORARY_ERRORS:
            raise Unavailable(str(refused))
        raise refused
    if response.is_temporary:
        why = response.failure or f"HTTP status {response.status}"
        raise Unavailable(f"the authorization server did not answer the request for tokens ({purpose}): {why}")
    if response.status not in (200, 201) or not answer.access_token:
        raise AuthError(
            f"the answer of the authorization server has no token ({purpose}): HTTP status {response.status}"
        )
    if (answer.token_type or "bearer").lower() != "bearer":
        raise AuthError(f"the token of the authorization server is not a bearer token ({purpose})")
    if not answer.access_token.isascii() or not answer.access_token.isprintable() or " " in answer.access_token:
        raise AuthError(f"the token of the authorization server cannot be sent in a header ({purpose})")
    if max(len(answer.access_token), len(answer.refresh_token or "")) > LONGEST_TOKEN:
        raise AuthError(
            f"the authorization server gave a token of more than {LONGEST_TOKEN:,} characters, which is not used "
            f"({purpose})"
        )
    lifetime = _seconds(answer.expires_in)
    return Tokens(
        access_token=answer.access_token,
        refresh_token=answer.refresh_token or None,
        obtained_at=now,
        expires_at=None if lifetime is None else now + lifetime,
        scopes=None if answer.scope is None else scopes.newest(answer.scope.split()),
    )


def _answer(body: bytes) -> _Answer:
    """Read an answer; of one with members of wrong types, only texts: a rotated refresh token must not be lost."""
    try:
        return payload.typed(body, _Answer)
    except ValueError:
        found = payload.value(body)
    members = found.items() if isinstance(found, dict) else ()
    return _Answer(**{name: text for name, text in members if name in _Answer.__struct_fields__ and type(text) is str})


def _seconds(given: float | str | None) -> float | None:
    """Read `expires_in`, which some servers send as text; `None` if it is missing or unusable."""
    try:
        seconds = None if given is None else float(given)
    except ValueError:
        return None
    return seconds if seconds is not None and 0 < seconds < 1e10 else None
