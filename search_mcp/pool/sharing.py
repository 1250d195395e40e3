"""Which clients may use the same server process, or the same connection to a remote server.

Two clients share a server if it is started in the same way for both (`launch_key`), and if it was known before its
start to keep nothing between calls (`judge`). No message shows the state inside a server, such as a browser or an
active project.
"""

import hashlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from search_mcp.backends.cache import SharingRecord
from search_mcp.backends.channel import CannotOpenChannelError
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.transports import transport_to
from search_mcp.config.schema import ServerConfig
from search_mcp.dialects import names
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
NOT_SHARED = "not shared"
"""The beginning of the description of a server that is not shared."""
KEEPS_NOTHING = (
    f"it is opened in revision {names.MODERN[0]} and keeps nothing between calls; clients for which it is opened in an "
    "older revision do not share it"
)
"""The reason why clients share a server that is opened in the modern era."""
SHARED_LATER = "it was started before its revision was known; clients that connect from now on can share it"


class Sharing(Struct, frozen=True):
    """Whether clients share a server, and the reason as a clause about the server."""

    is_shared: bool
    why: str


UNKNOWN: Final = Sharing(is_shared=False, why="it has not answered yet")


def judge(config: ServerConfig, known: "KnownServer | None", era: Era | None, record: SharingRecord) -> Sharing:
    """Decide from what is known whether clients may share a server; `era` is `None` if it was never opened."""
    if config.share is not None:
        return Sharing(config.share, f'"share" is {payload.encode_text(config.share)}')
    if record.private_because:
        return Sharing(is_shared=False, why=record.private_because)
    if known is not None:
        return Sharing(is_shared=True, why=f"it is known to keep nothing between calls: {known.why}")
    if era is Era.MODERN:
        # "servers MUST NOT rely on prior requests over the same connection" (basic/index of 2026-07-28)
        return Sharing(is_shared=True, why=KEEPS_NOTHING)
    if config.remote is not None and not record.has_session:
        return Sharing(is_shared=True, why="it is remote and has no session")
    return UNKNOWN if era is None else Sharing(is_shared=False, why="it may keep state between calls")


def why_apart(openings: Sequence[Opening]) -> str:
    """Write why a server that clients may share has several processes, from the opening of each process."""
    revisions = sorted({each.revision for each in openings})
    if len(revisions) > 1:
        return f"the clients speak different revisions ({', '.join(revisions)})"
    if any(_capabilities(each) != _capabilities(openings[0]) for each in openings):
        return "the clients have different capabilities"
    return "the clients start it with different folders or variables"


def _capabilities(opening: Opening) -> dict[str, str]:
    return {name: bytes(raw).decode("utf-8", "replace") for name, raw in sorted(opening.capabilities.items())}


def launch_key(
    config: ServerConfig, known: "KnownServer | None", dependencies: Dependencies, opening: Opening, secret: bytes
) -> bytes | None:
    """Return a digest of everything that a server is given at its start and in its opening.

    It is `None` if the server cannot start. The name of the client is left out: servers should not depend on it. With
    `secret`, the digest says nothing about the values in it, which may be secrets.
    """
    if config.problem is not None:
        return None
    client = [opening.era.value, opening.revision, _capabilities(opening)]
    try:
        start = transport_to(config, dependencies).start(lambda name: known is None or not _PLACES_AND_LANGUAGE(name))
    except CannotOpenChannelError:
        return None
    given = [start, _sources(config, dependencies), client]
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
