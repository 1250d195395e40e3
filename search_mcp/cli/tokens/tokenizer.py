"""Number of tokens in a text: counted if a tokenizer is installed, else estimated.

Models have different tokenizers, and not all are public; one that is public stands for all of them.
"""

import contextlib
import os
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from search_mcp import installer
from search_mcp.files import make_folder
from search_mcp.folders import encodings_folder

ENCODING = "o200k_base"
CACHE_VARIABLES = ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")
"""The variables that name the folder of tiktoken's cache, for those who have chosen one."""
DOWNLOAD_SECONDS = 15.0
"""Time limit for tiktoken's download of its encoding, which happens once; tiktoken itself has no limit."""

_PIECE = re.compile(r"[^\W\d_]+|\d+|[^\w\s]+|\s+")
_SPACELESS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True)
class Tokenizer:
    """A function that counts tokens, and its description."""

    name: str
    count: Callable[[str], int]
    is_estimate: bool
    remark: str
    """Sentence about the accuracy of its numbers."""
    addition: installer.Addition | None = None
    """The command after which tokens are counted."""


def find() -> Tokenizer:
    """Return the installed tokenizer if it can be loaded, else the estimate."""
    try:
        import tiktoken
    except ImportError:
        return estimating("a count needs tiktoken", installer.add("tokens", ["tiktoken"]))
    encoding = _loaded(tiktoken)
    if encoding is None:
        return estimating(f"tiktoken could not download the encoding {ENCODING}, which it needs once")
    return Tokenizer(
        ENCODING,
        lambda text: len(encoding.encode_ordinary(text)),
        False,
        f"Counted with {ENCODING}, as OpenAI's models do; other models count somewhat differently.",
    )


def _loaded(tiktoken: Any) -> Any:
    """Load the encoding from tiktoken's cache or from the network; None if that fails or takes too long."""
    loaded: list[Any] = []

    def load() -> None:
        try:
            loaded.append(tiktoken.get_encoding(ENCODING))
        except (OSError, ValueError):  # no network, or a damaged file
            return

    loading = threading.Thread(target=load, name="encoding", daemon=True)
    _store_in_our_cache()
    loading.start()
    loading.join(DOWNLOAD_SECONDS)
    return loaded[0] if loaded else None


def _store_in_our_cache() -> None:
    """Have tiktoken store its encoding in our cache, unless the user has chosen a folder or ours cannot be written.

    By default, it uses the folder of temporary files.
    """
    if not any(name in os.environ for name in CACHE_VARIABLES):
        folder = encodings_folder()
        with contextlib.suppress(OSError):
            make_folder(folder)
        if folder.is_dir() and os.access(folder, os.W_OK):
            os.environ[CACHE_VARIABLES[0]] = str(folder)


def estimating(reason: str, addition: installer.Addition | None = None) -> Tokenizer:
    """Return the estimate; `reason` says why tokens are not counted."""
    remark = f"Estimated, mostly within 15 % of a count with {ENCODING}; {reason}."
    return Tokenizer("estimate", estimate, True, remark, addition)


def estimate(text: str) -> int:
    """Estimate the number of tokens in a text of definitions."""
    return round(sum(_tokens(piece) for piece in _PIECE.findall(text)))


def _tokens(piece: str) -> float:
    """Estimate the tokens in a piece of one kind of characters; fitted to the definitions of real servers."""
    if piece.isspace():
        return 0.0 if piece == " " else 1.0  # one space is part of the token of the next word
    if piece.isdigit():
        return _parts(piece, 3)
    if spaceless := len(_SPACELESS.findall(piece)):
        return spaceless * 0.65 + (len(piece) - spaceless) / 4
    if not piece.isascii():
        return _parts(piece, 5)
    if piece.isalpha():
        return 1.0 if len(piece) <= 10 else _parts(piece, 8)
    return _parts(piece, 4)


def _parts(piece: str, length: int) -> float:
    return float(-(-len(piece) // length))
