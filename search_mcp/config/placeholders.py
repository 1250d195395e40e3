"""Placeholders in an entry of the configuration, such as `${VAR}` and `~`, and their expansion.

Reports placeholders that cannot be expanded, values that are secret, and sources of secrets, such as `${file:PATH}`,
which stay in the text until their values are passed in. Variables and folders are passed in, too.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from search_mcp.config import blanks
from search_mcp.config.jsonc import KeyPath
from search_mcp.config.secrets import SHORTEST, is_secret
from search_mcp.wire.structs import Struct

Complaint: TypeAlias = tuple[KeyPath, str, str]
"""A path in a server's entry, the problem, and the remedy."""

_TILDE = r"\A~(?=[/\\]|\Z)"
# Other expressions, such as `${name%.*}` in a shell script, are not placeholders and stay unchanged.
_NAME = r"((?P<scheme>[A-Za-z]+):)?(?P<name>[A-Za-z_][\w()]*)(:-(?P<default>[^}]*+))?"
_PLACEHOLDER = rf"{_TILDE}|(?P<escape>\$)?\$\{{{_NAME}(?:\}}|(?P<unclosed>\Z))"

_SOURCES = ("${file:", "${command:", "${keyring:", "${user:")
"""The beginnings of sources of secrets."""

_NO_VARIABLES = ("home", "userHome", "configDir", "python")
"""Built-in placeholders; `userHome` is Cursor's name for `home`."""


def references(text: str) -> Iterator[str]:
    """Yield the environment variables that the placeholders of a text need."""
    for match in re.finditer(_pattern(text), text):
        if match["name"] is None or match["escape"] or match["unclosed"] is not None:
            continue
        if match["scheme"] in (None, "env") and match["name"] not in _NO_VARIABLES:
            yield match["name"]


def escaped(variable: str) -> str:
    """Write a placeholder that the started program expands, not search-mcp."""
    return f"$${{{variable}}}"


def may_have_sources(text: str) -> bool:
    """Return whether a text may contain a source of secrets."""
    return "${" in text and any(each in text for each in _SOURCES)


def _pattern(text: str) -> str:
    if not may_have_sources(text):
        return _PLACEHOLDER
    from search_mcp.config.sources import PLACEHOLDER  # for configurations with such placeholders only

    return f"{PLACEHOLDER}|{_PLACEHOLDER}"


def at_home(path: str, home: str) -> str:
    """Expand the `~` at the beginning of a path, and no placeholders."""
    return re.sub(_TILDE, lambda _: home, path)


class Places(Struct, frozen=True):
    """The values of placeholders, and the file that has them."""

    variables: Mapping[str, str]
    home: str
    config_dir: str
    python: str
    file: str = ""
    """The path that commands have to pass with `--config`; empty for the user's own file."""


class Source(Struct, frozen=True):
    """A place where a secret is read when its server is about to start."""

    kind: str
    """One of `file`, `command`, `keyring` and `user`."""
    argument: str
    """The path, the command, the service and the name, or the name."""
    key: str
    """The key of the entry where it is used."""

    @property
    def place(self) -> tuple[str, str]:
        """The source without the key, as the values are passed in."""
        return self.kind, self.argument


Values: TypeAlias = Mapping[tuple[str, str], str]
"""The values of sources, by kind and argument."""


class Expansion:
    """Expands the placeholders of one server; collects secret values, sources of secrets and problems."""

    def __init__(self, places: Places, values: Values | None = None, server: str = "") -> None:
        """`values` are those of the sources; without them, sources are collected and stay in the text.

        A remedy names the `server`.
        """
        self.complaints: list[Complaint] = []
        self.secrets: set[str] = set()
        self.sources: list[Source] = []
        self._values = values
        self._home = places.home
        self._variables, self._file, self._server = places.variables, places.file, server
        fixed = (places.home, places.home, places.config_dir, places.python)
        self._fixed = dict(zip(_NO_VARIABLES, fixed, strict=True))

    def expand(self, text: str, *path: str) -> str:
        """Expand the placeholders of a text at a path in the entry."""
        if "${" not in text and not text.startswith("~"):
            return text
        if may_have_sources(text):
            return re.sub(_pattern(text), lambda match: self._value_or_source(match, path), text)
        return re.sub(_PLACEHOLDER, lambda match: self._value(match, path), text)

    def _value_or_source(self, match: re.Match[str], path: tuple[str, ...]) -> str:
        kind = match["kind"]
        if kind is None:
            return self._value(match, path)
        if match["literal"]:
            return match[0][1:]
        argument = match["argument"].strip()
        before = match.string[: match.start()]
        from search_mcp.config.sources import fault

        if (found := fault(kind, argument, path, before, sys.platform)) is not None:
            problem, remedy = found
            self.complaints.append((path, problem, remedy))
            return match[0]
        source = Source(kind, argument, ".".join(path))
        self.sources.append(source)
        if self._values is None:
            return match[0]
        value = self._values[source.place]
        if len(value) >= SHORTEST:
            self.secrets.add(value)
        return value

    def _value(self, match: re.Match[str], path: tuple[str, ...]) -> str:
        scheme, name, default = match["scheme"], match["name"], match["default"]
        if name is None:  # a leading ~
            return self._home
        if match["escape"] or match["unclosed"] is not None:
            return match[0][1:] if match["unclosed"] is None else match[0]
        if scheme is None and name in self._fixed:
            return self._fixed[name]
        value = self._variables.get(name, self._home if name == "HOME" else None)
        key = ".".join(path)
        if scheme not in (None, "env"):
            problem = f"${{{scheme}:{name}}} in {key} is a placeholder of another client"
            self.complaints.append((path, problem, "set an environment variable and write ${VAR}"))
        elif default is not None and "${" in default:
            problem = f"the default of {name} in {key} contains a placeholder"
            self.complaints.append((path, problem, "write plain text there"))
        elif value or (value is not None and default is None):
            if is_secret(name, value):
                self.secrets.add(value)
            return value
        elif default is not None:  # POSIX on `:-`: "If parameter is unset or null"
            return default
        else:
            problem = f"environment variable {name}, used in {key}, is not set"
            remedy = f"set it where search-mcp is started, or write ${{{name}:-default}}"
            if path[0] in blanks.PARTS:
                stores = blanks.setting(self._server, path[1], self._file)
                remedy = f"store it with `{stores}`, or set it where search-mcp is started"
            self.complaints.append((path, problem, remedy))
        return match[0]
