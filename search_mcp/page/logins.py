"""Logins at remote servers that were begun on the page: one attempt for each server."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import urlsplit

import anyio

from search_mcp.auth import interactive
from search_mcp.auth.errors import AuthError, SeveralHosts
from search_mcp.auth.records import Login
from search_mcp.auth.settings import LoginSettings
from search_mcp.auth.store import LoginStore
from search_mcp.cli.logins.logging_in import logged_in
from search_mcp.cli.problem import Problem
from search_mcp.config.schema import ServerConfig
from search_mcp.page.facts import Facts

ADDRESS_SECONDS = 15.0
"""Longest time that the answer to "Log in" waits for the address to open."""


@dataclass(eq=False)
class Attempt:
    """A login that was begun: it waits for the user, or failed."""

    url: str = ""
    """The address that the user has to open; empty while it is not known."""
    hosts: Mapping[str, str] = field(default_factory=dict)
    """The hosts that the user has to accept first, if there are several."""
    problem: str = ""
    known: anyio.Event = field(default_factory=anyio.Event)
    """Is set when one of these is known, or the login is over."""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc.rpartition("@")[2]

    @property
    def key(self) -> object:
        """Is different whenever the page shows something else."""
        return self.url, tuple(self.hosts.items()), self.problem


class Logins:
    """The logins that were begun and are not over, by server."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self.attempts: dict[str, Attempt] = {}

    async def begin(self, server: ServerConfig, accepted: Mapping[str, str] | None = None) -> None:
        """Begin a login, in place of an earlier one, and wait until it is known what the user has to do."""
        self.cancel(server.name)
        attempt = self.attempts[server.name] = Attempt()
        self._facts.tasks.start_soon(self._run, server, attempt, accepted)
        with anyio.move_on_after(ADDRESS_SECONDS):
            await attempt.known.wait()

    def cancel(self, server: str) -> None:
        """Give a login up, if one was begun."""
        if (attempt := self.attempts.pop(server, None)) is not None:
            attempt.scope.cancel()

    async def _run(self, server: ServerConfig, attempt: Attempt, accepted: Mapping[str, str] | None) -> None:
        with attempt.scope:
            try:
                log_in = partial(_log_in, attempt)
                await logged_in(server, log_in, self._facts.host.log_to.conceal, server.login, accepted)
                self._facts.start(server.name)
                self.attempts.pop(server.name, None)
            except SeveralHosts as exc:
                attempt.hosts = exc.hosts
            except Problem as exc:
                attempt.url, attempt.problem = "", str(exc)
            finally:
                attempt.known.set()


async def _log_in(attempt: Attempt, settings: LoginSettings, store: LoginStore) -> Login:
    async def show(url: str) -> None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise AuthError("the address of its login is not that of a web page")
        attempt.url = url
        attempt.known.set()

    if settings.grant == "client_credentials":
        return await interactive.log_in_by_credentials(settings, store)
    return await interactive.log_in(settings, store, show)
