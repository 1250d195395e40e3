"""`search-mcp serve --http`: the process that serves clients over HTTP.

Decides the order of starting and stopping: no new request is taken, open ones are answered, then the servers end.
"""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from search_mcp import logs
from search_mcp.backends.dependencies import dependencies_of_user
from search_mcp.backends.process.launching import without_threads
from search_mcp.background import FileQueue
from search_mcp.catalog.profiles import Profile
from search_mcp.config.gate import Gate
from search_mcp.config.location import approvals, locate, origin, read
from search_mcp.config.schema import Config
from search_mcp.config.trust import printable
from search_mcp.config.watches import Watches
from search_mcp.fronts.asgi import AsgiHost, listening_at
from search_mcp.fronts.ending_signals import TERMINATION_SECONDS, on_ending_signals
from search_mcp.fronts.http.access import Places
from search_mcp.fronts.http.front import HttpFront
from search_mcp.fronts.http.health import Health
from search_mcp.fronts.http.protected_resource import ProtectedResource
from search_mcp.fronts.http.server import HttpServer
from search_mcp.gateway.reloading import LogSettings, follow_edits
from search_mcp.pool.pool import Pool
from search_mcp.results.process_results import ProcessResults
from search_mcp.wire.structs import Struct, replace

log = logging.getLogger(__name__)

ANNOUNCED_SECONDS = 5.0
"""Time after a signal in which requests are still accepted, until a load balancer has seen that `/readyz` fails."""
DRAIN_SECONDS = 20.0
"""Longest time in which open requests are answered after a signal."""


@dataclass(frozen=True)
class Address:
    """Where the front listens."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read `HOST:PORT`.

        Raises:
            ValueError: it is something else.
        """
        host, colon, port = text.rpartition(":")
        if not colon or not port.isdecimal() or int(port) > 65535:
            raise ValueError(f"{text!r} is no address such as 127.0.0.1:8808")
        return cls(host.strip("[]") or "127.0.0.1", int(port))

    def listening(self) -> socket.socket:
        """Return a socket that listens there.

        Raises:
            OSError: the address, which is its file name, is in use, or is not one of this machine.
        """
        try:
            return listening_at(self.host, self.port)
        except OSError as exc:
            exc.filename = f"{self.host}:{self.port}"
            raise

    @property
    def is_loopback(self) -> bool:
        return self.host in ("localhost", "::1") or self.host.startswith("127.")


class Started(Struct, frozen=True):
    """A configuration that was read to be served."""

    config: Config
    follow: Gate
    log_to: LogSettings


class Terms(Struct, frozen=True):
    """Who may call, from where, and what all of them are shown."""

    places: Places
    needs_token: bool = True
    resource: ProtectedResource | None = None
    """As which access tokens are accepted; `None` for no such tokens."""
    profile: Profile | None = None


def read_configuration(explicit: str | None, log_level: str | None, *, as_json: bool = False) -> Started:
    """Find and read the configuration.

    Raises:
        ConfigError: it cannot be used.
    """
    path = locate(explicit, os.environ)
    follow = Gate(path, origin(path, explicit, os.environ), approvals())
    return Started(follow.at_start(read(path, os.environ)), follow, LogSettings(log_level, as_json=as_json))


@asynccontextmanager
async def running(started: Started, terms: Terms) -> AsyncIterator[tuple[HttpFront, Health]]:
    """Run what clients over HTTP need; at the end, answer what is open, and stop the servers."""
    without_threads()
    config, files, watches = started.config, FileQueue(), Watches()
    log.info("= configuration %s", printable(started.follow.path))
    started.follow.report()
    for warning in config.warnings:
        log.warning("! %s", warning)
    dependencies = replace(dependencies_of_user(files), max_message_bytes=config.settings.max_message_bytes)
    server = HttpServer(config, Pool(is_shared=True), dependencies, ProcessResults(), terms.profile)
    resource_server = None
    if terms.resource is not None:
        from search_mcp.fronts.http.access_tokens import ResourceServer  # with cryptography, which takes 0.2 s
        from search_mcp.fronts.http.issuer_keys import IssuerKeys

        resource_server = ResourceServer(terms.resource, IssuerKeys(terms.resource.issuer))
    tokens_now = (lambda: server.tokens) if terms.needs_token else None
    front = HttpFront(server.clients, tokens_now, terms.places, server.note_use, resource_server)
    async with server.pool.running(), anyio.create_task_group() as tasks:
        if resource_server is not None:
            tasks.start_soon(resource_server.keys.run)
        tasks.start_soon(server.clients.run)
        tasks.start_soon(follow_edits, started.follow, server, config, started.log_to, watches)
        if terms.needs_token:
            await server.read_tokens()
            tasks.start_soon(server.follow_tokens, watches)
            if not server.tokens and terms.resource is None:
                log.warning("! no client has a token yet; `search-mcp token add NAME` makes one")
        try:
            yield front, Health(server, front, terms.places)
        finally:
            with anyio.move_on_after(DRAIN_SECONDS):
                await front.drain()
            for client in list(server.clients):
                server.clients.end(client)
            server.pool.terminate()
            asyncio.get_running_loop().call_later(TERMINATION_SECONDS, server.pool.abort)
            tasks.cancel_scope.cancel()
    server.results.end()
    files.finish()


async def serve(started: Started, terms: Terms, address: Address, health_at: Address | None) -> None:
    """Serve clients until a signal comes; a second one ends open requests. `health_at` is the address for metrics."""
    ended = asyncio.Event()
    front: HttpFront | None = None

    def end(_: int) -> None:
        if ended.is_set() and front is not None:
            front.hurry()
        ended.set()

    listening = address.listening()
    health_listening = health_at and health_at.listening()
    with on_ending_signals(end):
        async with anyio.create_task_group() as tasks:
            async with running(started, terms) as (front, health):
                tasks.start_soon(AsgiHost(front, is_for_clients=True).run_on, listening)
                if health_at and health_listening:
                    tasks.start_soon(AsgiHost(health).run_on, health_listening)
                    log.info("= health at http://%s:%d", health_at.host, health_listening.getsockname()[1])
                log.info("= listening at http://%s:%d/mcp", address.host, listening.getsockname()[1])
                await ended.wait()
                if health.is_watched:
                    await front.announce_end(ANNOUNCED_SECONDS)
            tasks.cancel_scope.cancel()


def run(started: Started, terms: Terms, address: Address, health_at: Address | None) -> None:
    """Serve, with the log on stderr.

    Raises:
        OSError: an address cannot be used.
    """
    log_to = started.log_to
    with logs.to_stderr(log_to.level(started.config), log_to.clean, log_to.conceal, as_json=log_to.as_json):
        asyncio.run(serve(started, terms, address, health_at))
