"""The installation of this search-mcp, and the command that adds optional packages to it. Pure, except for `add`.

No command installs search-mcp itself by its name: a package index may have another project under that name.
"""

import re
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, requires
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

    def __str__(self) -> str:
        return f"{self.remedy}: {self.command}"


def add(extra: str, names: Sequence[str] = ()) -> Addition:
    """Return the command that adds the packages of an extra to this environment; with `names`, only those."""
    packages = _packages(extra)
    wanted = [each for each in packages if _NAME_END.split(each)[0] in names]
    return command(extra, wanted or packages, sys.prefix, sys.executable)


def command(extra: str, packages: Sequence[str], prefix: str, interpreter: str) -> Addition:
    """Return the command for an environment with this `sys.prefix`; `packages` are those of the extra."""
    place = prefix.replace("\\", "/").rstrip("/")
    quoted = " ".join(f'"{each}"' if re.search(r"[^\w.-]", each) else each for each in packages)
    python = interpreter if _PLAIN.fullmatch(interpreter) else f'"{interpreter}"'
    if _UVX.search(f"{place}/"):
        return Addition(_STARTS, f'uvx --from "PATH[{extra}]" {NAME}')
    if _PIPX_RUN.search(place):
        return Addition(_STARTS, f'pipx run --spec "PATH[{extra}]" {NAME}')
    if match := _PIPX.search(place):
        return Addition(_INSTALLS, f"pipx inject {match[1]} {quoted}")
    if _UV_TOOL.search(place):
        return Addition(_INSTALLS, f"uv pip install --python {python} {quoted}")
    return Addition(_INSTALLS, f"{python} -m pip install {quoted}")


def _packages(extra: str) -> list[str]:
    try:
        required = requires(NAME) or []
    except PackageNotFoundError:  # it runs from its source without an installation
        required = []
    marker = re.compile(rf"""\s*;.*\bextra == ['"]{extra}['"].*""")
    return [marker.sub("", each) for each in required if marker.search(each)] or [f".[{extra}]"]
