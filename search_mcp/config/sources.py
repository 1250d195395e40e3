"""Sources of secrets in an entry: `${file:PATH}`, `${command:WORDS}`, `${keyring:SERVICE/NAME}` and `${user:NAME}`.

Decides how they are written, where they may be used, and how a command is split into words. Nothing is read here: a
source is read when its server is about to start. Pure; loaded for configurations with such placeholders only.
"""

import re
import shlex
from collections.abc import Container, Iterator
from typing import Final

KINDS: Final = ("file", "command", "keyring", "user")
_SHELL = r"[-+=?]|\s*-?\d+(?::\s*-?\d+)?\}"
"""What follows the colon in expressions of a shell, such as `${file:-x}` and `${file:0:3}`, which stay unchanged."""
_BALANCED = r"(?:[^{}]++|\{(?:[^{}]++|\{[^{}]*+\})*+\})*+(?=\})"
"""Text with pairs of braces in it, as in `docker inspect --format {{.Id}} NAME`."""
_UNBALANCED = r"(?:[^}$]++|\$(?!\{))*+"
"""Text up to the next brace, which is a fault."""
PLACEHOLDER: Final = (
    rf"(?P<literal>\$)?\$\{{(?P<kind>{'|'.join(KINDS)}):(?!{_SHELL})(?P<argument>{_BALANCED}|{_UNBALANCED})\}}"
)
"""A source, or the same text after a further `$`, which makes it plain text."""

MOST_BYTES: Final = 64 << 10
"""Longest value. Linux takes 128 KiB for one variable."""

USER_SECRET: Final = "[A-Z][A-Z0-9_]{0,63}"
"""Names of secrets of clients over HTTP, as a pattern: they are names of files, which may ignore the case."""

_SEARCHED = ("PATH", "PATHEXT")
"""Variables that decide which program is found; it is found before a source is read."""
_HOST = r"(?i)https?://[^\s/?#@]+[/?]"
"""The beginning of an address up to the path. What follows cannot make it another host."""
_WHERE = 'use it in "env", "args", "headers", "url" or "clientSecret"'
_SPACES = " \t"


def in_text(text: str) -> Iterator[tuple[str, str]]:
    """Yield the kind and the argument of each source in a text."""
    for match in re.finditer(PLACEHOLDER, text):
        if match["literal"] is None:
            yield match["kind"], match["argument"].strip()


def in_value(value: object, *path: str) -> Iterator[tuple[str, str, str]]:
    """Yield the kind and the argument of each source in an entry, and the key where it is."""
    if isinstance(value, str):
        yield from ((*found, ".".join(path)) for found in in_text(value))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from in_value(inner, *path, str(key))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from in_value(inner, *path)


def as_plain_text(text: str, except_for: Container[str] = ()) -> str:
    """Escape the sources in a text, except those of some kinds."""

    def escaped(match: re.Match[str]) -> str:
        return match[0] if match["literal"] or match["kind"] in except_for else f"${match[0]}"

    return re.sub(PLACEHOLDER, escaped, text)


def fault(kind: str, argument: str, path: tuple[str, ...], before: str, platform: str) -> tuple[str, str] | None:
    """Return why a source cannot be used at a path in an entry, and the remedy; `None` if it can.

    `before` is the text before it.
    """
    shown = f"${{{kind}:}} in {'.'.join(path)}"
    if path == ("url",) and not re.match(_HOST, before):
        return f"{shown} is not supported before the path", "write the host, which decides where calls and tokens go"
    problem, remedy = next(_faults(kind, argument, path, platform), ("", ""))
    return (f"{shown} {problem}", remedy) if problem else None


def _faults(kind: str, argument: str, path: tuple[str, ...], platform: str) -> Iterator[tuple[str, str]]:
    if not _may_be_at(path):
        yield "is not supported", _WHERE
    if "${" in argument:
        yield "contains a placeholder", "write plain text there"
    if argument.count("{") != argument.count("}"):
        yield "has braces that are not in pairs", "complete them"
    if "\0" in argument:
        yield "contains the character NUL", "remove it"
    if not argument:
        yield "names nothing", f"write {_EXAMPLES[kind]}"
    if kind == "command":
        yield from _faults_of_words(argument, platform)
    elif ":-" in argument:
        yield "has a default, which is not supported", "remove it"
    elif kind == "user" and not re.fullmatch(USER_SECRET, argument):
        yield f"has the name {argument!r}", "use capital letters, digits and _, such as GITHUB_TOKEN"
    elif kind == "keyring" and not all(keyring_entry(argument)):
        yield "lacks a service or a name", f"write {_EXAMPLES[kind]}"


def _faults_of_words(command: str, platform: str) -> Iterator[tuple[str, str]]:
    try:
        given = words(command, platform)
    except ValueError as exc:
        yield f"cannot be split into words ({exc})", "correct its quotes"
    else:
        if not given or not given[0]:
            yield "names nothing", f"write {_EXAMPLES['command']}"


_EXAMPLES = {
    "file": "${file:~/.config/token}",
    "command": "${command:op read op://vault/item/field}",
    "keyring": "${keyring:SERVICE/NAME}",
    "user": "${user:GITHUB_TOKEN}",
}


def _may_be_at(path: tuple[str, ...]) -> bool:
    match path:
        case ("args",) | ("headers", _) | ("url",) | ("oauth", "clientSecret") | ("apiKey",):
            return True
        case ("env", name):
            return name.upper() not in _SEARCHED
    return False


def keyring_entry(argument: str) -> tuple[str, str]:
    """Split `SERVICE/NAME` at the first slash."""
    service, _, name = argument.partition("/")
    return service.strip(), name.strip()


def words(command: str, platform: str) -> list[str]:
    """Split a command into words as the platform's programs expect it: as a shell does, or by the rules of Windows.

    Raises:
        ValueError: a quote or an escape is not complete.
    """
    return list(_windows_words(command)) if platform == "win32" else shlex.split(command)


def _windows_words(command: str) -> Iterator[str]:
    """Split as `CommandLineToArgvW` does: backslashes are special before quotes only; two quotes in quotes are one."""
    word: list[str] = []
    is_open = has_word = False
    position = 0
    while position < len(command):
        character = command[position]
        if character == "\\":
            backslashes = len(command) - position - len(command[position:].lstrip("\\"))
            position += backslashes
            if command[position : position + 1] != '"':
                word.append("\\" * backslashes)
            else:
                word.append("\\" * (backslashes // 2))
                if backslashes % 2:
                    word.append('"')
                    position += 1
            has_word = True
            continue
        if character == '"':
            if is_open and command[position + 1 : position + 2] == '"':
                word.append('"')
                position += 1
            else:
                is_open = not is_open
            has_word = True
        elif character in _SPACES and not is_open:
            if has_word:
                yield "".join(word)
            word, has_word = [], False
        else:
            word.append(character)
            has_word = True
        position += 1
    if is_open:
        raise ValueError("No closing quotation")
    if has_word:
        yield "".join(word)
