"""The programs that the user has accepted, one small file for each configuration file that needs it.

`gate` decides when acceptance is needed. A program is the description of how a server is started or reached
(`ServerConfig.program`), together with the server's name. Records contain salted digests, not the programs, whose
variables and headers may be secret. In a file that was found in a folder, the texts about a server that a model reads
(`description`, `tags`, `prefix`, `rename`, `describe`) are accepted together with its program.
"""

import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

from search_mcp.config import identity
from search_mcp.config.schema import ServerConfig
from search_mcp.files import NotBelievedError, locked, open_own, write_whole
from search_mcp.wire import payload
from search_mcp.wire.structs import Struct, field, replace

MOST_PROGRAMS = 8
"""Most accepted programs that are kept for a server, so that switching branches back needs no new acceptance."""
PATIENCE_SECONDS = 5.0
"""Seconds to wait for the lock of another process, which holds it for milliseconds."""
CONFIRM_PATIENCE_SECONDS = 0.5
"""Seconds to wait for the lock while a client waits for its first answer."""


class Record(Struct, frozen=True, kw_only=True):
    """The decisions of the user about one configuration file."""

    version: Literal[1] = 1
    path: str
    """Its real path; a record that was copied or renamed is ignored."""
    salt: str
    folder: Literal["undecided", "trusted", "refused"] = "undecided"
    """Whether the file is used where it is found in the current folder, and if not, whether the user wants a notice."""
    has_baseline: bool = False
    """Whether all programs were accepted at some time, so that an unaccepted program is new."""
    confirms: bool = False
    """Whether the file had `confirmCommands: true`, which applies until the file is trusted without it."""
    accepted: dict[str, list[str]] = field(default_factory=dict)
    """Digests of accepted programs, by server, oldest first."""
    texts: dict[str, list[str]] = field(default_factory=dict)
    """Digests of accepted programs with the texts about them, by server, oldest first."""
    held: dict[str, str] = field(default_factory=dict)
    """Digests of the programs that a running `serve` holds, by server; commands do not start them."""
    fault: str = ""
    """The reason why the stored record cannot be used; not stored."""

    def accepts(self, server: ServerConfig) -> bool:
        """Return whether this program was accepted under this name."""
        return _digest(self.salt, server) in self.accepted.get(server.name, ())

    def accepts_texts(self, server: ServerConfig) -> bool:
        """Return whether this program was accepted under this name, with these texts about it."""
        return _digest_with_texts(self.salt, server) in self.texts.get(server.name, ())

    def holds(self, server: ServerConfig) -> bool:
        """Return whether a running `serve` holds this program and it was not accepted since."""
        return self.held.get(server.name) == _digest(self.salt, server) and not self.accepts(server)


class Approvals:
    """A folder of records. An unreadable record, or that of another file, accepts nothing and gets no baseline."""

    def __init__(self, folder: Path, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self.folder = folder
        self._lock = folder.with_name(f"{folder.name}.lock")  # outside the folder, which is watched for edits
        self._patience_seconds = patience_seconds

    def read(self, config: Path) -> Record:
        """Read the record of a configuration file."""
        real = real_path(config)
        path = self._path(real)
        try:
            with open_own(path) as file:
                record = payload.typed(file.read() or b"", Record)
        except (FileNotFoundError, NotADirectoryError):
            return _lost(real, f"{path} is a broken link") if path.is_symlink() else _nothing(real)
        except OSError as exc:
            return _lost(real, f"{path}: {exc.strerror}")
        except NotBelievedError as exc:
            return _lost(real, f"{path}: {exc}")
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
        """Record that a file confirms commands; the first time, accept the programs of all its servers.

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
        """Record which programs a running `serve` holds.

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
    """Resolve all links; unlike `Path.resolve`, this never raises."""
    return os.path.realpath(path)


def printable(path: str | Path) -> str:
    """Write a path, which may not be valid Unicode, as printable text."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _nothing(real: str) -> Record:
    return Record(path=printable(real), salt=os.urandom(16).hex())


def _lost(real: str, fault: str) -> Record:
    # It may have had a baseline; taking another would accept programs that were added since.
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
