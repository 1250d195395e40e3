"""The stored logins: a folder with one file a login, readable by the user only.

Everything here may block and is called in a thread or another process. A reader needs no lock, because files are
replaced in one step. Whoever changes a login holds its lock from reading to writing, so that a rotated refresh token is
neither lost nor overwritten.
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
from search_mcp.files import beside, locked, take_place
from search_mcp.wire import payload

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 90.0
"""Time that another process may hold the lock of a login: it makes requests meanwhile, of at most 60 s together."""


class LoginStore:
    """A folder of logins."""

    def __init__(self, folder: Path, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self.folder = folder
        self._patience_seconds = patience_seconds

    def read(self, settings: LoginSettings) -> Login | None:
        """Read a login; one that cannot be read is like none, and a warning is logged.

        Raises:
            OSError: the file exists and cannot be read.
        """
        path = self._path(settings)
        try:
            data = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            return payload.typed(protection.opened(data), Login)
        except ValueError:  # its text may quote a token
            log.warning("! the stored login of %s is damaged, or of another version: %s", settings.name, path)
            return None

    def state(self, settings: LoginSettings) -> object:
        """Return a value that changes whenever the stored login does."""
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
        path = self._path(settings)
        with locked(path.with_suffix(".lock"), self._patience_seconds):
            yield Change(self, settings)

    def logins(self) -> list[Login]:
        """Read all logins that can be read, by name."""
        found = []
        for path in sorted(self.folder.glob("*.json")):
            try:
                found.append(payload.typed(protection.opened(path.read_bytes()), Login))
            except (OSError, ValueError):
                log.debug("= %s is not a login that can be read", path)
        return found

    def _path(self, settings: LoginSettings) -> Path:
        digest = hashlib.sha256(payload.encode_bytes(settings.identity)).hexdigest()[:16]
        name = re.sub(r"[^a-z0-9_-]", "_", settings.name.lower())[:40]
        return self.folder / f"{name}-{digest}.json"


class Change:
    """One login while this process holds its lock."""

    def __init__(self, store: LoginStore, settings: LoginSettings) -> None:
        self._store, self._settings = store, settings
        self._path = store._path(settings)  # noqa: SLF001  # the other half of the store

    def read(self) -> Login | None:
        """Read the login; see `LoginStore.read`."""
        return self._store.read(self._settings)

    def write(self, login: Login) -> None:
        """Replace the login, on the disk when this returns.

        Raises:
            OSError: it cannot be written; the login before is unchanged.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.name == "posix":
            self._path.parent.chmod(0o700)  # the folder may have been made by a process with another umask
        with beside(self._path, protection.sealed(payload.encode_bytes(login)), os.fsync) as new:
            take_place(new, self._path)

    def delete(self) -> None:
        """Delete the login.

        Raises:
            OSError: it cannot be deleted.
        """
        self._path.unlink(missing_ok=True)
