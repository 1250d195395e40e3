"""Which clients may use the same server process, or the same connection to a remote server.

Two clients share a server if it is started in the same way for both (`launch_key`), and if it was known before its
start to keep nothing between calls (`judge`). No message shows the state inside a server, such as a browser or an
active project.
"""

import hashlib
import re
from typing import TYPE_CHECKING, Final

from search_mcp.backends.cache import SharingRecord
from search_mcp.backends.channel import CannotOpenChannelError
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.transports import transport_to
from search_mcp.config.schema import ServerConfig
from search_mcp.dialects import asking, names
from search_mcp.model.names import Era
from search_mcp.model.servers import Opening
from search_mcp.wire import payload
from search_mcp.wire.structs import Struct

if TYPE_CHECKING:
    from search_mcp.pool.known_servers import KnownServer

KEY_BYTES = 32
_PLACES_AND_LANGUAGE: Final = re.compile("PATH|LANG|LANGUAGE|LC_.*").fullmatch
"""Inherited variables that a terminal often sets otherwise than a desktop, and that change no answer of a known server
once its program is found."""
ONE_FOR_EACH = "one for each client"
"""The beginning of the description of a server that is not shared."""
SHARED_LATER = "shared by the clients that connect from now on"
"""The same for a remote one that was opened for one client, before it was known to have no session."""
NOT_SHARED = (ONE_FOR_EACH, SHARED_LATER)


class Sharing(Struct, frozen=True):
    """Whether clients share a server, and the reason as a clause about the server."""

    is_shared: bool
    why: str


UNKNOWN: Final = Sharing(is_shared=False, why="it has not answered yet")


def for_any_client(config: ServerConfig, known: "KnownServer | None") -> Opening:
    """Return how a server is opened that clients share; it has no client to ask outside of calls.

    One that is shared because its entry says so may ask its client, and be written for revisions in which a server asks
    by requests: a library that answers in all revisions cannot ask so in the newest one.
    """
    if config.remote is None and known is None:
        return Opening(Era.LEGACY, names.LEGACY[0], asking.OF_ANY_CLIENT, None)
    return Opening(Era.MODERN, names.MODERN[0], asking.OF_ANY_CLIENT, None)


def judge(config: ServerConfig, known: "KnownServer | None", era: Era | None, record: SharingRecord) -> Sharing:
    """Decide from what is known whether clients may share a server; `era` is `None` if it was never opened.

    That a local server speaks the newest revision is no evidence. "Servers MUST NOT rely on prior requests over the
    same connection" (basic/index of 2026-07-28), but libraries let every server speak it, also one with a database or a
    browser for one client.
    """
    if config.share is not None:
        return Sharing(bool(config.share), f'"share" is {payload.encode_text(config.share)}')
    if record.private_because:
        return Sharing(is_shared=False, why=record.private_because)
    if known is not None:
        return Sharing(is_shared=True, why=f"it is known to keep nothing between calls, because {known.why}")
    if config.remote is not None and (era is Era.MODERN or not record.has_session):
        return Sharing(is_shared=True, why="it is remote and has no session")
    if config.remote is not None and era is None:
        return UNKNOWN
    return Sharing(is_shared=False, why='it is not known to keep nothing between calls; "share": true changes that')


def describe(decided: Sharing, now: Sharing, clients: int, processes: int, shared: int) -> str | None:
    """Write whether clients share a server, and why; `None` while that is unknown.

    `decided` before its start, and as it would be `now`; its entry has that many `processes`, `shared` ones among them.
    """
    if not decided.is_shared:
        return None if now is UNKNOWN else f"{SHARED_LATER if now.is_shared else ONE_FOR_EACH}: {now.why}"
    if shared > 1:
        return "shared by the clients with the same folder and variables"
    if not clients or (clients == 1 and processes == 1):
        return f"can be shared: {decided.why}"
    return f"shared by {clients} client{'' if clients == 1 else 's'}: {decided.why}"


def launch_key(
    config: ServerConfig, known: "KnownServer | None", dependencies: Dependencies, secret: bytes
) -> bytes | None:
    """Return a digest of everything that a server is given at its start, as far as that matters.

    It is `None` if the server cannot start. With `secret`, the digest says nothing about the values in it, which may be
    secrets.
    """
    if config.problem is not None:
        return None
    try:
        start = transport_to(config, dependencies).start(lambda name: known is None or not _PLACES_AND_LANGUAGE(name))
    except CannotOpenChannelError:
        return None
    given = [start, _sources(config, dependencies), config.principal, config.read_only]
    # Not as JSON: paths and variables may contain bytes that are no UTF-8, all of which it would write alike.
    whole = repr([config.name, config.share, config.protocol, config.start_timeout_seconds, given])
    return hashlib.blake2b(whole.encode("utf-8", "backslashreplace"), key=secret, digest_size=KEY_BYTES).digest()


def _sources(config: ServerConfig, dependencies: Dependencies) -> object:
    """Return the sources of secrets as they are written, and everything that a command among them is given.

    Their values are read when the server starts, which may be long after this.
    """
    if config.unfilled is None:
        return None
    sources, places = config.unfilled.sources, config.unfilled.places
    has_command = any(each.kind == "command" for each in sources)
    given = [sorted(dependencies.variables.items()), dependencies.folder] if has_command else None
    return [sources, places.home, places.config_dir, given]
