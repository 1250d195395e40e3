"""The choice of what makes vectors: the local model, an address, or nothing, with the reason. Loads no library."""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from search_mcp.semantic.lines import Address, Local
from search_mcp.semantic.models import DESCRIPTION
from search_mcp.wire.structs import Struct

PROGRAM = "-P", "-m", "search_mcp.semantic.worker"
_LIBRARIES = "numpy", "onnxruntime", "tokenizers"
_OF_ADDRESSES = ("numpy",)


class Choice(Struct, frozen=True):
    """What makes vectors."""

    opening: Local | Address | None
    """The first line for the process; `None` if texts are ranked by words alone."""
    stamp: int = 0
    """Changes when another model is installed."""
    reason: str = ""
    """The reason why there is none, and the remedy, in one clause; empty if the user wants none."""

    @property
    def key(self) -> tuple[object, int]:
        """Equal for what one process can serve."""
        return self.opening, self.stamp


def choose(asked: Literal["off", "local"] | Address | None, folder: Path) -> Choice:
    """Choose by the setting, `None` if it is not set, and the folder where a model may be installed."""
    stamp = _stamp(folder)
    if asked == "off" or (asked is None and not stamp):
        return Choice(None)
    is_local = not isinstance(asked, Address)
    if is_local and not stamp:
        return Choice(None, reason="no sentence model is installed; `search-mcp semantic setup` installs one")
    if missing := missing_libraries(is_local=is_local):
        names, them = ", ".join(missing), "it" if len(missing) == 1 else "them"
        return Choice(None, reason=f"{names} is not installed; `search-mcp semantic setup` says how to install {them}")
    return Choice(Local(str(folder)), stamp) if not isinstance(asked, Address) else Choice(asked)


def _stamp(folder: Path) -> int:
    """Return the time of the last change of a model, in nanoseconds; 0 if there is none."""
    try:
        return (folder / DESCRIPTION).stat().st_mtime_ns or 1
    except OSError:
        return 0


def missing_libraries(*, is_local: bool = True) -> list[str]:
    """Name the libraries that are not installed, for the local model or for an address."""
    return [name for name in (_LIBRARIES if is_local else _OF_ADDRESSES) if not _is_installed(name)]


_installed: set[str] = set()
"""Libraries that were found, which takes a millisecond; a search asks for them again."""


def _is_installed(name: str) -> bool:
    if name not in _installed and find_spec(name) is not None:
        _installed.add(name)
    return name in _installed


def command(vectors: Path) -> list[str]:
    """Return the command that starts the process; its first line on stdin says what makes the vectors."""
    return [sys.executable, *PROGRAM, str(vectors)]
