"""Secrets that `add --secret` and `secret` store outside of the configuration file, and that `remove` deletes.

Decides where: in the keyring of the system, as `SERVER/NAME` of the service `search-mcp`; if none can be used, in a
file that only the user can read. If that name is taken, the server gets a number, so that two configuration files with
servers of the same name never share a secret.
"""

import getpass
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from search_mcp import files
from search_mcp.backends import system_keyring
from search_mcp.backends.system_keyring import SERVICE, KeyringError
from search_mcp.cli.problem import Misuse, Problem
from search_mcp.cli.terminal import Terminal
from search_mcp.config import sources
from search_mcp.config.blanks import IS_BLANK
from search_mcp.config.placeholders import at_home
from search_mcp.config.sources import MOST_BYTES
from search_mcp.folders import config_folder


@dataclass(frozen=True)
class Secret:
    """One secret of a server."""

    name: str
    """The variable, or the header of a remote server."""
    key: str
    """`SERVER/NAME`, in the keyring or below the folder of secrets."""
    value: str
    no_keyring: str | None = None
    """The reason for a file; None for the keyring."""

    @property
    def file(self) -> Path:
        return _folder() / self.key

    @property
    def placeholder(self) -> str:
        if self.no_keyring is None:
            return f"${{keyring:{SERVICE}/{self.key}}}"
        home = Path.home()
        file = Path("~") / self.file.relative_to(home) if self.file.is_relative_to(home) else self.file
        return f"${{file:{file.as_posix()}}}"

    @property
    def header(self) -> str:
        """The value of a header: one of `Authorization` that has no scheme gets the usual one."""
        is_bare = self.name.lower() == "authorization" and not re.search(r"\s", self.value)
        return f"Bearer {self.placeholder}" if is_bare else self.placeholder

    @property
    def place(self) -> str:
        return "in the keyring of the system" if self.no_keyring is None else f"in {self.file}, which only you can read"

    def store(self) -> None:
        """Store the secret.

        Raises:
            KeyringError, OSError: it cannot be stored.
        """
        if self.no_keyring is None:
            system_keyring.store(SERVICE, self.key, self.value)
            return
        # Of `${file:}`, one line break at the end is left out.
        files.write_whole(self.file, f"{self.value}\n".encode(errors="surrogateescape"))

    def delete(self) -> str | None:
        """Delete the secret; return why that is impossible."""
        try:
            if self.no_keyring is None:
                system_keyring.delete(SERVICE, self.key)
            else:
                self.file.unlink(missing_ok=True)
        except (KeyringError, OSError) as exc:
            return str(exc)
        return None


_MOST = 1000
"""Limit of servers with one name that have secrets of their own."""


def _folder() -> Path:
    return config_folder() / "secrets"


def placed(server: str, name: str, value: str = "") -> Secret:
    """Choose where a secret is stored; the system may ask the user to unlock the keyring."""
    keys = [f"{_folded(server)}{f'-{number}' if number > 1 else ''}/{_folded(name)}" for number in range(1, _MOST)]
    try:
        return Secret(name, next(key for key in keys if system_keyring.read(SERVICE, key) is None), value)
    except KeyringError as exc:
        reason = exc.reason.partition(":")[0]
        found = (Secret(name, key, value, reason) for key in keys)
        return next(each for each in found if not each.file.exists())


def read(server: str, names: Sequence[str], screen: Terminal, *, is_dry_run: bool) -> list[Secret]:
    """Ask for the secrets of a server, without showing them; a dry run asks for nothing.

    Raises:
        Misuse: a secret is missing or empty.
    """
    secrets = [placed(server, name) for name in names]
    if is_dry_run or not secrets:
        return secrets
    values = asked(names, screen, secrets[0].place)
    return [replace(each, value=value) for each, value in zip(secrets, values, strict=True)]


def parted(name: str, value: str) -> tuple[str, str]:
    """Split a value into what stays in the file, such as `Bearer `, and the secret."""
    scheme = re.match(r"[\w-]+ (?=.)", value) if name.lower() == "authorization" else None
    return (scheme[0], value[scheme.end() :]) if scheme is not None else ("", value)


def offered(server: str, name: str, value: str, screen: Terminal) -> Secret | None:
    """Ask for the secret in place of a value that an example left open; return `None` if the user types nothing.

    Raises:
        Misuse: it cannot be stored.
    """
    screen.note(f"{name} of {server} {IS_BLANK}. What you type is not shown, and not written into the file.")
    try:
        typed = getpass.getpass(f"{name} (Enter leaves it): ")
    except EOFError:
        typed = ""
    typed = typed.removeprefix(parted(name, value)[0])
    return placed(server, name, _usable(name, typed)) if typed else None


def asked(names: Sequence[str], screen: Terminal, where: str) -> list[str]:
    """Ask for secrets, without showing them; `where` is the place to name.

    Raises:
        Misuse: a secret is missing or empty.
    """
    values = _typed(names, screen, where) if sys.stdin.isatty() else _piped(names)
    return [_usable(name, value) for name, value in zip(names, values, strict=True)]


def _usable(name: str, value: str) -> str:
    if not value or "\0" in value:
        raise Misuse(f"the secret {name} is empty or has the character NUL", "give its value on stdin")
    if len(value.encode(errors="surrogateescape")) > MOST_BYTES:
        raise Misuse(f"the secret {name} is larger than {MOST_BYTES >> 10} KiB", "store it in a file")
    return value


def _folded(name: str) -> str:
    """Return a name without characters that have a meaning in a placeholder or a path."""
    return re.sub(r"^\.\.?$|[^\w.-]", "_", name)


def _typed(names: Sequence[str], screen: Terminal, where: str) -> list[str]:
    screen.note(f"What you type is not shown; it is stored {where}.")
    try:
        return [getpass.getpass(f"{name}: ") for name in names]
    except EOFError as exc:
        raise Misuse("nothing was typed", "type the secret, or give it on stdin") from exc


def _piped(names: Sequence[str]) -> list[str]:
    """Read the only secret, which may have several lines, or one secret in each line."""
    text = sys.stdin.read(MOST_BYTES * len(names) + len(names) + 1)
    text = text.removesuffix("\n").removesuffix("\r")
    if len(names) == 1:
        return [text]
    lines = text.splitlines()
    if len(lines) != len(names):
        raise Misuse(f"stdin has {len(lines)} lines for {len(names)} secrets", "write one secret in each line")
    return lines


@contextmanager
def stored(secrets: Sequence[Secret]) -> Iterator[None]:
    """Store secrets for the block that writes the configuration; if it fails, delete them.

    Raises:
        Problem: one cannot be stored.
    """
    done: list[Secret] = []
    try:
        for each in secrets:
            try:
                each.store()
            except KeyringError as exc:
                raise Problem(f"nothing was changed, because {exc.reason}", exc.remedy, exc.command) from exc
            except OSError as exc:
                raise Problem(
                    f"{each.file} cannot be written ({exc.strerror})", "check that you may write there"
                ) from exc
            done.append(each)
        yield
    except BaseException:
        for each in done:
            each.delete()
        raise


def tell(secrets: Sequence[Secret], screen: Terminal) -> None:
    """Say where secrets are stored, and why not in the keyring."""
    for each in secrets:
        why = f": {each.no_keyring}" if each.no_keyring is not None else ""
        screen.note(f"{each.name} is stored {each.place}{why}.")


def delete_unused(removed: Mapping[str, Any], left: Mapping[str, Any], screen: Terminal) -> None:
    """Delete the secrets that were stored for removed servers, unless another server of the file uses them."""
    used = set(_stored_in(left))
    for name, entry in removed.items():
        own = re.compile(rf"{re.escape(_folded(name))}(-\d+)?/")
        for each in dict.fromkeys(each for each in _stored_in(entry) if own.match(each.key) and each not in used):
            where = "from the keyring" if each.no_keyring is None else f"with its file {each.file}"
            if (fault := each.delete()) is None:
                screen.note(f"{name}: its secret {each.key} is deleted {where}.")
            else:
                screen.warning(f"{name}: its secret {each.key} is still {each.place}, because {fault}")


def _stored_in(value: object) -> Iterator[Secret]:
    """Yield the secrets of search-mcp's own that entries refer to."""
    for kind, argument, _ in sources.in_value(value):
        if kind == "keyring" and (found := sources.keyring_entry(argument))[0] == SERVICE:
            yield Secret("", found[1], "")
        elif kind == "file":
            path = Path(os.path.normpath(at_home(argument.strip(), str(Path.home()))))
            if path.is_relative_to(_folder()):
                yield Secret("", path.relative_to(_folder()).as_posix(), "", "")
