"""The interface of everything that makes vectors: a model in this process, or an address."""

from collections.abc import Sequence
from typing import Any, Protocol

from search_mcp.semantic.models import Model


class TextEncoder(Protocol):
    """Makes vectors of texts. They have the length 1, so their product is the cosine.

    A query and texts may be encoded at the same time, by two threads.
    """

    batch: int
    """Texts that are encoded at once."""

    @property
    def identity(self) -> str:
        """A short text that no encoder with other vectors has."""
        ...

    @property
    def unrelated(self) -> float:
        """The usual cosine of two texts that have nothing in common; read before each comparison."""
        ...

    @property
    def knows_all_languages(self) -> bool:
        """Whether texts in other languages than English are compared as well; read before each comparison."""
        ...

    def query(self, text: str) -> Any:
        """Return the vector of a query, of 32-bit floats.

        Raises:
            EncodingError: it cannot be made now.
            ChangedError: another model makes the vectors now.
        """
        ...

    def texts(self, texts: Sequence[str]) -> Any:
        """Return the vectors of some texts, as rows; NaN for a text that has none.

        Raises:
            EncodingError: they cannot be made now.
            ChangedError: another model makes the vectors now.
        """
        ...

    def close(self) -> None:
        """Abort the request in progress; called by another thread."""
        ...


class ModelEncoder:
    """What all encoders with a model on this machine have in common."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def identity(self) -> str:
        return self._model.identity

    @property
    def unrelated(self) -> float:
        return self._model.unrelated

    @property
    def knows_all_languages(self) -> bool:
        return self._model.knows_all_languages

    def close(self) -> None:
        """Do nothing: a batch takes a fraction of a second."""


class EncodingError(Exception):
    """Vectors cannot be made now, but perhaps later; the text is the reason, without secrets."""

    def __init__(self, reason: str, pause_seconds: float = 0.0) -> None:
        super().__init__(reason)
        self.pause_seconds = pause_seconds
        """The pause that the address asks for."""


class ChangedError(Exception):
    """Another model makes the vectors than before: only a new encoder may go on, which has another identity."""
