"""The command of a server as it is shown to a person.

Decides which parts are hidden. Where the user decides about a command, its whole text is shown, and only tokens in
the places of secrets are starred. Commands and files that secrets come from are shown, too, wherever they are used.
Elsewhere every value that the configuration marks as a secret is starred.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from search_mcp.config import secrets, sources
from search_mcp.config.schema import ServerConfig
from search_mcp.model.visible import escaped
from search_mcp.wire import payload

URLS = ("url", "serverUrl", "httpUrl")
_TEXTS = ("description", "tags", "prefix", "rename", "describe")
INDENT = "  "


def full(entry: Mapping[str, Any], width: int) -> Iterator[str]:
    """Write everything that decides what is run or reached, and the texts about it that a model reads.

    Lines longer than `width` are broken between words, as a shell reads them.
    """
    if entry.get("command"):
        yield from _broken([shlex.quote(escaped(word)) for word in secrets.shown_words(entry)], width)
    for key in URLS:
        if entry.get(key):
            yield f"{key}: {escaped(secrets.shown_url(str(entry[key])))}"
    if entry.get("cwd"):
        yield f"cwd: {escaped(str(entry['cwd']))}"
    yield from _variables(entry, width)
    yield from _login(entry, width)
    yield from _sources(entry, width)
    if entry.get("description"):
        yield f"description: {escaped(str(entry['description']))}"
    if isinstance(tags := entry.get("tags"), list | tuple) and tags:
        yield f"tags: {escaped(', '.join(map(str, tags)))}"
    if isinstance(entry.get("prefix"), str):
        yield f"prefix: {escaped(entry['prefix']) or '(none)'}"
    for key in ("rename", "describe"):
        if isinstance(entry.get(key), Mapping):
            yield from (f"{key} {escaped(str(tool))}: {escaped(str(text))}" for tool, text in entry[key].items())


def _variables(entry: Mapping[str, Any], width: int) -> Iterator[str]:
    if isinstance(entry.get("env"), Mapping) and entry["env"]:
        variables = [_variable(str(name), str(value)) for name, value in entry["env"].items()]
        yield from _broken(["env:", *variables], width, mark="")
    if isinstance(entry.get("headers"), Mapping) and entry["headers"]:
        names = [shlex.quote(escaped(str(name))) for name in entry["headers"]]
        yield from _broken(["headers:", *names], width, mark="")
    if inherited := entry.get("inheritEnv"):
        names = ["all variables"] if inherited is True else [shlex.quote(escaped(str(name))) for name in inherited]
        yield from _broken(["inherits:", *names], width, mark="")


def _login(entry: Mapping[str, Any], width: int) -> Iterator[str]:
    """Write where a login is made, and which certificates are trusted; of the secret only the name."""
    login = entry.get("oauth")
    if login in (False, "off"):
        yield "oauth: off"
    elif isinstance(login, Mapping) and login:
        settings = (_setting(str(key), value) for key, value in login.items())
        yield from _broken(["oauth:", *settings], width, mark="")
    if entry.get("caFile"):
        yield f"caFile: {escaped(str(entry['caFile']))}"


_VERBS = {"command": "runs", "file": "reads", "keyring": "reads from the keyring", "user": "reads a client's secret"}


def _sources(entry: Mapping[str, Any], width: int) -> Iterator[str]:
    """Write what is run and read for the secrets of an entry."""
    program = {key: value for key, value in entry.items() if key not in _TEXTS}
    for kind, argument, key in sources.in_value(program):
        words = escaped(secrets.shown_text(argument)).split(" ")
        yield from _broken([f"{_VERBS[kind]} for {escaped(key)}:", *words], width)


def _setting(name: str, value: object) -> str:
    if name == "clientSecret":
        return name
    text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return f"{shlex.quote(escaped(name))}={shlex.quote(escaped(secrets.shown_url(text)))}"


def _variable(name: str, value: str) -> str:
    """Write a variable as a shell reads it; only the name of a secret one."""
    shown, written = secrets.shown_variable(name, value), shlex.quote(escaped(name))
    return written if shown is None else f"{written}={shlex.quote(escaped(shown))}"


def _broken(words: Sequence[str], width: int, mark: str = " \\") -> Iterator[str]:
    line = words[0]
    for word in words[1:]:
        if len(line) + 1 + len(word) + len(mark) > width:
            yield line + mark
            line = f"{INDENT}{word}"
        else:
            line = f"{line} {word}"
    yield line


def redacted_words(server: ServerConfig) -> list[str]:
    """Return the words of a command, or the address, with placeholders filled in, and secrets starred."""
    if server.remote is not None:
        return [server.redactor(server.remote.url)]
    return [*map(server.redactor, (server.command, *server.args))]


def short(server: ServerConfig) -> str:
    """Write a command on one line, without the folder of its program, or an address; secrets are starred."""
    program, *args = redacted_words(server)
    if server.remote is not None:
        return program
    path = PurePath(program)
    return shlex.join(filter(None, [path.name if path.is_absolute() else program, *args]))


def entry_of(server: ServerConfig) -> Mapping[str, Any]:
    """Return what `full` shows of a server: its entry before placeholders are filled in, and its texts."""
    return {**payload.value(server.program), **{key: getattr(server, key) for key in _TEXTS}}


def as_json(server: ServerConfig) -> dict[str, Any]:
    """Write a command for scripts, without the values of secret variables and of headers."""
    return {"name": server.name, "enabled": server.enabled, "program": [*full(entry_of(server), 1 << 30)]}
