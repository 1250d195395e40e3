"""The stored logins: a folder with one file for each login, readable by the user only.

A secret of the configuration is not stored: it is read from there each time.
All functions here may block, so they are called in a thread or in another process. A reader needs no lock, because
files are replaced in one step. A process that changes a login holds its lock from reading to writing, so that a rotated
refresh token is neither lost nor overwritten.
"""

import hashlib
import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from search_mcp.auth import protection
from search_mcp.auth.records import Login
from search_mcp.auth.settings import LoginSettings
from search_mcp.files import beside, locked, make_folder, read_whole, take_place
from search_mcp.wire import payload

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 90.0
"""Longest wait for the lock of a login; the process that holds it may make requests, of at most 60 s together."""


class LoginStore:
    """A folder of logins."""

    def __init__(self, folder: Path, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self.folder = folder
        self._patience_seconds = patience_seconds

    def read(self, settings: LoginSettings) -> Login | None:
        """Read a login; `None` if there is none, or if the file is malformed, which is logged.

        Raises:
            OSError: the file exists and cannot be read.
        """
        return _read(self._path(settings), settings.name, settings.client_secret)

    def state(self, settings: LoginSettings) -> object:
        """Return a value that changes whenever the stored login changes."""
        try:
            state = self._path(settings).stat()
        except OSError:
            return None
        return state.st_mtime_ns, state.st_size, state.st_ino

    @contextmanager
    def changing(self, settings: LoginSettings) -> Iterator["Change"]:
        """Hold the lock of a login.

        Raises:
            TimeoutError: another process held it all the time.
        """
        with self._changing(self._path(settings), settings.name, settings.client_secret) as change:
            yield change

    def logins(self) -> list[Login]:
        """Read all logins that can be read, by name."""
        return list(self._all().values())

    def delete_all(self, name: str) -> list[Login]:
        """Delete the logins of a server by its name alone, whatever its address was; return what was deleted.

        Raises:
            OSError: one cannot be deleted.
        """
        deleted = []
        for path, login in self._all().items():
            if login.name == name:
                with self._changing(path, name, None) as change:
                    deleted.append(change.read() or login)
                    change.delete()
        return deleted

    def _all(self) -> dict[Path, Login]:
        found = {}
        for path in sorted(self.folder.glob("*.json")):
            try:
                found[path] = payload.typed(protection.opened(read_whole(path)), Login)
            except (OSError, ValueError):
                log.debug("= %s is not a login that can be read", path)
        return found

    @contextmanager
    def _changing(self, path: Path, name: str, secret: str | None) -> Iterator["Change"]:
        with locked(path.with_suffix(".lock"), self._patience_seconds):
            yield Change(path, name, secret)

    def _path(self, settings: LoginSettings) -> Path:
        digest = hashlib.sha256(payload.encode_bytes(settings.identity)).hexdigest()[:16]
        name = re.sub(r"[^a-z0-9_-]", "_", settings.name.lower())[:40]
        return self.folder / f"{name}-{digest}.json"


class Change:
    """One login while this process holds its lock."""

    def __init__(self, path: Path, name: str, secret: str | None) -> None:
        self._path, self._name, self._secret = path, name, secret

    def read(self) -> Login | None:
        """Read the login; see `LoginStore.read`."""
        return _read(self._path, self._name, self._secret)

    def write(self, login: Login) -> None:
        """Replace the login; it is on the disk when this returns.

        Raises:
            OSError: it cannot be written; the stored login is unchanged.
        """
        make_folder(self._path.parent)
        data = payload.encode_bytes(login.with_secret(None))
        with beside(self._path, protection.sealed(data), os.fsync) as new:
            take_place(new, self._path)

    def delete(self) -> None:
        """Delete the login.

        Raises:
            OSError: it cannot be deleted.
        """
        self._path.unlink(missing_ok=True)


def _read(path: Path, name: str, secret: str | None) -> Login | None:
    try:
        data = read_whole(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return payload.typed(protection.opened(data), Login).with_secret(secret)
    except ValueError:  # its text may quote a token
        log.warning("! the stored login of %s is damaged, or of another version: %s", name, path)
        return None
