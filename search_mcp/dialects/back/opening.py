"""Opening of a backend, in the era of its opening if possible, else in the other era.

The answers of the backend decide. The caller remembers the result.
"""

from collections.abc import Callable

import anyio

from search_mcp.dialects import (
    BackDialect,
    CannotOpenError,
    CannotSpeakError,
    OnStaleList,
    OnUnanswered,
    names,
)
from search_mcp.dialects.back.legacy import BackLegacy, UnknownRevisionError, initialize
from search_mcp.dialects.back.modern import BackModern, discover
from search_mcp.model.names import Era
from search_mcp.model.servers import News, Opening, ServerCapabilities
from search_mcp.wire.errors import PeerError
from search_mcp.wire.peer import Peer
from search_mcp.wire.receiver import RequestFailedError


async def negotiate(
    peer: Peer, opening: Opening, *, pinned: str, first: Era, probe_seconds: float | None
) -> ServerCapabilities:
    """Open a backend with the revision `pinned`; with any other value, negotiate it, starting with the era `first`.

    `probe_seconds` is the time limit of the first request of the modern era, after which the server counts as legacy;
    `None` waits for the answer.

    Raises:
        CannotSpeakError: it supports no known revision.
        RequestFailedError: it gave no answer.
        CannotOpenError: it refused, or its answer is malformed.
        ConnectionEndedError: the connection ended.
    """
    try:
        if pinned in names.MODERN:
            return await _discover(peer, opening, f"it does not support {pinned}, the revision in its entry")
        if pinned in names.LEGACY:
            return await initialize(peer, opening, pinned)
        return await _either(peer, opening, first, probe_seconds)
    except UnknownRevisionError as exc:
        raise CannotSpeakError(str(exc)) from exc
    except (PeerError, ValueError) as exc:
        raise CannotOpenError(f"it could not be opened: {exc}") from exc


async def _either(peer: Peer, opening: Opening, first: Era, probe_seconds: float | None) -> ServerCapabilities:
    if first is Era.MODERN:
        # "The server returns any other error, or does not respond within a reasonable timeout: the
        # server is legacy. Fall back to the `initialize` handshake."
        with anyio.move_on_after(probe_seconds):
            server_capabilities = await discover(peer, opening)
            if server_capabilities is not None:
                return server_capabilities
    try:
        revision = opening.revision if opening.revision in names.LEGACY else names.LEGACY[0]
        return await initialize(peer, opening, revision)
    except UnknownRevisionError as exc:
        if exc.revision not in names.MODERN:
            raise
        return await _discover(peer, opening, str(exc))  # that era has no `initialize`
    except RequestFailedError as failed:
        if not failed.failure.is_unknown_request:
            raise
        return await _discover(peer, opening, str(failed))
    except PeerError as refused:
        # A modern server without `initialize`, or one that fixed its era when it read the late probe.
        return await _discover(peer, opening, f"it refused initialize: {refused}")


async def _discover(peer: Peer, opening: Opening, otherwise: str) -> ServerCapabilities:
    server_capabilities = await discover(peer, opening)
    if server_capabilities is None:
        raise CannotOpenError(otherwise)
    return server_capabilities


def back_dialect(
    server: str,
    peer: Peer,
    server_capabilities: ServerCapabilities,
    opening: Opening,
    tell: Callable[[News], None],
    stale: OnStaleList,
    unanswered: OnUnanswered,
) -> BackDialect:
    """Make the dialect of the negotiated era."""
    dialect = BackModern if server_capabilities.era is Era.MODERN else BackLegacy
    return dialect(server, peer, server_capabilities, opening, tell, stale, unanswered)
