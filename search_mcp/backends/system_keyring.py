"""Secrets in the keyring of the system: the macOS Keychain, the Windows Credential Locker, the Secret Service.

The library `keyring` is optional. All functions may block, also while the system asks the user to unlock the keyring.
"""

import platform
from typing import Any, Final

from search_mcp.wire.errors import SearchMcpError

SERVICE: Final = "search-mcp"
"""The service of the secrets that search-mcp stores itself."""


class KeyringError(SearchMcpError):
    """The keyring cannot be used; the text is the reason, and the remedy if there is one."""

    def __init__(self, reason: str, remedy: str = "", command: str = "") -> None:
        super().__init__(reason, remedy, command)
        self.reason, self.remedy, self.command = reason, remedy, command

    def __str__(self) -> str:
        return f"{self.reason}; {self.remedy}: {self.command}" if self.command else self.reason


def read(service: str, name: str) -> str | None:
    """Read a secret; `None` if there is none.

    Raises:
        KeyringError: the keyring cannot be used.
    """
    library = _library()
    try:
        value: str | None = library.get_password(service, name)
    except Exception as exc:  # backends raise errors of their own libraries, too
        raise _explained(library, exc) from exc
    return value


def store(service: str, name: str, value: str) -> None:
    """Store a secret.

    Raises:
        KeyringError: the keyring cannot be used.
    """
    library = _library()
    try:
        library.set_password(service, name, value)
    except Exception as exc:  # see `read`
        raise _explained(library, exc) from exc


def delete(service: str, name: str) -> None:
    """Delete a secret, if there is one.

    Raises:
        KeyringError: the keyring cannot be used.
    """
    library = _library()
    try:
        if library.get_password(service, name) is not None:
            library.delete_password(service, name)
    except Exception as exc:  # see `read`
        raise _explained(library, exc) from exc


def _library() -> Any:
    try:
        import keyring

        return keyring
    except ImportError as exc:
        from search_mcp import installer

        remedy, command = installer.add("keyring")
        raise KeyringError("the library keyring is not installed", remedy, command) from exc


def _explained(library: Any, exc: Exception) -> KeyringError:
    """Explain an error by its kind alone: its text may quote the secret."""
    errors = library.errors
    if isinstance(exc, errors.NoKeyringError):
        return KeyringError(f"this system has no keyring that can be used: {_remedy()}")
    if isinstance(exc, errors.KeyringLocked):
        return KeyringError("the keyring of the system is locked: unlock it")
    return KeyringError(f"the keyring of the system gave an error of the kind {type(exc).__name__}")


def _remedy() -> str:
    starts = "start a Secret Service, such as gnome-keyring or KWallet, or " if platform.system() == "Linux" else ""
    return f"{starts}use ${{file:}} or ${{command:}}"
