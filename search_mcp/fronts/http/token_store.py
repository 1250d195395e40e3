"""The tokens that a user has made: a folder with one small file each, which holds a digest and not the token.

Everything here may block and is called in a thread.
"""

import re
import secrets
import time
from pathlib import Path

from search_mcp.files import NotBelievedError, make_folder, open_own, write_whole
from search_mcp.fronts.http.access import PREFIX, Token, digest_of
from search_mcp.wire import payload
from search_mcp.wire.structs import replace

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
        """Record that a token was used now; with it a new subject of an authorization server, for an operator to see.

        Raises:
            OSError: it cannot be recorded.
        """
        if token.subject is not None and not self._path(token.name).exists():
            self._write(token)
        self._used(token.name).touch(0o600)

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
                return payload.typed(file.read() or b"", Token)
        except (OSError, NotBelievedError, ValueError):
            return None
