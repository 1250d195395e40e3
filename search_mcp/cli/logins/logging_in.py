"""The work of `auth login` and `auth logout`.

Decides what the user is shown and asked, the time limit, and the remedy of each failure.
"""

import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TypeVar
from urllib.parse import urlsplit

import anyio

from search_mcp.auth import interactive
from search_mcp.auth.callback import pasted
from search_mcp.auth.errors import AddressRefused, AuthError, NotNeeded, Refused, SeveralHosts, Unavailable
from search_mcp.auth.interactive import Ended
from search_mcp.auth.records import Login
from search_mcp.auth.settings import LoginSettings, login_settings
from search_mcp.auth.store import LoginStore
from search_mcp.backends import cache, secret_sources
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.secret_sources import SourceError
from search_mcp.cli.command_cache import FreshLists
from search_mcp.cli.counting import counted
from search_mcp.cli.logins import browser
from search_mcp.cli.logins.pasting import read_line
from search_mcp.cli.needed_servers import only
from search_mcp.cli.options import Options
from search_mcp.cli.problem import FINE, Problem
from search_mcp.cli.session import Session, run, run_alone
from search_mcp.cli.terminal import Terminal
from search_mcp.config.schema import Config, ServerConfig
from search_mcp.folders import cache_folder, logins_folder
from search_mcp.gateway.person import OPENING
from search_mcp.model.names import Kind, State
from search_mcp.model.standing import standing_of
from search_mcp.wire.structs import replace

LOGIN_SECONDS = 300.0
"""Time that the user has for the login."""

T = TypeVar("T")


def log_in(
    config: Config, server: ServerConfig, options: Options, *, by_hand: bool, is_sure: bool, principal: str = ""
) -> int:
    """Log in to a server, and list its tools with the new login; `is_sure` accepts all hosts of the login.

    With a `principal`, the login is for its clients over HTTP.

    Raises:
        Problem: it failed.
    """
    screen, server = options.screen, replace(server, principal=principal)
    attempt = partial(_log_in, server, screen, by_hand=by_hand)
    try:
        run_alone(attempt)
    except SeveralHosts as exc:
        _accept(exc.hosts, server, screen, is_sure=is_sure)
        run_alone(partial(attempt, accepted=exc.hosts))
    if principal:
        screen.text(f"Logged in to {server.name} for {principal}.")
        return FINE
    if not server.enabled:
        screen.text(f"Logged in to {server.name}, which is disabled; `{server.command_for('enable')}` enables it.")
        return FINE
    tools = run(only(config, {server.name}), None, FreshLists, partial(_listed, server, screen))
    screen.text(f"Logged in to {server.name}: {counted(tools, 'tool')}.")
    return FINE


def _accept(hosts: Mapping[str, str], server: ServerConfig, screen: Terminal, *, is_sure: bool) -> None:
    """Show the hosts of a login, and ask whether they belong together.

    Raises:
        Problem: they do not.
    """
    screen.warning(
        f"the login of {server.name} uses several hosts. A hostile server could send you to the login page of another "
        "provider in this way, and get access to your account there."
    )
    for part, host in hosts.items():
        screen.note(f"  {part}: {host}")
    if not screen.agrees("Do all of them belong to one provider that you trust?", is_sure=is_sure):
        raise Problem(f"no login to {server.name}: you did not accept the hosts of its login")


async def _log_in(
    server: ServerConfig, screen: Terminal, *, by_hand: bool, accepted: Mapping[str, str] | None = None
) -> Login:
    attempt = partial(_attempt, server, screen, by_hand=by_hand)
    return await logged_in(server, attempt, screen.conceal, _command(server, by_hand=by_hand), accepted)


async def logged_in(
    server: ServerConfig,
    attempt: Callable[[LoginSettings, LoginStore], Awaitable[Login]],
    conceal: Callable[[frozenset[str]], None],
    again: str,
    accepted: Mapping[str, str] | None = None,
) -> Login:
    """Log in to a server; `again` is the command that starts another attempt, `accepted` are the accepted hosts.

    Raises:
        SeveralHosts: the user has to accept them.
        Problem: it failed.
    """
    server = await _filled(server, conceal)
    assert server.remote is not None
    settings = replace(login_settings(server.name, server.remote), accepted_hosts=accepted)
    store = LoginStore(logins_folder(server.principal))
    with anyio.move_on_after(LOGIN_SECONDS):
        try:
            return await attempt(settings, store)
        except AuthError as exc:
            if isinstance(exc, SeveralHosts) and accepted is None:
                raise  # the user is asked
            why = server.redactor(str(exc))
            raise Problem(f"no login to {server.name}: {why}", _remedy(exc, again)) from exc
        except OSError as exc:
            what = f"the login of {server.name} cannot be read ({exc.strerror or exc})"
            raise Problem(what, f"check that you may read {store.folder}") from exc
    raise Problem(
        f"no login to {server.name}: the browser did not return within {_limit()}",
        f"`{again}` starts again; if the browser showed an error, "
        f"`{server.command_for('auth', 'logout')}` first forgets the registration",
    )


async def _filled(server: ServerConfig, conceal: Callable[[frozenset[str]], None]) -> ServerConfig:
    """Fill in the values of a server's sources of secrets.

    Raises:
        Problem: one of them cannot be read, or its value does not fit its place.
    """
    if server.held is not None:
        raise Problem(f"no login to {server.name}: {server.held}")
    try:
        filled = await secret_sources.filled(server, Dependencies())
    except SourceError as exc:
        raise Problem(f"no login to {server.name}: {exc}") from exc
    if filled.problem is not None:
        raise Problem(f"no login to {server.name}: {filled.problem}")
    conceal(filled.secrets)
    return filled


async def _attempt(
    server: ServerConfig, screen: Terminal, settings: LoginSettings, store: LoginStore, *, by_hand: bool
) -> Login:
    if settings.grant == "client_credentials":
        return await interactive.log_in_by_credentials(settings, store)
    if by_hand:
        return await interactive.log_in_without_browser(settings, store, partial(_ask, server, screen))
    return await interactive.log_in(settings, store, partial(_open, server, screen))


async def _open(server: ServerConfig, screen: Terminal, url: str) -> None:
    """Open the browser, and show the address in case none opens."""
    screen.note(f"Log in to {server.name} in the browser, at {_host(url)}. If none opens, open this address:")
    _show_address(url, screen)
    screen.note(f"Waiting up to {_limit()}. With a browser on another computer, use this command:")
    screen.note(f"  {_command(server, by_hand=True)}")
    try:
        browser.open_page(url)
    except ValueError as exc:
        raise AuthError("the address of its login is not that of a web page") from exc
    except OSError as exc:
        screen.warning(f"the browser cannot be opened: {exc.strerror or exc}")


async def _ask(server: ServerConfig, screen: Terminal, url: str) -> str:
    """Show the address, and read the one to which the browser was sent; ask again at a terminal if it is another text.

    Raises:
        AuthError: there is no answer.
    """
    screen.note(f"Log in to {server.name} at {_host(url)}: open this address in a browser on any computer.")
    _show_address(url, screen)
    screen.note(
        "After the login, the browser is sent to an address that begins with http://127.0.0.1 or http://localhost. It "
        f"may show an error there. Copy that whole address and paste it here, within {_limit()}."
    )
    while True:
        answer = await _answer(screen)
        try:
            pasted(answer)
        except AuthError as exc:
            if not answer:
                raise AuthError("stdin ended without an address") from exc
            if not answer.endswith("\n") or not sys.stdin.isatty():
                raise
            screen.warning("that is not the address of that page; it has code= and state= in it")
        else:
            return answer


async def _answer(screen: Terminal) -> str:
    """Read a line; leave the line of the question if the browser answers it first."""
    is_asked = sys.stdin.isatty()
    try:
        return await read_line(lambda: screen.prompt("Address: ") if is_asked else None)
    except anyio.get_cancelled_exc_class():
        if is_asked:
            screen.prompt("\n")
        raise


def _show_address(url: str, screen: Terminal) -> None:
    screen.note("")
    screen.text(url)
    screen.note("")


async def _listed(server: ServerConfig, screen: Terminal, session: Session) -> int:
    """List the tools of the server, and count them.

    Raises:
        Problem: that failed.
    """
    with screen.progress(session.awaited):
        await session.settle(Kind)
    status = next(each for each in session.statuses() if each.server == server.name)
    if status.state is not State.READY:
        what = f"you are logged in to {server.name}, but it cannot be used: {standing_of(status).explanation}"
        raise Problem(what, f"`{server.check()}` shows more")
    return sum(item.server == server.name for item in session.tools)


def _command(server: ServerConfig, *, by_hand: bool) -> str:
    return server.login_with(*(["--no-browser"] if by_hand else []))


def _remedy(exc: AuthError, command: str) -> str:
    match exc:
        case Refused(code="access_denied"):
            return f"`{command}` starts again; agree in the browser"
        case Unavailable():
            return "check its address and the network, and try again"
        case AddressRefused():
            return "ask the provider of the server"
        case NotNeeded():
            return ""
        case _:
            return "" if '"oauth"' in str(exc) else f"`{command}` starts again"


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]


def _limit() -> str:
    return f"{LOGIN_SECONDS / 60:g} minutes"


def log_out(server: ServerConfig, screen: Terminal) -> None:
    """Log out of a server.

    Raises:
        Problem: the login cannot be deleted.
    """
    assert server.remote is not None
    settings = login_settings(server.name, server.remote)
    if server.unfilled is not None:
        settings = replace(settings, client_secret=_secret(server, screen))
    ended = _deleted(lambda: interactive.log_out(settings, LoginStore(logins_folder())), server.name)
    if ended is None:
        screen.text(f"{server.name} was not logged in.")
    else:
        _record_need(server)
        _tell(ended, screen)


def _secret(server: ServerConfig, screen: Terminal) -> str | None:
    """Read the secret of the client; without it, the tokens are deleted and not revoked."""
    try:
        filled = run_alone(partial(_filled, server, screen.conceal))
    except Problem as exc:
        screen.detail(str(exc))
        return None
    assert filled.remote is not None
    return login_settings(filled.name, filled.remote).client_secret


def _record_need(server: ServerConfig) -> None:
    """Record that a server needs a login, as if it had refused a request: `auth status` contacts no server."""
    assert server.remote is not None
    key = cache.fingerprint(server, server.remote.url, OPENING)
    missing = cache.failure(server, "", time.time(), server.login)
    cache.CatalogCache(cache_folder()).store_failure(key, missing)


def log_out_by_name(name: str, screen: Terminal) -> bool:
    """Delete the logins of a server that is not in the configuration; returns whether there was any.

    Raises:
        Problem: a login cannot be deleted.
    """
    ended = _deleted(lambda: interactive.log_out_by_name(name, LoginStore(logins_folder())), name)
    for each in ended:
        _tell(each, screen)
    return bool(ended)


def _deleted(act: Callable[[], Awaitable[T]], name: str) -> T:
    try:
        return run_alone(act)
    except TimeoutError as exc:
        raise Problem(f"the login of {name} is in use by another search-mcp", "try again") from exc
    except OSError as exc:
        what = f"the login of {name} cannot be deleted ({exc.strerror or exc})"
        raise Problem(what, f"check that you may write to {logins_folder()}") from exc


def _tell(ended: Ended, screen: Terminal) -> None:
    login = ended.login
    if ended.is_revoked:
        screen.text(f"Logged out of {login.name}: its tokens are revoked and deleted.")
    elif login.tokens is None:
        screen.text(f"Logged out of {login.name}: its login was over already.")
    else:
        screen.text(f"Logged out of {login.name}: its tokens are deleted here.")
        screen.note(
            f"They could not be revoked at {_host(login.issuer)}, and stay valid there until they expire. Its website "
            "may list search-mcp among your connected applications, where you can remove it."
        )
