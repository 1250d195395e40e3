"""The installation of this search-mcp, and the commands that add optional packages to it, update and remove it.

No command installs search-mcp by its name unless it came from a package index: elsewhere, that name may be another
project.
"""

import re
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution, requires
from importlib.util import find_spec
from typing import NamedTuple

NAME = "search-mcp"

_PIPX = re.compile(r"/pipx/venvs/([^/]+)$")
_UV_TOOL = re.compile(r"/uv/(?:data/)?tools/([^/]+)$")
_UVX = re.compile(r"/(?:archive|environments)-v\d+/")
_PIPX_RUN = re.compile(r"/pipx/(?:\.cache/|Cache/)?[0-9a-f]{10,}$")
_PLAIN = re.compile(r"[\w.:/\\-]+")
_NAME_END = re.compile(r"[^\w.-]")
_INSTALLS = "this installs what is missing"
_STARTS = "start search-mcp like this, where PATH is the folder of its repository"


class Addition(NamedTuple):
    """How packages are added."""

    remedy: str
    """A clause about the command, to be followed by a colon."""
    command: str
    """A command to copy."""

    @property
    def installs(self) -> bool:
        """Whether the command changes this environment; another one starts search-mcp in a new environment."""
        return self.remedy == _INSTALLS

    def __str__(self) -> str:
        return f"{self.remedy}: {self.command}"


def add(extra: str, names: Sequence[str] = ()) -> Addition:
    """Return the command that adds the packages of an extra to this environment; with `names`, only those."""
    packages = _packages(extra)
    wanted = [each for each in packages if _NAME_END.split(each)[0] in names]
    return command(extra, wanted or packages, sys.prefix, sys.executable, has_pip=find_spec("pip") is not None)


def command(extra: str, packages: Sequence[str], prefix: str, interpreter: str, *, has_pip: bool = True) -> Addition:
    """Return the command for an environment with this `sys.prefix`; `packages` are those of the extra.

    Environments that uv makes have no pip.
    """
    place, python = _place(prefix), _python(interpreter)
    quoted = " ".join(f'"{each}"' if re.search(r"[^\w.-]", each) else each for each in packages)
    if _UVX.search(f"{place}/"):
        return Addition(_STARTS, f'uvx --from "PATH[{extra}]" {NAME}')
    if _PIPX_RUN.search(place):
        return Addition(_STARTS, f'pipx run --spec "PATH[{extra}]" {NAME}')
    if match := _PIPX.search(place):
        return Addition(_INSTALLS, f"pipx inject {match[1]} {quoted}")
    if _UV_TOOL.search(place) or not has_pip:
        return Addition(_INSTALLS, f"uv pip install --python {python} {quoted}")
    return Addition(_INSTALLS, f"{python} -m pip install {quoted}")


def _place(prefix: str) -> str:
    return prefix.replace("\\", "/").rstrip("/")


def _python(interpreter: str) -> str:
    return interpreter if _PLAIN.fullmatch(interpreter) else f'"{interpreter}"'


def update() -> Addition:
    """Return the command that updates this search-mcp."""
    return update_of(sys.prefix, sys.executable, is_from_index=_is_from_index())


def update_of(prefix: str, interpreter: str, *, is_from_index: bool) -> Addition:
    """Return the command for an environment with this `sys.prefix`; running clients use the old version until then."""
    place, python = _place(prefix), _python(interpreter)
    remedy = "this updates search-mcp; restart your clients to use it"
    if _UVX.search(f"{place}/") or _PIPX_RUN.search(place):
        return Addition("nothing is installed: `uvx --refresh` or `pipx run --no-cache` starts the newest version", "")
    if match := _PIPX.search(place):
        return Addition(remedy, f"pipx upgrade {match[1]}")
    if _UV_TOOL.search(place):
        return Addition(remedy, f"uv tool upgrade {NAME}")
    if is_from_index:
        return Addition(remedy, f"{python} -m pip install --upgrade {NAME}")
    return Addition(f"in the folder of its repository, after `git pull`, {remedy}", f"{python} -m pip install .")


def removal(prefix: str = sys.prefix, interpreter: str = sys.executable) -> str:
    """Return the command that removes this search-mcp, or that of an environment with this `sys.prefix`."""
    place = _place(prefix)
    if match := _PIPX.search(place):
        return f"pipx uninstall {match[1]}"
    return f"uv tool uninstall {NAME}" if _UV_TOOL.search(place) else f"{_python(interpreter)} -m pip uninstall {NAME}"


def _is_from_index() -> bool:
    """Return whether this search-mcp came from a package index, and not from a folder."""
    try:
        return distribution(NAME).read_text("direct_url.json") is None
    except PackageNotFoundError:
        return False


def _packages(extra: str) -> list[str]:
    try:
        required = requires(NAME) or []
    except PackageNotFoundError:  # it runs from its source without an installation
        required = []
    marker = re.compile(rf"""\s*;.*\bextra == ['"]{extra}['"].*""")
    return [marker.sub("", each) for each in required if marker.search(each)] or [f".[{extra}]"]
