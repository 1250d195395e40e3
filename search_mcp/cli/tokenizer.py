"""How many tokens a text has: counted where a tokenizer is installed, estimated elsewhere.

Models differ, and not all of their tokenizers are public: what is counted is counted as one of them does.
"""

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from search_mcp.cli import installer

ENCODING = "o200k_base"
DOWNLOAD_SECONDS = 15.0
"""How long tiktoken may take to fetch its encoding, which it does once; it has no limit of its own."""

_PIECE = re.compile(r"[^\W\d_]+|\d+|[^\w\s]+|\s+")
_SPACELESS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True)
class Tokenizer:
    """A way to count."""

    name: str
    count: Callable[[str], int]
    is_estimate: bool
    remark: str
    """What is to be said of its numbers."""


def find() -> Tokenizer:
    """Give the tokenizer that is installed and can be had, or else the estimate."""
    try:
        tiktoken = import_module("tiktoken")
    except ImportError:
        return _estimating(f"{installer.add('tokens')} counts them")
    encoding = _loaded(tiktoken)
    if encoding is None:
        return _estimating(f"tiktoken could not fetch the encoding {ENCODING}, which it does once, from the network")
    return Tokenizer(
        ENCODING,
        lambda text: len(encoding.encode_ordinary(text)),
        False,
        f"Counted with {ENCODING}, as OpenAI's models do; other models count somewhat differently.",
    )


def _loaded(tiktoken: Any) -> Any:
    """Load the encoding from tiktoken's cache or from the network; None if it cannot be had in time."""
    loaded: list[Any] = []

    def load() -> None:
        try:
            loaded.append(tiktoken.get_encoding(ENCODING))
        except (OSError, ValueError):  # no network; a file that is not what it should be
            return

    loading = threading.Thread(target=load, name="encoding", daemon=True)
    loading.start()
    loading.join(DOWNLOAD_SECONDS)
    return loaded[0] if loaded else None


def _estimating(remedy: str) -> Tokenizer:
    return Tokenizer(
        "estimate", estimate, True, f"Estimated, mostly within 15 % of what {ENCODING} counts for a server; {remedy}."
    )


def estimate(text: str) -> int:
    """Estimate how many tokens a text of definitions has."""
    return round(sum(_tokens(piece) for piece in _PIECE.findall(text)))


def _tokens(piece: str) -> float:
    """How many tokens a piece of one kind of characters is: so that the sums over real servers' tools come out."""
    if piece.isspace():
        return 0.0 if piece == " " else 1.0  # one space belongs to the word behind it
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
