"""Placeholders in an entry of the configuration, such as `${VAR}` and `~`, and their expansion.

Reports placeholders that cannot be expanded, and values that are secret. Variables and folders are passed in.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from search_mcp.config.jsonc import KeyPath
from search_mcp.config.secrets import is_secret
from search_mcp.wire.structs import Struct

Complaint: TypeAlias = tuple[KeyPath, str, str]
"""A path in a server's entry, the problem, and the remedy."""

_TILDE = r"\A~(?=[/\\]|\Z)"
# Other expressions, such as `${name%.*}` in a shell script, are not placeholders and stay unchanged.
_NAME = r"((?P<scheme>[A-Za-z]+):)?(?P<name>[A-Za-z_][\w()]*)(:-(?P<default>[^}]*))?"
_PLACEHOLDER = rf"{_TILDE}|(?P<escape>\$)?\$\{{{_NAME}\}}"

_NO_VARIABLES = ("home", "userHome", "configDir", "python")
"""Built-in placeholders; `userHome` is Cursor's name for `home`."""


def references(text: str) -> Iterator[str]:
    """Yield the environment variables that the placeholders of a text need."""
    for match in re.finditer(_PLACEHOLDER, text):
        if match["name"] is None or match["escape"]:
            continue
        if match["scheme"] in (None, "env") and match["name"] not in _NO_VARIABLES:
            yield match["name"]


def escaped(variable: str) -> str:
    """Write a placeholder that the started program expands, not search-mcp."""
    return f"$${{{variable}}}"


def at_home(path: str, home: str) -> str:
    """Expand the `~` at the beginning of a path, and no placeholders."""
    return re.sub(_TILDE, lambda _: home, path)


class Places(Struct, frozen=True):
    """The values of placeholders."""

    variables: Mapping[str, str]
    home: str
    config_dir: str
    python: str


class Expansion:
    """Expands the placeholders of one server; collects secret values and problems."""

    def __init__(self, places: Places) -> None:
        self.complaints: list[Complaint] = []
        self.secrets: set[str] = set()
        self._home = places.home
        self._variables = places.variables
        values = (places.home, places.home, places.config_dir, places.python)
        self._fixed = dict(zip(_NO_VARIABLES, values, strict=True))

    def expand(self, text: str, *path: str) -> str:
        """Expand the placeholders of a text at a path in the entry."""
        if "${" not in text and not text.startswith("~"):
            return text
        return re.sub(_PLACEHOLDER, lambda match: self._value(match, path), text)

    def _value(self, match: re.Match[str], path: tuple[str, ...]) -> str:
        scheme, name, default = match["scheme"], match["name"], match["default"]
        if name is None:  # a leading ~
            return self._home
        if match["escape"]:
            return match[0][1:]
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
            self.complaints.append((path, problem, f"set it or write ${{{name}:-default}}"))
        return match[0]
