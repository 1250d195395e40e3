"""Who may use the page: one-time tokens for browsers, sessions, and the origin of each request.

Decides which requests are refused before anything is looked at. Knows nothing of what the page shows.
"""

import hmac
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

SESSION_SECONDS = 12 * 3600
"""Time that a browser stays let in."""
TOKEN_SECONDS = 600.0
"""Time that an address from `search-mcp ui` can be used, once."""
MOST_TOKENS, MOST_SESSIONS = 16, 64
"""Limits; the oldest is forgotten. A token is for one browser."""
_SECRET_BYTES, _FORM_BYTES = 32, 16
"""Of what lets in, and of what is in each form of a page, of which there may be a hundred."""
_OTHER_SITES = ("cross-site", "same-site")
"""Values of `Sec-Fetch-Site`; a site has any port, so another program on 127.0.0.1 is `same-site`."""


class Said(NamedTuple):
    """What came of a change."""

    text: str
    is_wrong: bool = False


@dataclass(eq=False)
class Session:
    """A browser that was let in."""

    ends: float
    form_token: str = field(default_factory=lambda: secrets.token_urlsafe(_FORM_BYTES))
    """Is in every form of this session and in no other page; a form without it is refused."""
    said: list[Said] = field(default_factory=list)
    """What came of the last changes; shown once."""


class Door:
    """Lets browsers in."""

    def __init__(self, authority: str, clock: Callable[[], float]) -> None:
        """`authority` is the host and the port that the page is reached at."""
        # Cookies are the same for all ports of a host: no other program on it gets ours, or can hide it behind its own.
        self.root = f"/{secrets.token_urlsafe(12)}/"
        self.cookie = f"search-mcp-{secrets.token_hex(8)}"
        self.origin = f"http://{authority}"
        self._authority, self._clock = authority, clock
        self._tokens: dict[str, float] = {}
        self._sessions: dict[str, Session] = {}

    @property
    def address(self) -> str:
        return self.origin + self.root

    def new_token(self) -> str:
        """Return a token that lets one browser in."""
        token = secrets.token_urlsafe(_SECRET_BYTES)
        self._tokens[token] = self._clock() + TOKEN_SECONDS
        _forget_oldest(self._tokens, MOST_TOKENS)
        return token

    def enter(self, token: str) -> str | None:
        """Begin a session for a token, which ends with that; return the `Set-Cookie` header, `None` for a wrong one."""
        known = next((each for each in self._tokens if hmac.compare_digest(each.encode(), token.encode())), None)
        if known is None or self._tokens.pop(known) < self._clock():
            return None
        key = secrets.token_urlsafe(_SECRET_BYTES)
        self._sessions[key] = Session(self._clock() + SESSION_SECONDS)
        _forget_oldest(self._sessions, MOST_SESSIONS)
        return f"{self.cookie}={key}; HttpOnly; SameSite=Strict; Path={self.root}; Max-Age={SESSION_SECONDS}"

    def session(self, cookies: Mapping[str, str]) -> Session | None:
        """Return the session of a request."""
        session = self._sessions.get(cookies.get(self.cookie, ""))
        return session if session is not None and session.ends > self._clock() else None

    def refusal(self, method: str, headers: Mapping[str, str]) -> int | None:
        """Return the status with which a request is refused for the place that it comes from; `None` if it is not."""
        if headers.get("host") != self._authority:  # a name that resolves to this address: DNS rebinding
            return 421
        site = headers.get("sec-fetch-site")
        if site in _OTHER_SITES and headers.get("sec-fetch-mode") != "navigate":
            return 403
        if method not in ("GET", "HEAD") and not self._is_ours(headers.get("origin"), site):
            return 403
        return None

    def _is_ours(self, origin: str | None, site: str | None) -> bool:
        # Without a referrer, which we ask for, browsers say `null` of our own forms, as of those of a file or a frame.
        return origin == self.origin or (origin == "null" and site == "same-origin")


def _forget_oldest(kept: dict[str, Any], most: int) -> None:
    while len(kept) > most:
        del kept[next(iter(kept))]
