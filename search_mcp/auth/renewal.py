"""The renewal of a login: read it, use its refresh token, store the new tokens; one process of the user at a time.

It runs in a separate process (`renew_apart`) that outlives the process that needs the token, because a client may kill
search-mcp at any moment. If that happened between the answer with a rotated refresh token and its storage, the login
would be lost: the stored token is spent, and using it again makes some authorization servers revoke all others.
"""

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Literal

from search_mcp.auth import scopes
from search_mcp.auth.challenges import Challenge
from search_mcp.auth.errors import AuthError, Refused, Unavailable, quoted
from search_mcp.auth.login import log_in_as_client
from search_mcp.auth.records import Login
from search_mcp.auth.settings import LoginSettings
from search_mcp.auth.store import Change, LoginStore
from search_mcp.auth.tokens import CLIENT_ERRORS, FINAL_ERRORS, refresh
from search_mcp.wire import payload
from search_mcp.wire.structs import Struct, replace

_CREATE_BREAKAWAY_FROM_JOB, _CREATE_NO_WINDOW = 0x01000000, 0x08000000  # of `subprocess`, on Windows only
LONGEST_SECONDS = 120.0
"""Time limit of a renewal: the wait for the lock and a few requests."""


class Need(Struct, frozen=True, kw_only=True):
    """The reason why a token is renewed."""

    refused: str = ""
    """Digest of the access token that the server refused; another stored one is used instead of renewing."""
    scopes: tuple[str, ...] = ()
    """Scopes that a request needs and the token lacks."""


class Renewed(Struct, frozen=True, kw_only=True):
    """The result of a renewal; the new tokens are in the store."""

    outcome: Literal["renewed", "needs login", "unavailable"]
    reason: str = ""


class _Order(Struct, frozen=True, kw_only=True):
    folder: str
    settings: LoginSettings
    need: Need


def digest(token: str | None) -> str:
    """Return a text that identifies a token without containing it."""
    return hashlib.sha256(token.encode()).hexdigest() if token else ""


def renew(store: LoginStore, settings: LoginSettings, need: Need) -> Renewed:
    """Renew a login unless another process has done so."""
    try:
        with store.changing(settings) as change:
            return _renew(change, settings, need)
    except Unavailable as exc:
        return Renewed(outcome="unavailable", reason=str(exc))
    except AuthError as exc:
        return Renewed(outcome="needs login", reason=str(exc))
    except TimeoutError:
        return Renewed(outcome="unavailable", reason="another process has been renewing the login for too long")
    except OSError as exc:
        return Renewed(outcome="unavailable", reason=f"the login cannot be stored: {exc.strerror or exc}")


def _renew(change: Change, settings: LoginSettings, need: Need) -> Renewed:
    login, now = change.read(), time.time()
    if login is not None and login.tokens is not None:
        is_usable = digest(login.access_token) != need.refused and not login.is_due(now)
        if is_usable and {*need.scopes} <= {*login.wanted_scopes}:
            return Renewed(outcome="renewed")
    from search_mcp.auth.fetching import Fetcher

    fetcher = Fetcher(settings.url, settings.ca_file)
    if settings.grant == "client_credentials":
        challenge = Challenge("bearer", {"scope": " ".join(need.scopes)})
        steps = log_in_as_client(settings, reach=fetcher.reach, now=now, challenge=challenge, before=login)
        change.write(fetcher.run(steps))
        return Renewed(outcome="renewed")
    if login is None or login.tokens is None or login.tokens.refresh_token is None or need.scopes:
        return _needs_login(change, login, need)
    change.write(login)  # if this fails, the new token could not be stored either; the old one is not spent yet
    try:
        tokens = fetcher.run(refresh(login.token_endpoint, login.client, login.tokens, login.resource, now))
    except Refused as exc:
        if exc.code in FINAL_ERRORS:
            change.write(login.over(str(exc), is_client_forgotten=exc.code in CLIENT_ERRORS))
        raise
    change.write(replace(login, tokens=tokens))
    return Renewed(outcome="renewed")


def _needs_login(change: Change, login: Login | None, need: Need) -> Renewed:
    """Keep the scopes that are missing for the next login of the user."""
    if login is None:
        return Renewed(outcome="needs login")
    missing = scopes.newest(scopes.union(login.missing_scopes, need.scopes))
    if missing != login.missing_scopes:
        change.write(replace(login, missing_scopes=missing))
    reason = f"a call needs more permissions: {quoted(' '.join(need.scopes))}" if need.scopes else login.ended
    return Renewed(outcome="needs login", reason=reason or "the login has expired")


# In a process of its own


def renew_apart(store: LoginStore, settings: LoginSettings, need: Need) -> Renewed:
    """Renew a login in a process that outlives this one; wait for it."""
    order = payload.encode_bytes(_Order(folder=str(store.folder.absolute()), settings=settings, need=need))
    try:
        process = _started([sys.executable, "-P", "-m", "search_mcp.auth.renewal"])
        answer, _ = process.communicate(order, LONGEST_SECONDS)  # never killed: it may hold the only valid token
        return payload.typed(answer, Renewed)
    except subprocess.TimeoutExpired:
        return Renewed(outcome="unavailable", reason="the renewal of the login takes too long")
    except (OSError, ValueError):
        return Renewed(outcome="unavailable", reason="the process that renews the login has failed")


def _started(command: list[str]) -> "subprocess.Popen[bytes]":
    """Start a process that does not end with this one.

    Raises:
        OSError: it cannot be started.
    """
    refusal: OSError | None = None
    for options in detachments(sys.platform):
        try:
            # Its stderr is not ours: a client may wait until nobody can write to that.
            return subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **options
            )
        except PermissionError as exc:
            refusal = exc
    assert refusal is not None
    raise refusal


def detachments(platform: str) -> list[dict[str, Any]]:
    """Return how a process is started that does not end with this one; each is tried if the one before is forbidden."""
    if platform != "win32":
        return [{"start_new_session": True}]
    # The job of the client may not let a process leave; then the renewal ends with it in the worst case.
    return [{"creationflags": _CREATE_BREAKAWAY_FROM_JOB | _CREATE_NO_WINDOW}, {"creationflags": _CREATE_NO_WINDOW}]


def main() -> None:
    """Carry out the order on stdin, and write the result to stdout; its reader may have ended by then."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)  # it ends by itself, and a token must not be lost
    with open(0, "rb", closefd=False) as given:
        text = given.read()
    try:
        order = payload.typed(text, _Order)
    except ValueError:  # the process that gave it was killed: nothing was begun
        return
    done = renew(LoginStore(Path(order.folder)), order.settings, order.need)
    try:
        os.write(1, payload.encode_bytes(done))
    except BrokenPipeError:
        return  # the process that asked has ended; the login is stored


if __name__ == "__main__":
    main()
