"""Secrets that `add --secret` stores in the keyring of the system, and that `remove` deletes.

Decides their names: `SERVER/NAME` under the service `search-mcp`, with a number if that is taken, so that two files
with servers of the same name never share a secret.
"""

import getpass
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

from search_mcp.backends import system_keyring
from search_mcp.backends.system_keyring import SERVICE, KeyringError
from search_mcp.cli.problem import Misuse, Problem
from search_mcp.cli.terminal import Terminal
from search_mcp.config import sources
from search_mcp.config.sources import MOST_BYTES


@dataclass(frozen=True)
class Secret:
    """One secret of a server that is added."""

    name: str
    """The variable, or the header of a remote server."""
    key: str
    """Its name in the keyring."""
    value: str

    @property
    def placeholder(self) -> str:
        return f"${{keyring:{SERVICE}/{self.key}}}"

    @property
    def header(self) -> str:
        """The value of a header: one of `Authorization` that has no scheme gets the usual one."""
        is_bare = self.name.lower() == "authorization" and not re.search(r"\s", self.value)
        return f"Bearer {self.placeholder}" if is_bare else self.placeholder


def read(server: str, names: Sequence[str], screen: Terminal, *, is_dry_run: bool) -> list[Secret]:
    """Ask for the secrets of a server, without showing them; a dry run asks for nothing.

    Raises:
        Problem: the keyring cannot be used.
        Misuse: a secret is missing or empty.
    """
    if is_dry_run:
        return [Secret(name, f"{_folded(server)}/{_folded(name)}", "") for name in names]
    keys = []
    try:
        keys += [_free_key(server, name) for name in names]
    except KeyringError as exc:
        raise Problem(f"nothing was added, because {exc.reason}", exc.remedy, exc.command) from exc
    values = asked(names, screen, "in the keyring of the system")
    return [Secret(name, key, value) for name, key, value in zip(names, keys, values, strict=True)]


def asked(names: Sequence[str], screen: Terminal, where: str) -> list[str]:
    """Ask for secrets, without showing them; `where` they are stored is told.

    Raises:
        Misuse: a secret is missing or empty.
    """
    values = _typed(names, screen, where) if sys.stdin.isatty() else _piped(names)
    for name, value in zip(names, values, strict=True):
        if not value or "\0" in value:
            raise Misuse(f"the secret {name} is empty or has the character NUL", "give its value on stdin")
        if len(value.encode(errors="surrogateescape")) > MOST_BYTES:
            raise Misuse(f"the secret {name} is larger than {MOST_BYTES >> 10} KiB", "store it in a file")
    return values


def _free_key(server: str, name: str) -> str:
    for number in count(1):
        key = f"{_folded(server)}{f'-{number}' if number > 1 else ''}/{_folded(name)}"
        if system_keyring.read(SERVICE, key) is None:
            return key
    raise AssertionError("count is endless")


def _folded(name: str) -> str:
    """Return a name without characters that have a meaning in a placeholder."""
    return re.sub(r"[^\w.-]", "_", name)


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
        Problem: the keyring cannot be used.
    """
    done: list[Secret] = []
    try:
        for each in secrets:
            try:
                system_keyring.store(SERVICE, each.key, each.value)
            except KeyringError as exc:
                raise Problem(f"nothing was added, because {exc.reason}", exc.remedy, exc.command) from exc
            done.append(each)
        yield
    except BaseException:
        for each in done:
            _deleted(each.key)
        raise


def delete_unused(removed: Mapping[str, Any], left: Mapping[str, Any], screen: Terminal) -> None:
    """Delete the secrets that `add` stored for removed servers, unless another server of the file uses them."""
    used = set(_keys(left))
    for name, entry in removed.items():
        own = re.compile(rf"{re.escape(_folded(name))}(-\d+)?/")
        for key in dict.fromkeys(key for key in _keys(entry) if own.match(key) and key not in used):
            if (fault := _deleted(key)) is None:
                screen.note(f"{name}: its secret {key} is deleted from the keyring.")
            else:
                screen.warning(f"{name}: its secret {key} is still in the keyring, because {fault}")


def _deleted(key: str) -> str | None:
    """Delete a secret; return why that is impossible."""
    try:
        system_keyring.delete(SERVICE, key)
    except KeyringError as exc:
        return str(exc)
    return None


def _keys(value: object) -> Iterator[str]:
    for kind, argument, _ in sources.in_value(value):
        if kind == "keyring" and (found := sources.keyring_entry(argument))[0] == SERVICE:
            yield found[1]
