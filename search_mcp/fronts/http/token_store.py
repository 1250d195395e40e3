"""The tokens that a user has made: a folder with one small file each, which holds a digest and not the token.

Everything here may block and is called in a thread.
"""

import logging
import re
import secrets
import time
from pathlib import Path

from search_mcp.catalog.profiles import BY_NAME
from search_mcp.config.subset import parse
from search_mcp.files import make_folder, open_own, write_whole
from search_mcp.fronts.http.access import PREFIX, Token, digest_of
from search_mcp.model.errors import ConfigError
from search_mcp.wire import payload
from search_mcp.wire.structs import replace

log = logging.getLogger(__name__)

SECRET_BYTES = 32
NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
"""Names of tokens: they are parts of tokens, of file names and of what a load balancer reads."""


class TokenStore:
    """A folder of tokens."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def all(self) -> list[Token]:
        """Return the tokens, by name; one that cannot be read is none."""
        found = (self._read(path) for path in sorted(self.folder.glob("*.json")))
        return [each for each in found if each is not None]

    def find(self, name: str) -> Token | None:
        return self._read(self._path(name)) if NAME.fullmatch(name) else None

    def add(self, token: Token) -> str:
        """Store a token in place of one of its name; return the secret text, which is nowhere else.

        Raises:
            OSError: it cannot be stored.
        """
        text = f"{PREFIX}{token.name}_{secrets.token_urlsafe(SECRET_BYTES)}"
        self._write(replace(token, digest=digest_of(text), created=time.time()))
        return text

    def remove(self, name: str) -> bool:
        """Delete a token; return false if there is none.

        Raises:
            OSError: it cannot be deleted.
        """
        if not NAME.fullmatch(name):
            return False
        try:
            self._path(name).unlink()
        except FileNotFoundError:
            return False
        self._used(name).unlink(missing_ok=True)
        return True

    def note_use(self, token: Token) -> None:
        """Record that a token was used now; store a new subject of an authorization server, so that it is listed."""
        try:
            if token.subject is not None and not self._path(token.name).exists():
                self._write(token)
            self._used(token.name).touch(0o600)
        except OSError as exc:
            log.warning("! the last use of %s cannot be recorded: %s", token.name, exc)

    def last_use(self, name: str) -> float | None:
        """Return when a token was used last, in seconds since the epoch; `None` if it was not."""
        try:
            return self._used(name).stat().st_mtime
        except OSError:
            return None

    def _write(self, token: Token) -> None:
        make_folder(self.folder)
        write_whole(self._path(token.name), payload.encode_bytes(token))

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def _used(self, name: str) -> Path:
        return self.folder / f"{name}.used"

    def _read(self, path: Path) -> Token | None:
        try:
            with open_own(path) as file:
                return _checked(payload.typed(file.read() or b"", Token), path.stem)
        except FileNotFoundError:
            return None
        except (OSError, ConfigError, ValueError) as exc:
            log.warning("! %s is ignored: %s", path, exc)
            return None


def _checked(token: Token, name: str) -> Token:
    """Return a token that can be used.

    Raises:
        ValueError: it is not of this name, or is shown as a client that this version does not know.
        ConfigError: its servers are no expression.
    """
    if token.name != name:
        raise ValueError("it is of another name")
    if token.profile is not None and token.profile not in BY_NAME:
        raise ValueError(f"this version does not know the client {token.profile!r}")
    if token.servers is not None:
        parse(token.servers)
    return token
