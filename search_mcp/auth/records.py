"""The stored record of a login, and the time at which its token must be renewed. Pure."""

from typing import Literal

from search_mcp.auth.registration import Registration
from search_mcp.auth.tokens import Tokens
from search_mcp.wire.structs import Struct, replace

EARLY_SECONDS = 300.0
"""Time before the end of a token at which it is renewed; as in mcpproxy-go."""
EARLY_SHARE = 0.2
"""Share of a token's lifetime; a short-lived token is renewed when only this much is left."""


class Login(Struct, frozen=True, kw_only=True):
    """One login: the tokens and everything that is needed to renew them."""

    version: Literal[1] = 1
    name: str
    url: str
    issuer: str
    token_endpoint: str
    revocation_endpoint: str | None = None
    client: Registration
    resource: str | None = None
    wanted_scopes: tuple[str, ...] = ()
    """The scopes that were asked for."""
    missing_scopes: tuple[str, ...] = ()
    """More scopes that a request needed; the next login asks for them, too."""
    tokens: Tokens | None = None
    """`None` once the login is over; the registration is kept for the next one."""
    ended: str = ""
    """The reason why the login is over."""

    def __repr__(self) -> str:
        return f"<Login {self.name} at {self.issuer}: {self.ended or self.tokens}>"

    @property
    def access_token(self) -> str | None:
        return self.tokens.access_token if self.tokens else None

    def is_expired(self, now: float) -> bool:
        """Return whether there is no access token that may still be valid."""
        return self.tokens is None or (self.tokens.expires_at is not None and now >= self.tokens.expires_at)

    def is_due(self, now: float) -> bool:
        """Return whether the access token should be renewed."""
        if self.tokens is None or self.tokens.expires_at is None:
            return False
        lifetime = self.tokens.expires_at - self.tokens.obtained_at
        return now >= self.tokens.expires_at - min(EARLY_SECONDS, lifetime * EARLY_SHARE)

    @property
    def is_renewable(self) -> bool:
        """Whether its tokens can be renewed without the user."""
        return self.tokens is not None and self.tokens.refresh_token is not None

    def with_secret(self, secret: str | None) -> "Login":
        """Return the record with this secret of a client that the configuration has; other clients keep theirs."""
        if self.client.source != "configured":
            return self
        return replace(self, client=replace(self.client, client_secret=secret))

    def over(self, reason: str, *, is_client_forgotten: bool = False) -> "Login":
        """Return the record of this login after its end."""
        client = replace(self.client, is_forgotten=True) if is_client_forgotten else self.client
        return replace(self, tokens=None, ended=reason, client=client)
