"""Servers that are known to keep nothing between calls: their answers to one client do not depend on another.

`known_servers.json` has a row for each package that clients may share: its source code shows that the server keeps no
session, no current folder, project or page, and asks the client for nothing. An entry is matched by its command and
arguments as people write them. An entry whose package source or option could change which code runs does not match.
Loaded only where clients share servers.
"""

import posixpath
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Final

from search_mcp.config.schema import ServerConfig
from search_mcp.wire import payload
from search_mcp.wire.structs import Struct


class KnownServer(Struct, frozen=True):
    """One row of the file."""

    package: str
    """`npm:@scope/name`, `pypi:name` or `container:image`."""
    version: str
    """The version whose source was read."""
    why: str
    """The reason, as a clause about the server."""
    folder: bool
    """Whether the folder matters in which it starts."""
    module: str = ""
    """The module that `python -m` runs, if there is one."""
    program: str = ""
    """The name of its program, if it differs from the package's."""

    @property
    def runs(self) -> str:
        """The name of its program."""
        return self.program or re.split("[:/]", self.package)[-1]


class _Launcher(Struct, frozen=True):
    """A command that runs a package, with its options that do not change which code runs."""

    registry: str
    package: re.Pattern[str]
    """A package of the registry and perhaps its version: no URL, path, alias or repository (`user/name`)."""
    flags: frozenset[str]
    """Options without a value."""
    values: frozenset[str] = frozenset()
    """Options with a value."""
    packages: frozenset[str] = frozenset()
    """Options whose value is the package; the first argument is then the program."""

    def find(self, args: Sequence[str], known: Sequence[KnownServer]) -> KnownServer | None:
        """Return the row of the package that these arguments run."""
        row, rest = None, list(args)
        while rest:
            option, is_whole, value = (arg := rest.pop(0)).partition("=")
            if option in self.values | self.packages:
                value = value if is_whole else rest.pop(0) if rest else ""
                if option in self.values:
                    continue
                if row is not None or (row := self._row(value, known)) is None:
                    return None
            elif not arg.startswith("-"):
                found = self._row(arg, known) if row is None else row
                return found if row is None or row.runs == arg else None
            elif arg not in self.flags and arg != "--":
                return None
        return None

    def _row(self, specification: str, known: Sequence[KnownServer]) -> KnownServer | None:
        found = self.package.fullmatch(specification)
        package = f"{self.registry}:{_normalized(self.registry, found[1])}" if found is not None else None
        return next((row for row in known if row.package == package), None)


_VERSION = r"[\w.+*^~<>=!,-]+"
_NPM = "npm", re.compile(rf"((?:@[a-z0-9~-][\w.~-]*/)?[a-z0-9~][\w.~-]*)(?:@{_VERSION})?", re.ASCII)
_PYPI = "pypi", re.compile(rf"(\w[\w.-]*)(?:\[[\w.,-]+\])?(?:(?:@|[=<>!~]=?){_VERSION})?", re.ASCII)
_CONTAINER = (
    "container",
    re.compile(r"(?:docker\.io/)?([a-z0-9][\w.-]*(?:/[a-z0-9][\w.-]*)*)(?::[\w.-]+)?(?:@sha256:[0-9a-f]+)?", re.ASCII),
)
_QUIET = frozenset({"-q", "--quiet", "-s", "--silent"})
_NODE_PACKAGES = frozenset({"-p", "--package"})
_NPX = _Launcher(
    *_NPM, _QUIET | {"-y", "--yes", "--offline", "--prefer-offline", "--prefer-online"}, packages=_NODE_PACKAGES
)
_DLX = _Launcher(*_NPM, _QUIET | {"-y", "--yes", "--bun"}, packages=_NODE_PACKAGES)
_UVX = _Launcher(
    *_PYPI,
    frozenset({"-q", "--quiet", "-n", "--no-cache", "-U", "--upgrade", "--refresh", "--isolated", "--offline"})
    | {"--native-tls", "--no-progress", "--no-config", "--no-env-file", "--managed-python"},
    frozenset({"-p", "--python", "--python-preference", "--cache-dir"}),
    frozenset({"--from"}),
)
_PIPX = _Launcher(*_PYPI, frozenset({"-q", "--quiet", "--no-cache"}), frozenset({"--python"}), frozenset({"--spec"}))
_RUN = _Launcher(
    *_CONTAINER,
    frozenset({"-i", "--interactive", "--rm", "--init", "--read-only"}),
    frozenset({"-e", "--env", "--env-file", "--name", "--net", "--network", "--add-host", "--dns", "--platform"})
    | {"-v", "--volume", "--mount", "-u", "--user", "-l", "--label", "-m", "--memory", "--cpus", "--pull"}
    | {"--cap-drop", "--security-opt"},
)
_LAUNCHERS: Final[Mapping[tuple[str, ...], _Launcher]] = {
    ("npx",): _NPX,
    ("npm", "exec"): _NPX,
    ("bunx",): _DLX,
    ("pnpm", "dlx"): _DLX,
    ("yarn", "dlx"): _DLX,
    ("uvx",): _UVX,
    ("uv", "tool", "run"): _UVX,
    ("pipx", "run"): _PIPX,
    ("docker", "run"): _RUN,
    ("podman", "run"): _RUN,
}
_LONGEST = max(map(len, _LAUNCHERS))
_PYTHON, _PYTHON_FLAGS = re.compile(r"python(3(\.\d+)?)?"), frozenset({"-u", "-B", "-I", "-P", "-s", "-E"})


@cache
def rows() -> tuple[KnownServer, ...]:
    """Return all rows of the file."""
    return payload.typed(files("search_mcp.pool").joinpath("known_servers.json").read_bytes(), tuple[KnownServer, ...])


def find(config: ServerConfig) -> KnownServer | None:
    """Return the row of the server that an entry starts; `None` if there is none, or if that is uncertain."""
    return matched(config, rows())


def matched(config: ServerConfig, known: Sequence[KnownServer]) -> KnownServer | None:
    """Return the one of these rows that an entry starts."""
    words = (posixpath.basename(config.command), *config.args)
    for length in range(1, _LONGEST + 1):
        if (launcher := _LAUNCHERS.get(words[:length])) is not None:
            return launcher.find(words[length:], known)
    if _PYTHON.fullmatch(words[0]):
        rest = [arg for arg in config.args if arg not in _PYTHON_FLAGS]
        module = rest[1] if len(rest) > 1 and rest[0] == "-m" else None
        return next((row for row in known if row.module == module), None)
    found = [row for row in known if row.runs == config.command]
    return found[0] if len(found) == 1 else None


def _normalized(registry: str, name: str) -> str:
    # "The name should be lowercased with all runs of the characters ., -, or _ replaced with a single - character."
    return re.sub(r"[-_.]+", "-", name).lower() if registry == "pypi" else name
