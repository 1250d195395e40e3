"""The login of each remote server, from the configuration, the stored logins and the cache; nothing is contacted.

Decides the words for the states, and which servers need a login.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from search_mcp.auth.records import Login
from search_mcp.auth.settings import login_settings
from search_mcp.auth.store import LoginStore
from search_mcp.cli.problem import Problem
from search_mcp.config.schema import Config, Remote, ServerConfig
from search_mcp.model.names import State
from search_mcp.model.servers import Status
from search_mcp.times import iso

LOGGED_IN = "logged in"
AUTOMATIC = "automatic"
"""The client's own credentials are exchanged for a token when one is needed."""
NEEDED = State.NEEDS_LOGIN.value
NONE = "none"
"""There is none, and none is known to be needed."""
NEEDED_NONE = "its tools were listed without one"
NOT_USED = "not used"
"""Its entry excludes a login."""
FAULTY = "failed"
HELD = "held"


@dataclass(frozen=True)
class LoginState:
    """The login of one server."""

    server: ServerConfig
    state: str
    reason: str = ""
    login: Login | None = None

    def row(self) -> Sequence[str]:
        """Return the row of the table."""
        return self.server.name, self.state, "; ".join(filter(None, (self.reason, *self._about())))

    def _about(self) -> Iterable[str]:
        if self.login is None or self.state != LOGGED_IN:
            return
        yield _duration(self.login)
        yield f"at {self.login.issuer.removeprefix('https://')}"
        if scopes := _scopes(self.login):
            yield f"{'scope' if len(scopes) == 1 else 'scopes'} {' '.join(scopes)}"

    def as_json(self) -> dict[str, Any]:
        login, tokens = self.login, self.login.tokens if self.login is not None else None
        ends = tokens.expires_at if tokens is not None else None
        return {
            "name": self.server.name,
            "state": self.state,
            "reason": self.reason or None,
            "issuer": login.issuer if login is not None else None,
            "scopes": _scopes(login) if login is not None else None,
            "tokenExpires": iso(ends),
            "renewed": login.is_renewable if login is not None else False,
        }


def login_states(config: Config, cached: Mapping[str, Status], store: LoginStore) -> list[LoginState]:
    """Return the login of each remote server.

    Raises:
        Problem: a stored login cannot be read.
    """
    return [_login_state(each, cached[each.name], store) for each in config.servers if each.remote is not None]


def why_not_used(remote: Remote) -> str:
    """Return the part of an entry that excludes a login."""
    if remote.oauth is None:
        return 'its entry has "oauth": false'
    if any(name.lower() == "authorization" for name in remote.headers):
        return "its entry has an Authorization header"
    return "its address holds a secret" if remote.has_secret_url else "its address has a user and a password"


def stored(server: ServerConfig, store: LoginStore) -> Login | None:
    """Read the login of a server that may have one.

    Raises:
        Problem: it cannot be read.
    """
    assert server.remote is not None
    try:
        return store.read(login_settings(server.name, server.remote))
    except OSError as exc:
        what = f"the login of {server.name} cannot be read ({exc.strerror or exc})"
        raise Problem(what, f"check that you may read {store.folder}") from exc


def _login_state(server: ServerConfig, cached: Status, store: LoginStore) -> LoginState:
    assert server.remote is not None
    if server.problem is not None:
        return LoginState(server, FAULTY, server.problem)
    if not server.remote.may_log_in:
        return LoginState(server, NOT_USED, why_not_used(server.remote))
    login = stored(server, store)
    if login_settings(server.name, server.remote).grant == "client_credentials":
        return LoginState(server, AUTOMATIC, "by its client id and secret", login)
    return _without_login(server, cached) if login is None else _with_login(server, login)


def _with_login(server: ServerConfig, login: Login) -> LoginState:
    if login.is_renewable or not login.is_expired(time.time()):
        lacking = f"lacks {' '.join(login.missing_scopes)}, log in again" if login.missing_scopes else ""
        return LoginState(server, LOGGED_IN, lacking, login)
    return LoginState(server, NEEDED, login.ended or f"expired on {_moment(login)}", login)


def _without_login(server: ServerConfig, cached: Status) -> LoginState:
    if server.held is not None:
        return LoginState(server, HELD, str(server.held))
    if cached.lacked_login:
        return LoginState(server, NEEDED)
    if cached.state is State.KNOWN:
        return LoginState(server, NONE, NEEDED_NONE)
    return LoginState(server, NONE, "not known whether it needs one")


def _duration(login: Login) -> str:
    if login.is_renewable:
        return "renewed automatically"
    return (
        f"until {_moment(login)}"
        if login.tokens is not None and login.tokens.expires_at
        else "until the server ends it"
    )


def _moment(login: Login) -> str:
    """Write the end of a login, in local time."""
    ends = login.tokens.expires_at if login.tokens is not None else None
    return datetime.fromtimestamp(ends or 0, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def _scopes(login: Login) -> Sequence[str]:
    granted = login.tokens.scopes if login.tokens is not None else None
    return login.wanted_scopes if granted is None else granted
