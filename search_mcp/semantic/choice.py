"""The choice of what makes vectors: the local model, an address, or nothing, and then the reason. Loads no library."""

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TypeAlias

from search_mcp.config.schema import Config, Embeddings, EmbeddingsAddress
from search_mcp.semantic.lines import Address, Local
from search_mcp.semantic.models import DESCRIPTION, NETWORK
from search_mcp.wire.structs import Struct

PROGRAM = "-P", "-m", "search_mcp.semantic.worker"
FOR_VECTORS = ("numpy",)
FOR_ONNX = (*FOR_VECTORS, "onnxruntime", "tokenizers")

Setting: TypeAlias = Literal["off", "local"] | EmbeddingsAddress | None
"""The setting; with `None`, a model is used if one is installed."""


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


def setting_of(config: Config) -> Setting:
    """Return the setting of a configuration; `None` if it has none."""
    if config.embeddings is not None:
        return config.embeddings
    written = config.settings.search.semantic
    return None if isinstance(written, Embeddings) else written


def choose(setting: Setting, folder: Path) -> Choice:
    """Choose by the setting, and by the folder where a model may be installed."""
    if isinstance(setting, EmbeddingsAddress):
        reason = setting.problem or _why_missing(missing_libraries(FOR_VECTORS))
        return Choice(None, reason=reason) if reason else Choice(line_of(setting))
    stamp = _stamp(folder)
    if setting == "off" or (setting is None and not stamp):
        return Choice(None)
    if not stamp:
        return Choice(None, reason="no sentence model is installed; `search-mcp semantic setup` installs one")
    if reason := _why_missing(missing_libraries(libraries_of(setting, folder))):
        return Choice(None, reason=reason)
    return Choice(Local(str(folder)), stamp)


def line_of(address: EmbeddingsAddress) -> Address:
    """Return the first line for the process that asks an address."""
    return Address(address.url, address.model, address.api_key, address.ca_file)


def _why_missing(libraries: Sequence[str]) -> str:
    are, them = ("is", "it") if len(libraries) == 1 else ("are", "them")
    how = f"`search-mcp semantic status` shows the command that installs {them}"
    return f"{' and '.join(libraries)} {are} not installed; {how}" if libraries else ""


def _stamp(folder: Path) -> int:
    """Return the time of the last change of a model, in nanoseconds; 0 if there is none."""
    try:
        return (folder / DESCRIPTION).stat().st_mtime_ns or 1
    except OSError:
        return 0


def libraries_of(setting: Setting, folder: Path) -> Sequence[str]:
    """Name the libraries that a setting needs, with the model in a folder."""
    is_address = isinstance(setting, EmbeddingsAddress)
    return FOR_ONNX if not is_address and (folder / NETWORK).exists() else FOR_VECTORS


def missing_libraries(needed: Sequence[str]) -> list[str]:
    """Name those of some libraries that are not installed."""
    return [name for name in needed if not _is_installed(name)]


_installed: set[str] = set()
"""Libraries that were found, which takes a millisecond; a search asks for them again."""


def _is_installed(name: str) -> bool:
    if name not in _installed and find_spec(name) is not None:
        _installed.add(name)
    return name in _installed


def command(vectors: Path) -> list[str]:
    """Return the command that starts the process; its first line on stdin names what makes the vectors."""
    return [sys.executable, *PROGRAM, str(vectors)]
