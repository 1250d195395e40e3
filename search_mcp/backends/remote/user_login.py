"""The login that only the user of a remote server can make: noticed when it is made elsewhere, or asked for in a call.

URL elicitation: "MCP servers obtaining third-party authorization" ask the user to open an address; the tokens stay with
the server, which is search-mcp here. Source: docs/specification/2025-11-25/client/elicitation.mdx, "URL Mode
Elicitation for OAuth Flows".
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from urllib.parse import urlsplit

import anyio

from search_mcp.auth.errors import AuthError
from search_mcp.auth.interactive import log_in
from search_mcp.auth.settings import login_settings
from search_mcp.auth.store import LoginStore
from search_mcp.backends.held_calls import HeldCall, HeldCalls
from search_mcp.background import RunBlocking
from search_mcp.config.schema import ServerConfig
from search_mcp.dialects import asking
from search_mcp.folders import logins_folder
from search_mcp.model.calls import Call, Question, Result, Retry
from search_mcp.model.errors import NeedsLogin
from search_mcp.model.names import Action, Ask
from search_mcp.model.servers import ElicitationComplete
from search_mcp.wire.errors import WireError
from search_mcp.wire.inflight import Cancel, Reason
from search_mcp.wire.pending import Pending

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""Time between looks at the stored login while one is needed."""
LOGIN_SECONDS = 600.0
"""Time that the user has for a login in the browser."""
_ASKING = frozenset({Action.CALL_TOOL, Action.GET_PROMPT, Action.READ_RESOURCE})
"""Requests in which a client of the modern era can be asked."""


class UserLogin:
    """The missing login of one server, and the calls that wait for it."""

    def __init__(
        self,
        config: ServerConfig,
        run_blocking: RunBlocking,
        on_made: Callable[[], None],
        publish: Callable[[ElicitationComplete], None],
    ) -> None:
        assert config.remote is not None, "a process needs no login"
        self._config, self._run_blocking, self._on_made, self._publish = config, run_blocking, on_made, publish
        self._settings = login_settings(config.name, config.remote)
        self._store = LoginStore(logins_folder(config.principal))
        self.waiting = HeldCalls()
        self._needed, self._arrived, self._made = asyncio.Event(), asyncio.Event(), asyncio.Event()

    def need(self) -> None:
        """Look for a new login from now on, until there is one."""
        self._needed.set()

    def error(self, reason: str = "") -> WireError:
        """Return the answer to a call without a login."""
        return NeedsLogin(self._config.name, self._config.login, reason or None)

    def wait(self, call: Call, target: str, reason: str) -> None:
        """Let a call wait until its user has logged in; refuse it if the user cannot be asked, or was asked before."""
        self.need()
        can_ask = call.action in _ASKING and asking.can_open_urls(call.caller.capabilities)
        is_for_user = self._settings.grant == "authorization_code"
        may_wait = can_ask and is_for_user and Retry.LOGIN not in call.tried
        if not may_wait or not self.waiting.hold(call.again(Retry.LOGIN), target):
            call.reply(self.error(reason))
            return
        if call.asks is not None:
            call.asks(True)  # the time in which the user logs in does not count
        self._arrived.set()

    def take(self, session: object = None) -> list[HeldCall]:
        """Remove and return the calls that wait, or those of one client session."""
        taken = self.waiting.take(lambda held: session in (None, held.call.caller.session))
        for held in taken:
            if held.call.asks is not None:
                held.call.asks(False)
        return taken

    def refuse_waiting(self, reason: str = "") -> None:
        for held in self.take():
            held.call.reply(self.error(reason))

    async def run(self) -> None:
        """Wait for logins as they are needed."""
        while True:
            await self._needed.wait()
            self._made.clear()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._look)
                tasks.start_soon(self._ask)
                await self._made.wait()
                tasks.cancel_scope.cancel()
            self._needed.clear()
            log.info("= %s: logged in", self._config.name)
            self._on_made()

    async def _look(self) -> None:
        """Look at the stored login until it is another one."""
        before = state = await self._token(), await self._state()
        while state[0] in (None, before[0]):
            await anyio.sleep(LOOK_SECONDS)
            if await self._state() != state[1]:
                state = await self._token(), await self._state()
        self._made.set()

    async def _state(self) -> object:
        return await self._run_blocking(partial(self._store.state, self._settings))

    async def _token(self) -> str | None:
        """Return the token of the stored login, unless that lacks permissions."""
        try:
            login = await self._run_blocking(partial(self._store.read, self._settings))
        except OSError:
            return None
        # A renewed token lacks the permissions that were missing before, so it is no new login.
        return login.access_token if login is not None and not login.missing_scopes else None

    async def _ask(self) -> None:
        """Ask the user in one waiting call after another until there is a login."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            while (asked := self.waiting.first()) is not None:
                with anyio.CancelScope() as attempt:
                    asked.reply.cancel_work = partial(_end_attempt, asked.reply.cancel_work, attempt)
                    await self._ask_in(asked)

    async def _ask_in(self, call: Call) -> None:
        """Ask the user in a call; if that fails, refuse all that wait."""
        question = _Question(self._config.name, call)
        try:
            with anyio.fail_after(LOGIN_SECONDS):
                await log_in(self._settings, self._store, question.put, run=self._run_blocking)
        except TimeoutError:
            self.refuse_waiting(f"nobody logged in within {LOGIN_SECONDS / 60:g} minutes")
        except AuthError as exc:
            self.refuse_waiting(self._config.redactor.shortened(str(exc)))
        except OSError as exc:
            self.refuse_waiting(f"its login cannot be read: {exc.strerror or exc}")
        except Exception:  # a bug here must not take the server down
            log.exception("! %s: bug while logging in", self._config.name)
            self.refuse_waiting("internal error")
        else:
            self._made.set()
            if question.id is not None:
                self._publish(ElicitationComplete(self._config.name, asking.of_elicitation(question.id)))
            await anyio.sleep_forever()  # `run` goes on
        finally:
            question.withdraw()


def _end_attempt(cancel_waiting: Cancel, attempt: anyio.CancelScope, reason: Reason) -> None:
    """Cancel a call in which the user is asked; the next call asks."""
    cancel_waiting(reason)
    attempt.cancel()


class _Question:
    """The question whether the user opens the address of the login."""

    def __init__(self, server: str, call: Call) -> None:
        self._server, self._call = server, call
        self.id: str | None = None
        self._reply: Pending[Result | WireError] = Pending(self._on_answer)
        self._answered = asyncio.Event()
        self._answer: Result | WireError | None = None

    async def put(self, url: str) -> None:
        """Ask, and wait for the answer, which the client gives before or after the user has logged in.

        Raises:
            AuthError: the user does not agree, or the client cannot ask.
        """
        host = urlsplit(url).netloc.rpartition("@")[2]
        message = (
            f"This server needs a login. Open its address at {host} in a browser on the computer where search-mcp runs."
        )
        try:
            params = asking.to_open_url(self._server, message, url)
        except ValueError as exc:
            raise AuthError(f"the address of its login cannot be opened: {exc}") from exc
        self.id = asking.elicitation_id(params)
        self._call.caller.ask(Question(self._server, Ask.ELICIT, params, None, self._reply), self._call)
        await self._answered.wait()
        if isinstance(self._answer, WireError):
            raise AuthError(f"the client did not ask the user: {self._answer}")
        if self._answer is None or not asking.is_accepted(self._answer):
            raise AuthError("the user did not agree to log in")

    def _on_answer(self, answer: Result | WireError) -> None:
        self._answer = answer
        self._answered.set()

    def withdraw(self) -> None:
        """Take the question back, if it is open."""
        self._reply.cancel()
