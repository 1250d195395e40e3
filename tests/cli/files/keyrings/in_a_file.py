"""A keyring that is a JSON file in the home folder of the test."""

import json
from pathlib import Path

from keyring.backend import KeyringBackend


class Keyring(KeyringBackend):
    """Keeps passwords by service and name."""

    priority = 1.0

    def _read(self) -> dict[str, str]:
        path = Path.home() / "ring.json"
        return dict(json.loads(path.read_text())) if path.exists() else {}

    def _write(self, passwords: dict[str, str]) -> None:
        (Path.home() / "ring.json").write_text(json.dumps(passwords))

    def get_password(self, service: str, username: str) -> str | None:
        return self._read().get(f"{service}|{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self._write({**self._read(), f"{service}|{username}": password})

    def delete_password(self, service: str, username: str) -> None:
        passwords = self._read()
        del passwords[f"{service}|{username}"]
        self._write(passwords)
