"""Estimate of the number of tokens in a text. Pure.

Models have different tokenizers, and not all are public. This was fitted to o200k_base, which OpenAI's models use.
"""

import re

REMARK = "Tokens are estimates, mostly within 15 % of a count with o200k_base; models count somewhat differently."
_PIECE = re.compile(r"[^\W\d_]+|\d+|[^\w\s]+|\s+")
_SPACELESS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


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
