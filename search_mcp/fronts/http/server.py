"""The clients over HTTP of one configuration, and what they share: servers, tokens, edits of the configuration."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import anyio

from search_mcp.backends.dependencies import Dependencies
from search_mcp.background import QueueOperation, run_in_thread
from search_mcp.catalog.profiles import BY_NAME, Profile
from search_mcp.config.schema import Config, ServerConfig
from search_mcp.config.subset import parse
from search_mcp.config.watches import Watches
from search_mcp.folders import tokens_folder
from search_mcp.fronts.http.access import Token
from search_mcp.fronts.http.clients import LOOK_SECONDS, Clients
from search_mcp.fronts.http.process_limits import ProcessLimits
from search_mcp.fronts.http.token_store import TokenStore
from search_mcp.gateway.gateway import Gateway
from search_mcp.gateway.reloading import is_made
from search_mcp.pool.pool import Pool
from search_mcp.results.process_results import ProcessResults
from search_mcp.wire.structs import replace

USE_SECONDS = 60.0
"""Shortest time between two records of the use of a token."""


@dataclass(eq=False)
class HttpServer:
    """The clients over HTTP, and what they share."""

    config: Config
    pool: Pool
    dependencies: Dependencies
    results: ProcessResults
    profile: Profile | None = None

    def __post_init__(self) -> None:
        self.clients = Clients(self._new_gateway, self.config.settings.max_message_bytes)
        self._limits = ProcessLimits(self.dependencies.spawn)
        self._error: str | None = None
        self.store = TokenStore(tokens_folder())
        self.tokens: Sequence[Token] = ()
        self._noted: dict[str, float] = {}  # when a use was recorded last, by principal

    def _new_gateway(self, token: Token) -> Gateway:
        profile = BY_NAME[token.profile] if token.profile is not None else self.profile
        config = of_token(self.config, token)
        dependencies = replace(self.dependencies, spawn=self._limits.of(token.name))
        gateway = Gateway(config, dependencies, self.pool, profile, results=self.results, principal=token.name)
        gateway.note_broken_edit(self._error)
        return gateway

    # Tokens

    async def read_tokens(self) -> None:
        """Read the tokens; end the clients of those that are gone, or replaced by one with other rights."""
        former, self.tokens = self.tokens, await run_in_thread(self.store.all)
        gone = set(former) - set(self.tokens)  # without subjects that are not recorded yet
        for token in gone:
            self._noted.pop(token.name, None)
        by_rights = {each.rights: each for each in self.tokens}
        for client in [each for each in self.clients if each.token in gone]:
            if (renewed := by_rights.get(client.token.rights)) is None:
                self.clients.end(client)
            else:
                client.token = renewed

    async def follow_tokens(self, watches: Watches) -> None:
        """Read the tokens again whenever one is made or removed; no later than `LOOK_SECONDS` after it."""
        folder = self.store.folder
        while await run_in_thread(partial(is_made, folder)):  # only an existing folder can be watched
            with suppress(FileNotFoundError), watches.noticed(folder) as edited:  # each time anew: it may be replaced
                await self.read_tokens()
                with anyio.move_on_after(LOOK_SECONDS):
                    await edited.wait()
        await self.read_tokens()  # there is none

    def note_use(self, token: Token) -> None:
        """Record the use of a token, at most once a minute."""
        now = time.monotonic()
        if now - self._noted.get(token.name, -USE_SECONDS) >= USE_SECONDS:
            self._noted[token.name] = now
            self.dependencies.file_queue(partial(self.store.note_use, token))

    # Edits of the configuration

    @property
    def file_queue(self) -> QueueOperation:
        return self.dependencies.file_queue

    def reconfigure(self, config: Config) -> None:
        self.config = config
        for client in self.clients:
            client.gateway.reconfigure(of_token(config, client.token))

    def note_broken_edit(self, error: str | None) -> None:
        self._error = error
        for client in self.clients:
            client.gateway.note_broken_edit(error)

    def tidy(self) -> None:
        if self.dependencies.cache is not None:
            self.dependencies.cache.prune(self.dependencies.wall_clock())

    async def look_at_trust(self) -> None:
        for client in list(self.clients):
            await client.gateway.look_at_trust()


def of_token(config: Config, token: Token) -> Config:
    """Return the configuration as a token gives it: some servers, perhaps with tools that read only.

    `startup: auto` becomes lazy: else each session would start all servers that were used lately, and some programs
    begin a session for each of their runs.
    """
    if token.servers is not None:
        config = parse(token.servers).of(config)
    return replace(config, servers=tuple(_of_token(each, token) for each in config.servers))


def _of_token(server: ServerConfig, token: Token) -> ServerConfig:
    principal = "" if server.share == "all" else token.name
    startup = "lazy" if server.startup == "auto" else server.startup
    return replace(server, principal=principal, read_only=server.read_only or token.read_only, startup=startup)
