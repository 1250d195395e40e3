"""The programs that the user has accepted, one small file for each configuration file that needs it.

Decides what counts as accepted, and remembers it; `gate` decides when it is needed. A program is all that says how a
server is started or reached (`ServerConfig.program`), together with the server's name. Kept are salted digests, never
the programs: their variables and headers may hold secrets.
"""

import hashlib
import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

from search_mcp import jsonrpc
from search_mcp.config import ServerConfig
from search_mcp.files import locked, write_whole
from search_mcp.jsonrpc import Struct, altered, field

log = logging.getLogger(__name__)

MOST_PROGRAMS = 8
"""Accepted programs that are kept of one server, the newest: a change of branch and back asks nothing."""
PATIENCE_SECONDS = 5.0
"""How long another process may have the lock; it needs milliseconds."""


class Record(Struct, frozen=True, kw_only=True):
    """What the user decided about one configuration file."""

    version: Literal[1] = 1
    path: str
    """Its real path: a record that was copied or renamed counts for nothing."""
    salt: str
    folder: Literal["undecided", "trusted", "refused"] = "undecided"
    """Whether the file is used where it is found in the current folder, and if not, whether the user wants a notice."""
    has_baseline: bool = False
    """Whether all programs were accepted at some time, so that one that is not accepted is new."""
    accepted: dict[str, list[str]] = field(default_factory=dict)
    """Digests of programs, by server, oldest first."""
    held: dict[str, str] = field(default_factory=dict)
    """Digests of the programs that a running `serve` holds, by server, so that commands do not start them."""

    def accepts(self, server: ServerConfig) -> bool:
        """Whether this very program was accepted under this name."""
        return _digest(self.salt, server) in self.accepted.get(server.name, ())

    def holds(self, server: ServerConfig) -> bool:
        """Whether a running `serve` holds this very program, and nobody has accepted it since."""
        return self.held.get(server.name) == _digest(self.salt, server) and not self.accepts(server)


class Approvals:
    """A folder of records. A record that is damaged, or is of another file, counts as none."""

    def __init__(self, folder: Path, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self.folder = folder
        self._lock = folder.with_name(f"{folder.name}.lock")  # not in it: edits in it are followed
        self._patience_seconds = patience_seconds

    def read(self, config: Path) -> Record:
        """Read what was decided about a configuration file."""
        real = real_path(config)
        path = self._path(real)
        try:
            record = jsonrpc.typed(path.read_bytes(), Record)
        except (FileNotFoundError, NotADirectoryError):
            return _nothing(real)
        except (OSError, ValueError) as exc:
            log.warning("! which programs of %s are accepted cannot be read, so none are: %s: %s", real, path, exc)
            return _nothing(real)
        return record if record.path == real else _nothing(real)

    def accept(self, config: Path, servers: Iterable[ServerConfig]) -> None:
        """Accept the programs of these servers.

        Raises:
            OSError: that cannot be remembered.
        """
        self._revise(config, lambda record: _with_accepted(record, servers))

    def accept_all(self, config: Path, servers: Iterable[ServerConfig]) -> None:
        """Accept the programs of all servers of a file: one that is not accepted is new from now on.

        Raises:
            OSError: that cannot be remembered.
        """
        self._revise(config, lambda record: altered(_with_accepted(record, servers), has_baseline=True))

    def trust(self, config: Path, servers: Iterable[ServerConfig]) -> None:
        """Accept the programs of all servers of a file, and use the file where it is found in the current folder.

        Raises:
            OSError: that cannot be remembered.
        """
        self._revise(
            config, lambda record: altered(_with_accepted(record, servers), has_baseline=True, folder="trusted")
        )

    def refuse(self, config: Path) -> None:
        """Forget every program that was accepted in a file, and skip the file where it is found in the current folder.

        Raises:
            OSError: that cannot be remembered.
        """
        self._revise(
            config,
            lambda record: altered(_nothing(record.path), folder="refused", has_baseline=record.has_baseline),
        )

    def note_held(self, config: Path, servers: Iterable[ServerConfig]) -> None:
        """Remember which programs a running `serve` holds.

        Raises:
            OSError: that cannot be remembered.
        """
        self._revise(
            config, lambda record: altered(record, held={each.name: _digest(record.salt, each) for each in servers})
        )

    def _path(self, real: str) -> Path:
        return self.folder / f"{hashlib.sha256(os.fsencode(real)).hexdigest()[:32]}.json"

    def _revise(self, config: Path, change: Callable[[Record], Record]) -> None:
        with locked(self._lock, self._patience_seconds):
            before = self.read(config)
            after = change(before)
            if after != before:
                write_whole(self._path(before.path), jsonrpc.encode_bytes(after))


def real_path(path: Path) -> str:
    """Resolve all links; unlike `Path.resolve` this never raises."""
    return os.path.realpath(path)


def _nothing(real: str) -> Record:
    return Record(path=real, salt=os.urandom(16).hex())


def _with_accepted(record: Record, servers: Iterable[ServerConfig]) -> Record:
    accepted, held = dict(record.accepted), dict(record.held)
    for server in servers:
        digest = _digest(record.salt, server)
        others = [each for each in accepted.get(server.name, ()) if each != digest]
        accepted[server.name] = [*others, digest][-MOST_PROGRAMS:]
        held.pop(server.name, None)
    return altered(record, accepted=accepted, held=held)


def _digest(salt: str, server: ServerConfig) -> str:
    written = jsonrpc.encode_bytes([salt, server.name, server.program.decode()])
    return hashlib.sha256(written).hexdigest()
