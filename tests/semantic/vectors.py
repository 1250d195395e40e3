"""Encoders of a tiny model, and what a process that makes vectors has on disk."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sentence_models import tiny

from search_mcp.semantic.comparison import Comparison
from search_mcp.semantic.encoder import OnnxEncoder
from search_mcp.semantic.encoding import EncodingError
from search_mcp.semantic.vector_store import VectorStore

TEXTS = ["read the file", "draw a picture", "send mail", "the weather in a city", "time", "read the file"]


class Counting(OnnxEncoder):
    """An encoder that counts the texts that it encodes."""

    encoded = 0

    def texts(self, texts: Sequence[str]) -> Any:
        self.encoded += len(texts)
        return super().texts(texts)


class Failing(Counting):
    """An encoder that cannot make vectors now."""

    why = ""
    pause_seconds = 0.0

    def query(self, text: str) -> Any:
        if self.why:
            raise EncodingError(self.why, self.pause_seconds)
        return super().query(text)

    def texts(self, texts: Sequence[str]) -> Any:
        if self.why:
            raise EncodingError(self.why, self.pause_seconds)
        return super().texts(texts)


class Place:
    """A model and a file of vectors."""

    def __init__(self, folder: Path) -> None:
        self.model = tiny(folder / "tiny", unrelated=0.25)
        self.folder, self.file = folder / "tiny", folder / "vectors.sqlite3"
        self.lock = folder / "vectors.sqlite3.lock"

    def comparison(self) -> tuple[Comparison, Counting]:
        encoder = Counting(self.folder, self.model)
        return Comparison(encoder, VectorStore(self.file, self.model.identity), self.lock), encoder
