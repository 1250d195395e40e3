"""The installation of this search-mcp, and the command that adds optional packages to it. Pure, except for `add`.

No command installs search-mcp itself by its name: a package index may have another project under that name.
"""

import re
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, requires

NAME = "search-mcp"

_PIPX = re.compile(r"/pipx/venvs/([^/]+)$")
_UV_TOOL = re.compile(r"/uv/(?:data/)?tools/([^/]+)$")
_UVX = re.compile(r"/(?:archive|environments)-v\d+/")
_PIPX_RUN = re.compile(r"/pipx/(?:\.cache/|Cache/)?[0-9a-f]{10,}$")


def add(extra: str) -> str:
    """Write the command that adds the packages of an extra to the environment of this process."""
    return command(extra, _packages(extra), sys.prefix, sys.executable)


def command(extra: str, packages: Sequence[str], prefix: str, interpreter: str) -> str:
    """Write the command for an environment with this `sys.prefix`; `packages` are those of the extra."""
    place = prefix.replace("\\", "/").rstrip("/")
    quoted = [f'"{each}"' if re.search(r"[^\w.-]", each) else each for each in packages]
    if match := _PIPX.search(place):
        return f"pipx inject {match[1]} {' '.join(quoted)}"
    if _UV_TOOL.search(place):
        return f"uv pip install --python {interpreter} {' '.join(quoted)}"
    if _UVX.search(f"{place}/"):
        return f'uvx --from "PATH[{extra}]" {NAME}, with the path of its checkout,'
    if _PIPX_RUN.search(place):
        return f'pipx run --spec "PATH[{extra}]" {NAME}, with the path of its checkout,'
    return f"{interpreter} -m pip install {' '.join(quoted)}"


def _packages(extra: str) -> list[str]:
    try:
        required = requires(NAME) or []
    except PackageNotFoundError:  # it runs from its source without an installation
        required = []
    marker = re.compile(rf"""\s*;.*\bextra == ['"]{extra}['"].*""")
    return [marker.sub("", each) for each in required if marker.search(each)] or [f".[{extra}]"]
