"""The token for the requests to one remote server, and what to do when the server refuses one.

Files are read in a thread, and renewals are made by another process (`renewal`). A login made elsewhere is noticed as
soon as a request needs it.
"""

import asyncio
import logging
import math
import threading
import time
from collections.abc import Callable, Iterable

from search_mcp.auth.challenges import Challenge, bearer
from search_mcp.auth.errors import AuthError, Unauthorized, Unavailable, quoted
from search_mcp.auth.records import Login
from search_mcp.auth.renewal import Need, Renewed, digest, renew_apart
from search_mcp.auth.settings import LoginSettings
from search_mcp.auth.store import LoginStore
from search_mcp.background import RunBlocking, run_in_thread

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""Time between looks for a login that was changed elsewhere."""
PAUSE_SECONDS = 30.0
"""Time between attempts to renew a token that is still valid."""
UNAUTHORIZED, FORBIDDEN = 401, 403

Renew = Callable[[LoginStore, LoginSettings, Need], Renewed]


class Access:
    """The login of one server, as its connection uses it."""

    def __init__(
        self,
        settings: LoginSettings,
        store: LoginStore,
        *,
        renew: Renew = renew_apart,
        run: RunBlocking = run_in_thread,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings
        self._store = store
        self._renew, self._run, self._clock = renew, run, clock
        self._login: Login | None = None
        self._is_read = False
        self._state: object = None  # of the stored login when it was read
        self._looked_at = 0.0
        self._turn = asyncio.Lock()  # one renewal at a time here; the store's lock is for other processes
        self._early: threading.Thread | None = None
        self._not_before = 0.0

    async def token(self) -> str | None:
        """Return the token to send; `None` without one: the server may need none.

        A token near its end is renewed meanwhile, and sent.

        Raises:
            Unavailable: it has expired, and cannot be renewed now.
            AuthError: the client credentials are not accepted.
        """
        if self._login is not None:
            await self._look()
        if self._login is None:
            # A server that needs no login costs no look at the disk for each request; `refused` looks again.
            if not self._is_read or self._logs_in_itself:
                async with self._turn:
                    await self._make_current()
        elif self._login.is_expired(self._clock()):
            async with self._turn:
                await self._make_current()
        elif self._login.is_due(self._clock()):
            self._renew_early()
        return self._login.access_token if self._login is not None else None

    async def refused(self, sent: str | None, status: int, headers: Iterable[str]) -> None:
        """Have a new token for a request that was refused, and not carried out: it can be sent once more.

        Args:
            sent: the token of the request
            status: 401 or 403
            headers: the values of `WWW-Authenticate`

        Raises:
            Unauthorized: only the user can help.
            Unavailable: no new token can be had now.
            AuthError: no login changes the refusal.
        """
        challenge = bearer(headers)
        if challenge is None:
            raise AuthError("it asks for a kind of login that search-mcp does not have")
        if status == FORBIDDEN and challenge.error != "insufficient_scope":
            raise AuthError("it forbids the request")
        async with self._turn:
            await self._read()
            login = self._login
            if login is None or login.access_token == sent or login.is_expired(self._clock()):
                await self._after_refusal(sent, status, challenge)  # else there was a login, or a renewal, elsewhere

    async def _after_refusal(self, sent: str | None, status: int, challenge: Challenge) -> None:
        login = self._login
        if status == FORBIDDEN:
            if login is not None and {*challenge.scopes} <= {*login.wanted_scopes}:
                # "treat this as a permanent authorization failure": a login with these scopes was not enough.
                raise AuthError(
                    f"it needs permissions that the login did not get: {quoted(' '.join(challenge.scopes))}"
                )
            renewed = await self._renewed(Need(refused=digest(sent), scopes=challenge.scopes))
        elif login is not None or self._logs_in_itself:
            renewed = await self._renewed(Need(refused=digest(sent)))
        else:
            raise Unauthorized
        if renewed.outcome != "renewed":
            raise Unauthorized(renewed.reason)

    @property
    def _logs_in_itself(self) -> bool:
        return self.settings.grant == "client_credentials"

    async def _make_current(self) -> None:
        """Read the login, and renew it if it has expired."""
        if self._login is not None and not self._login.is_expired(self._clock()):
            return  # done by the request before
        await self._read()
        login = self._login
        is_wanted = login is None or login.is_expired(self._clock())
        if is_wanted and (self._logs_in_itself or (login is not None and login.is_renewable)):
            renewed = await self._renewed(Need())
            if renewed.outcome == "renewed":
                return  # used even if its lifetime is over by the clock of this computer
            if self._logs_in_itself:
                raise AuthError(renewed.reason)
        if self._login is not None and self._login.is_expired(self._clock()):
            self._login = None  # the server says what it needs

    async def _look(self) -> None:
        """Read the login again if it was changed: the user may have logged out, or in as another user."""
        if abs(self._clock() - self._looked_at) < LOOK_SECONDS:
            return
        self._looked_at = self._clock()
        if await self._run(lambda: self._store.state(self.settings)) != self._state:
            async with self._turn:
                await self._read()

    async def _read(self) -> None:
        """Read the stored login.

        Raises:
            Unavailable: it cannot be read.
        """
        try:
            self._state, self._login = await self._run(self._stored)
        except OSError as exc:
            raise Unavailable(f"its login cannot be read: {exc.strerror or exc}") from exc
        self._is_read, self._looked_at = True, self._clock()

    def _stored(self) -> tuple[object, Login | None]:
        state = self._store.state(self.settings)  # first: a change between the two is noticed by the next look
        return state, self._store.read(self.settings)

    async def _renewed(self, need: Need) -> Renewed:
        """Renew the login and read it.

        Raises:
            Unavailable: it cannot be renewed now.
        """
        renewed = await self._run(lambda: self._renew(self._store, self.settings, need))
        if renewed.outcome == "unavailable":
            raise Unavailable(renewed.reason)
        await self._read()
        return renewed

    def _renew_early(self) -> None:
        """Renew the login in a thread that nobody waits for."""
        if self._clock() < self._not_before or (self._early is not None and self._early.is_alive()):
            return
        self._not_before = self._clock() + PAUSE_SECONDS
        self._early = threading.Thread(target=self._renew_now, name="renewal", daemon=True)
        self._early.start()

    def _renew_now(self) -> None:
        renewed = self._renew(self._store, self.settings, Need())
        if renewed.outcome != "renewed":
            log.debug("! the login of %s is not renewed yet: %s", self.settings.name, renewed.reason)
            return
        self._looked_at = -math.inf  # the next request reads it
