"""The programs that the user has accepted, one small file for each configuration file that needs it.

Decides what counts as accepted, and remembers it; `gate` decides when it is needed. A program is all that says how a
server is started or reached (`ServerConfig.program`), together with the server's name. Kept are salted digests, never
the programs: their variables and headers may hold secrets. Of a file in a folder the texts about a server that a model
reads (`description`, `rename`, `describe`) are accepted together with its program.
"""

import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

from search_mcp.config import identity
from search_mcp.config.schema import ServerConfig
from search_mcp.files import locked, write_whole
from search_mcp.wire import payload
from search_mcp.wire.structs import Struct, field, replace

MOST_PROGRAMS = 8
"""Accepted programs that are kept of one server, the newest: a change of branch and back asks nothing."""
PATIENCE_SECONDS = 5.0
"""How long another process may have the lock; it needs milliseconds."""
CONFIRM_PATIENCE_SECONDS = 0.5
"""The same where a client waits for its first answer."""


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
    confirms: bool = False
    """Whether the file had `confirmCommands: true`; that counts until the file is trusted without it."""
    accepted: dict[str, list[str]] = field(default_factory=dict)
    """Digests of programs, by server, oldest first."""
    texts: dict[str, list[str]] = field(default_factory=dict)
    """The same of programs together with the texts about them."""
    held: dict[str, str] = field(default_factory=dict)
    """Digests of the programs that a running `serve` holds, by server, so that commands do not start them."""
    fault: str = ""
    """Why the stored record cannot be used; never stored."""

    def accepts(self, server: ServerConfig) -> bool:
        """Whether this very program was accepted under this name."""
        return _digest(self.salt, server) in self.accepted.get(server.name, ())

    def accepts_texts(self, server: ServerConfig) -> bool:
        """Whether this very program was accepted under this name, with these texts about it."""
        return _digest_with_texts(self.salt, server) in self.texts.get(server.name, ())

    def holds(self, server: ServerConfig) -> bool:
        """Whether a running `serve` holds this very program, and nobody has accepted it since."""
        return self.held.get(server.name) == _digest(self.salt, server) and not self.accepts(server)


class Approvals:
    """A folder of records. One that cannot be read, or is of another file, accepts nothing and takes no baseline."""

    def __init__(self, folder: Path, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self.folder = folder
        self._lock = folder.with_name(f"{folder.name}.lock")  # not in it: edits in it are followed
        self._patience_seconds = patience_seconds

    def read(self, config: Path) -> Record:
        """Read what was decided about a configuration file."""
        real = real_path(config)
        path = self._path(real)
        try:
            record = payload.typed(path.read_bytes(), Record)
        except (FileNotFoundError, NotADirectoryError):
            return _lost(real, f"{path} is a broken link") if path.is_symlink() else _nothing(real)
        except OSError as exc:
            return _lost(real, f"{path}: {exc.strerror}")
        except ValueError:
            return _lost(real, f"{path} is damaged")
        return record if record.path == printable(real) else _lost(real, f"{path} is the record of another file")

    def accept(self, config: Path, servers: Iterable[ServerConfig]) -> None:
        """Accept the programs of these servers.

        Raises:
            OSError: that cannot be remembered.
        """
        self._revise(config, lambda record: _with_accepted(record, servers))

    def confirm(self, config: Path, servers: Iterable[ServerConfig]) -> Record:
        """Remember that a file confirms commands; the first time accept the programs of all its servers.

        Raises:
            OSError: that cannot be remembered.
        """

        def change(record: Record) -> Record:
            record = record if record.has_baseline else _with_accepted(record, servers)
            return replace(record, has_baseline=True, confirms=True)

        return self._revise(config, change, CONFIRM_PATIENCE_SECONDS)

    def trust(self, config: Path, servers: Iterable[ServerConfig], *, confirms: bool = False) -> None:
        """Accept the programs of all servers of a file, and use the file where it is found in the current folder.

        `confirms` is what the file says of `confirmCommands` now: what it said before counts no longer.

        Raises:
            OSError: that cannot be remembered.
        """

        def change(record: Record) -> Record:
            record = _with_accepted(record, servers)
            return replace(record, has_baseline=True, folder="trusted", confirms=confirms, held={})

        self._revise(config, change)

    def refuse(self, config: Path) -> None:
        """Forget every program that was accepted in a file, and skip the file where it is found in the current folder.

        Raises:
            OSError: that cannot be remembered.
        """
        self._revise(config, lambda record: replace(record, folder="refused", accepted={}, texts={}, held={}))

    def note_held(self, config: Path, servers: Iterable[ServerConfig]) -> None:
        """Remember which programs a running `serve` holds.

        Raises:
            OSError: that cannot be remembered.
        """
        self._revise(
            config, lambda record: replace(record, held={each.name: _digest(record.salt, each) for each in servers})
        )

    def _path(self, real: str) -> Path:
        return self.folder / f"{hashlib.sha256(os.fsencode(real)).hexdigest()[:32]}.json"

    def _revise(
        self, config: Path, change: Callable[[Record], Record], patience_seconds: float | None = None
    ) -> Record:
        real = real_path(config)
        with locked(self._lock, self._patience_seconds if patience_seconds is None else patience_seconds):
            before = self.read(config)
            after = replace(change(before), fault="")
            if after != before:
                write_whole(self._path(real), payload.encode_bytes(after))
        return after


def real_path(path: Path) -> str:
    """Resolve all links; unlike `Path.resolve` this never raises."""
    return os.path.realpath(path)


def printable(path: str | Path) -> str:
    """Write a path as text and JSON can hold it: it need not be Unicode."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _nothing(real: str) -> Record:
    return Record(path=printable(real), salt=os.urandom(16).hex())


def _lost(real: str, fault: str) -> Record:
    # It may have had a baseline: to take another would accept what was added since.
    return replace(_nothing(real), has_baseline=True, fault=fault)


def _with_accepted(record: Record, servers: Iterable[ServerConfig]) -> Record:
    accepted, texts, held = dict(record.accepted), dict(record.texts), dict(record.held)
    for server in servers:
        accepted[server.name] = _newest(accepted.get(server.name, ()), _digest(record.salt, server))
        texts[server.name] = _newest(texts.get(server.name, ()), _digest_with_texts(record.salt, server))
        held.pop(server.name, None)
    return replace(record, accepted=accepted, texts=texts, held=held)


def _newest(digests: Iterable[str], new: str) -> list[str]:
    return [*(each for each in digests if each != new), new][-MOST_PROGRAMS:]


def _digest(salt: str, server: ServerConfig) -> str:
    return _hash(salt, server.name, server.program.decode())


def _digest_with_texts(salt: str, server: ServerConfig) -> str:
    return _hash(salt, server.name, server.program.decode(), identity.texts(server).decode())


def _hash(*parts: str) -> str:
    return hashlib.sha256(payload.encode_bytes(parts)).hexdigest()
