"""Reading the sources of secrets of a server that is about to start: files, commands, the keyring,
and the secrets of clients over HTTP.

Decides what is read once and what at every start, how long and how much is read, and how a failure is described: by its
source and its reason, never by a value. A command runs once in a process for the same variables and folder. All others
are read at every start. Sources of one server are read one after the other, so that a password manager
asks at most one question at a time for each server. Loaded when the first such server starts.
"""

import asyncio
import errno
import hashlib
import os
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import PurePath
from typing import TypeVar

import anyio

from search_mcp.backends import system_keyring
from search_mcp.backends.channel import CannotOpenChannelError, MissingFile
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.system_keyring import KeyringError
from search_mcp.config import embeddings, entries, sources
from search_mcp.config.placeholders import Source, at_home
from search_mcp.config.schema import EmbeddingsAddress, ServerConfig, Unfilled
from search_mcp.config.secrets import shown_arguments
from search_mcp.config.sources import MOST_BYTES
from search_mcp.files import identity, without_waiting
from search_mcp.folders import secrets_folder
from search_mcp.model.errors import for_shell
from search_mcp.model.sentences import cut, on_one_line

SECONDS = 30.0
"""Time limit for one source: as long as a person needs to unlock a password manager."""
LONGEST_SHOWN = 120
"""Most characters of a command or a path in a message."""
MOST_OUTPUTS = 256
"""Outputs that are kept; an engine process has many clients, each with variables of its own."""

_LINKED = "is reached through a link, which only your own configuration file may use"
_LATE = f"gave no answer within {SECONDS:g} s"
_Answer = TypeVar("_Answer")


class SourceError(CannotOpenChannelError):
    """A source cannot be read; the text names the key, the source and the reason."""


async def filled(config: ServerConfig, dependencies: Dependencies) -> ServerConfig:
    """Read the sources of a server, and fill in their values.

    Raises:
        SourceError: one of them cannot be read.
    """
    if config.unfilled is None:
        return config
    return entries.filled(config, await _values(config.unfilled, dependencies, config.cwd, config.principal))


async def filled_address(address: EmbeddingsAddress, dependencies: Dependencies) -> EmbeddingsAddress:
    """Read the sources of an address that makes vectors of texts, and fill in their values.

    Raises:
        SourceError: one of them cannot be read.
    """
    if address.unfilled is None:
        return address
    return embeddings.filled(address, await _values(address.unfilled, dependencies))


async def _values(
    unfilled: Unfilled, dependencies: Dependencies, cwd: str | None = None, principal: str = ""
) -> dict[tuple[str, str], str]:
    values: dict[tuple[str, str], str] = {}
    for source in unfilled.sources:
        if source.place not in values:
            values[source.place] = await _value(source, unfilled, dependencies, cwd, principal)
    return values


async def _value(
    source: Source, unfilled: Unfilled, dependencies: Dependencies, cwd: str | None, principal: str
) -> str:
    try:
        match source.kind:
            case "file":
                what = f"the file {_shown(source.argument)}"
                path, is_checked = _path(source.argument, unfilled)
                data = await _in_thread(partial(_content, path, is_checked=is_checked), dependencies)
                return _text(data)
            case "command":
                words = sources.words(source.argument, sys.platform)
                what = f"the command `{_shown(_written(words))}`"
                folder = dependencies.folder if cwd is None else cwd
                return await _output(_resolved(words, unfilled), folder, dependencies)
            case "user":
                what = f"the secret {source.argument}"
                return await _user_secret(source.argument, principal, dependencies)
            case _:
                service, name = sources.keyring_entry(source.argument)
                what = f"the keyring entry {_shown(source.argument)}"
                found = await _in_thread(partial(system_keyring.read, service, name), dependencies)
                if found is None:
                    raise CannotOpenChannelError("does not exist")
                return _checked(found)
    except TimeoutError:
        raise SourceError(f"{source.key}: {what} {_LATE}") from None
    except KeyringError as exc:
        raise SourceError(f"{source.key}: {what} cannot be read, because {exc}") from exc
    except CannotOpenChannelError as exc:
        raise SourceError(f"{source.key}: {what} {exc}", exc.missing) from exc


async def _in_thread(act: Callable[[], _Answer], dependencies: Dependencies) -> _Answer:
    with anyio.fail_after(SECONDS):
        return await dependencies.run_blocking(act)


# Files


def _path(written: str, unfilled: Unfilled) -> tuple[str, bool]:
    """Return the path of a file, and whether it must not lead through a link.

    A relative path starts at the folder of the configuration. If other people may write to that folder, a link there
    could replace the file that the user accepted by another one.
    """
    path = at_home(written, unfilled.places.home)
    is_relative = not PurePath(path).is_absolute()
    is_of_others = bool(unfilled.places.file)
    return os.path.join(unfilled.places.config_dir, path), is_relative and is_of_others  # noqa: PTH118


def _content(path: str, *, is_checked: bool) -> bytes:
    """Read a whole regular file.

    Raises:
        CannotOpenChannelError: it cannot be read; the text is a clause about it.
    """
    try:
        with open(path, "rb", opener=without_waiting) as file:
            opened = os.fstat(file.fileno())
            if is_checked and _is_linked(path, opened):
                raise CannotOpenChannelError(_LINKED)
            if not stat.S_ISREG(opened.st_mode):
                raise CannotOpenChannelError("is not a regular file")
            data = file.read(MOST_BYTES + 1)
    except OSError as exc:
        if exc.errno in (errno.ENOENT, errno.ENOTDIR):
            raise CannotOpenChannelError("does not exist") from exc
        raise CannotOpenChannelError(f"cannot be read ({exc.strerror})") from exc
    except ValueError as exc:
        raise CannotOpenChannelError("has a name that no file can have") from exc
    if len(data) > MOST_BYTES:
        raise CannotOpenChannelError(f"is larger than {MOST_BYTES >> 10} KiB")
    return data


async def _user_secret(name: str, principal: str, dependencies: Dependencies) -> str:
    if not principal:
        raise CannotOpenChannelError("is one of each client over HTTP, and this server runs for none of them")
    path = secrets_folder(principal) / name
    found = await _in_thread(partial(identity, path), dependencies)
    try:
        return _text(await _in_thread(partial(_content, str(path), is_checked=False), dependencies))
    except CannotOpenChannelError as exc:
        missing = MissingFile(path, found, f"search-mcp token secret {principal} {name}")
        raise CannotOpenChannelError(f"of {principal} {exc}", missing) from exc


def _is_linked(path: str, opened: os.stat_result) -> bool:
    """Return whether an opened file was reached through a link, which may have been replaced since."""
    if os.path.normcase(os.path.realpath(path)) != os.path.normcase(os.path.normpath(path)):
        return True
    return not os.path.samestat(opened, os.lstat(path))


# Commands


def _resolved(words: Sequence[str], unfilled: Unfilled) -> list[str]:
    """Expand `~` in a command; a relative path of its program starts at the folder of the configuration.

    The client chooses the current folder, and could choose the program with it.
    """
    program, *args = [at_home(word, unfilled.places.home) for word in words]
    if PurePath(program).name != program:
        program = os.path.join(unfilled.places.config_dir, program)  # noqa: PTH118
    return [program, *args]


class _Output:
    """The output of one command, for all servers that use it with the same variables and folder."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.value: str | None = None
        self.failure = ""
        self.failures = 0


async def _output(words: Sequence[str], folder: str | None, dependencies: Dependencies) -> str:
    """Run a command, unless it gave a value before; if it fails, it fails for all that wait for it now."""
    output: _Output = dependencies.outputs.setdefault(_key(words, folder, dependencies.variables), _Output())
    for oldest in list(dependencies.outputs)[:-MOST_OUTPUTS]:
        del dependencies.outputs[oldest]
    failures = output.failures
    async with output.lock:
        if output.value is None and output.failures == failures:
            run = dependencies.run_command(words, dependencies.variables, dependencies.home, folder, MOST_BYTES)
            try:
                with anyio.fail_after(SECONDS):
                    output.value = _text(await run)
            except (CannotOpenChannelError, TimeoutError) as exc:
                output.failure = str(exc) or _LATE
                output.failures += 1
        if output.value is None:
            raise CannotOpenChannelError(output.failure)
        return output.value


def _key(words: Sequence[str], folder: str | None, variables: Mapping[str, str]) -> bytes:
    whole = repr([list(words), folder, sorted(variables.items())])
    return hashlib.sha256(whole.encode("utf-8", "backslashreplace")).digest()


# Values


def _text(data: bytes) -> str:
    """Return a value as text, without one line break at its end.

    Raises:
        CannotOpenChannelError: it is no text, or empty; the text is a clause about its source.
    """
    try:
        text = data.decode("utf-8-sig")  # some editors write a byte order mark
    except UnicodeDecodeError:
        raise CannotOpenChannelError("gives no UTF-8 text") from None
    return _checked(text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text)


def _checked(text: str) -> str:
    if not text:
        raise CannotOpenChannelError("gives an empty value")
    if "\0" in text:
        raise CannotOpenChannelError("gives a value with the character NUL")
    return text


# Messages


def _shown(text: str) -> str:
    return cut(on_one_line(text), LONGEST_SHOWN)


def _written(words: Sequence[str]) -> str:
    """Write a command without the tokens in its arguments."""
    return " ".join([for_shell(words[0]), *map(for_shell, shown_arguments(words[1:]))])
