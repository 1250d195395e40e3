"""Which clients may use the same server process, or the same connection to a remote server.

Two clients share a server if it is started in the same way for both (`launch_key`), and if it is known to keep nothing
between calls (`judge`). What a server keeps inside, such as a browser or an active project, no message shows.
"""

import enum
import hashlib
from collections.abc import Sequence
from typing import Final

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

KEY_BYTES = 32
NOT_SHARED = "not shared"
"""The beginning of the description of a server that is not shared."""
KEEPS_NOTHING = (
    f"it is opened in revision {names.MODERN[0]} and keeps nothing between calls; clients for which it is opened in an "
    "older revision do not share it"
)
"""The reason for which a server may be shared that is opened in the modern era."""


class Verdict(enum.Enum):
    """Whether clients may share a server."""

    SHARED = "shared"
    PRIVATE = "one for each client"
    UNKNOWN = "unknown until it has answered"


class Sharing(Struct, frozen=True):
    """A verdict, and the reason for it as a clause about the server."""

    verdict: Verdict
    why: str


NOT_ASKED: Final = Sharing(Verdict.UNKNOWN, "it has not answered yet")


def judge(config: ServerConfig, era: Era | None, record: SharingRecord) -> Sharing:
    """Decide whether clients may share a server; `era` is `None` while unknown."""
    if config.share is not None:
        return Sharing(Verdict.SHARED if config.share else Verdict.PRIVATE, f'"share" is {_json(config.share)}')
    if record.private_because:
        return Sharing(Verdict.PRIVATE, record.private_because)
    if era is Era.MODERN:
        # "servers MUST NOT rely on prior requests over the same connection" (basic/index of 2026-07-28)
        return Sharing(Verdict.SHARED, KEEPS_NOTHING)
    if config.remote is not None and not record.has_session:
        return Sharing(Verdict.SHARED, "it is remote and has no session")
    if era is None:
        return NOT_ASKED
    return Sharing(Verdict.PRIVATE, "it may keep state between calls")


def why_apart(openings: Sequence[Opening]) -> str:
    """Write why clients have several processes of a server that they may share, from the opening of each process."""
    revisions = sorted({each.revision for each in openings})
    if len(revisions) > 1:
        return f"the clients speak different revisions ({', '.join(revisions)})"
    if any(_capabilities(each) != _capabilities(openings[0]) for each in openings):
        return "the clients have different capabilities"
    return "the clients start it with different folders or variables"


def _capabilities(opening: Opening) -> dict[str, str]:
    return {name: bytes(raw).decode("utf-8", "replace") for name, raw in sorted(opening.capabilities.items())}


def _json(value: object) -> str:
    return payload.encode_bytes(value).decode()


def launch_key(config: ServerConfig, dependencies: Dependencies, opening: Opening, secret: bytes) -> bytes | None:
    """Return a digest of everything that a server is given at its start and in its opening.

    It is `None` if the server cannot start, or if the values of its sources of secrets are not filled in yet. The name
    of the client is left out: servers should not depend on it. With `secret`, the digest says nothing about the values
    in it, which may be secrets.
    """
    if config.problem is not None or config.unfilled is not None:
        return None
    client = [opening.era.value, opening.revision, _capabilities(opening)]
    try:
        start = transport_to(config, dependencies).start()
    except CannotOpenChannelError:
        return None
    # Not as JSON: paths and variables may contain bytes that are no UTF-8, all of which it would write alike.
    whole = repr([config.name, config.share, config.protocol, config.start_timeout_seconds, start, client])
    return hashlib.blake2b(whole.encode("utf-8", "backslashreplace"), key=secret, digest_size=KEY_BYTES).digest()
