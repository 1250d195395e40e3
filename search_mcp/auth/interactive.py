"""A login by the user: `auth login`, and the question to a client that can show an address.

The caller shows the address; nothing here opens a browser.
"""

import logging
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from urllib.parse import urlsplit

import anyio

from search_mcp.auth.callback import FAILED, LOGGED_IN, Answer, Callback, callback, pasted
from search_mcp.auth.challenges import Challenge, bearer
from search_mcp.auth.errors import AuthError, NotNeeded, SeveralHosts, Unavailable
from search_mcp.auth.fetching import Fetcher
from search_mcp.auth.login import Pending, begin, finish, is_for, log_in_as_client
from search_mcp.auth.records import Login
from search_mcp.auth.settings import LoginSettings
from search_mcp.auth.steps import JSON, Request, Steps, post_form
from search_mcp.auth.store import LoginStore
from search_mcp.auth.tokens import Tokens
from search_mcp.background import RunBlocking, run_in_thread
from search_mcp.wire.structs import Struct

log = logging.getLogger(__name__)

Show = Callable[[str], Awaitable[None]]
"""Shows the address to open to the user."""
Ask = Callable[[str], Awaitable[str]]
"""Shows the address to open to the user, and returns the address that the browser was sent to."""


async def log_in(
    settings: LoginSettings,
    store: LoginStore,
    show: Show,
    *,
    run: RunBlocking = run_in_thread,
) -> Login:
    """Log in with a browser on this computer.

    Raises:
        SeveralHosts: the user has to accept them.
        AuthError: it failed.
    """
    attempt = _Attempt(settings, store, run)
    before = await run(lambda: store.read(settings))
    async with _listener(settings, before) as listener:
        pending = await attempt.begin(listener.redirect_uri, before)
        await show(pending.url)
        return await attempt.finish_in_browser(pending, await listener.answer(lambda query: is_for(pending, query)))


async def log_in_without_browser(
    settings: LoginSettings,
    store: LoginStore,
    ask: Ask,
    *,
    run: RunBlocking = run_in_thread,
) -> Login:
    """Log in with a browser on another computer: the user copies the address to it, and its last address back.

    A browser on this computer, or one whose connections are forwarded to it, needs no copying.

    Raises:
        SeveralHosts: the user has to accept them.
        AuthError: it failed.
    """
    attempt = _Attempt(settings, store, run)
    before = await run(lambda: store.read(settings))
    async with _listener(settings, before) as listener:
        pending = await attempt.begin(listener.redirect_uri, before)
        found: list[Answer | str | AuthError] = []
        async with anyio.create_task_group() as tasks:

            async def wait_for_browser() -> None:
                found.append(await listener.answer(lambda query: is_for(pending, query)))
                tasks.cancel_scope.cancel()

            async def wait_for_user() -> None:
                try:
                    found.append(pasted(await ask(pending.url)))
                except AuthError as exc:
                    found.append(exc)
                tasks.cancel_scope.cancel()

            tasks.start_soon(wait_for_browser)
            tasks.start_soon(wait_for_user)
        match found[0]:
            case Answer() as answer:
                return await attempt.finish_in_browser(pending, answer)
            case str() as query:
                return await attempt.finish(pending, query)
            case AuthError() as failure:
                raise failure


async def log_in_by_credentials(
    settings: LoginSettings, store: LoginStore, *, run: RunBlocking = run_in_thread
) -> Login:
    """Log in with the client's own credentials.

    Raises:
        AuthError: it failed.
    """

    def act() -> Login:
        fetcher = Fetcher(settings.url, settings.ca_file)
        asked = fetcher.run(_challenge(settings.url))
        with store.changing(settings) as change:
            before = change.read()
            steps = log_in_as_client(settings, reach=fetcher.reach, now=time.time(), challenge=asked, before=before)
            login = fetcher.run(steps)
            change.write(login)
            return login

    return await _stored(act, run)


class Ended(Struct, frozen=True):
    """A login that was deleted."""

    login: Login
    is_revoked: bool
    """Whether the authorization server has made its tokens invalid."""


async def log_out(settings: LoginSettings, store: LoginStore, *, run: RunBlocking = run_in_thread) -> Ended | None:
    """Delete a login, and revoke its tokens where the authorization server can do so; return what was deleted.

    Raises:
        OSError: it cannot be deleted.
    """

    def act() -> Ended | None:
        with store.changing(settings) as change:
            login = change.read()
            change.delete()
        return None if login is None else Ended(login, _is_revoked(login, settings.ca_file))

    return await run(act)


async def log_out_by_name(name: str, store: LoginStore, *, run: RunBlocking = run_in_thread) -> list[Ended]:
    """Delete all logins of a server that is not in the configuration any more; see `log_out`.

    Raises:
        OSError: one cannot be deleted.
    """
    return await run(lambda: [Ended(login, _is_revoked(login, None)) for login in store.delete_all(name)])


class _Attempt:
    """One attempt to log in: its steps, carried out in a thread."""

    def __init__(self, settings: LoginSettings, store: LoginStore, run: RunBlocking) -> None:
        self._settings, self._store, self._run = settings, store, run

    async def begin(self, redirect_uri: str, before: Login | None) -> Pending:
        settings = self._settings

        def act() -> Pending:
            fetcher = Fetcher(settings.url, settings.ca_file)
            asked = fetcher.run(_challenge(settings.url))
            steps = begin(
                settings, redirect_uri, _random, reach=fetcher.reach, now=time.time(), challenge=asked, before=before
            )
            try:
                return fetcher.run(steps)
            except (SeveralHosts, Unavailable):
                raise
            except AuthError as exc:
                if asked is not None:
                    raise
                log.debug("= no login is possible: %s", exc)
                raise NotNeeded("it answers without a login, and offers none") from exc

        return await self._run(act)

    async def finish(self, pending: Pending, query: str) -> Login:
        settings = self._settings

        def act() -> Login:
            with self._store.changing(settings) as change:
                login = Fetcher(settings.url, settings.ca_file).run(finish(settings, pending, query, time.time()))
                change.write(login)
                return login

        return await _stored(act, self._run)

    async def finish_in_browser(self, pending: Pending, answer: Answer) -> Login:
        """Finish the login, and show in the browser whether that succeeded."""
        title, text = LOGGED_IN
        try:
            login = await self.finish(pending, answer.query)
            await answer.show(title, text.format(name=self._settings.name))
        finally:
            await answer.show(*FAILED)
        return login


async def _stored(act: Callable[[], Login], run: RunBlocking) -> Login:
    try:
        return await run(act)
    except OSError as exc:
        raise AuthError(f"the login cannot be stored: {exc.strerror or exc}") from exc


@asynccontextmanager
async def _listener(settings: LoginSettings, before: Login | None) -> AsyncIterator[Callback]:
    """Listen on the configured port, else on that of the registration, else on any.

    A registration is for one redirect URI. If its port is in use now, another client is registered.
    """
    host, ports = settings.callback_host, [settings.callback_port or 0]
    stored = urlsplit(before.client.redirect_uri if before else "")
    if settings.callback_port is None and stored.hostname == host and stored.port:
        ports.insert(0, stored.port)
    async with AsyncExitStack() as listening:
        for port in ports:
            try:
                listener = await listening.enter_async_context(callback(host, port, settings.callback_path))
                break
            except AuthError:
                if port == ports[-1]:
                    raise
        yield listener


def _challenge(url: str) -> Steps[Challenge | None]:
    """Ask the server how to log in: by a request that needs a login before it is read.

    Raises:
        Unavailable: the server does not answer.
        AuthError: it has another kind of login.
    """
    headers = {"accept": f"{JSON}, text/event-stream", "content-type": JSON}
    response = yield Request("login challenge", url, "POST", headers, b"{}")
    if not response.status:
        raise Unavailable(response.failure)
    if response.status != 401:
        return None  # it may need a login for some calls only, and have metadata all the same
    value = response.headers.get("www-authenticate")
    challenge = bearer([] if value is None else [value])
    if challenge is None:
        raise AuthError("it asks for a kind of login that search-mcp does not have")
    return challenge


def _is_revoked(login: Login, ca_file: str | None) -> bool:
    """Revoke the tokens of a login (RFC 7009); return whether that succeeded: they are deleted here in any case."""
    if login.tokens is None or login.revocation_endpoint is None:
        return False
    if login.client.auth_method != "none" and login.client.client_secret is None:
        return False
    try:
        return Fetcher(login.url, ca_file).run(_revoke(login, login.tokens, login.revocation_endpoint))
    except AuthError:
        return False


def _revoke(login: Login, tokens: Tokens, endpoint: str) -> Steps[bool]:
    """Revoke the refresh token if there is one: its access tokens end with it."""
    token, hint = (
        (tokens.refresh_token, "refresh_token") if tokens.refresh_token else (tokens.access_token, "access_token")
    )
    headers, members = login.client.proof()
    form = {"token": token, "token_type_hint": hint, **members}
    response = yield post_form("revocation", endpoint, form, headers)
    return response.status == 200  # RFC 7009, 2.2


def _random() -> str:
    return secrets.token_urlsafe(48)
