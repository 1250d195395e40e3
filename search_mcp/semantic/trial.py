"""A trial of a model: the process that makes vectors loads it, and compares one query with two texts."""

import queue
import tempfile
from array import array
from pathlib import Path
from typing import Any

from search_mcp.semantic.choice import command
from search_mcp.semantic.lines import Compared, Failure, Local, Problem, Query, Texts
from search_mcp.semantic.models import ModelError
from search_mcp.semantic.vector_process import VectorProcess
from search_mcp.wire import payload
from search_mcp.wire.structs import Struct

QUERY = "make a picture smaller"
SIMILAR = "Resize an image"
OTHER = "Send an e-mail to several people"
PATIENCE_SECONDS = 120.0
"""Time in which a model must be loaded and have answered once; most take a second."""
_ANSWER: Any = Compared | Failure | Problem


class Trial(Struct, frozen=True):
    """The result of a trial."""

    similar: float
    """Similarity of the query and the text that means the same: 1.0 for equal, 0.0 for unrelated."""
    other: float
    """Similarity of the query and the other text."""


class UselessError(ModelError):
    """A model does not distinguish two texts; the message quotes them."""


def tried(folder: Path) -> Trial:
    """Try the model in a folder.

    Raises:
        ModelError: it cannot be loaded.
        UselessError: it does not distinguish the two texts.
        OSError: the process cannot be started.
    """
    with tempfile.TemporaryDirectory(prefix="search-mcp-") as place:
        compared = _compared(folder, Path(place) / "vectors.sqlite3")
    similar, other = array("f", compared.similarities)
    if not similar > other:  # one of them may be no number
        raise UselessError(
            f'"{QUERY}" is not more similar to "{SIMILAR}" ({similar:.2f}) than to "{OTHER}" ({other:.2f})'
        )
    return Trial(similar, other)


def _compared(folder: Path, vectors: Path) -> Compared:
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    process = VectorProcess(command(vectors), lambda _process, line: lines.put(line))
    try:
        process.send(Local(str(folder)))
        process.send(Texts(1, [SIMILAR, OTHER]))
        process.send(Query(1, 1, QUERY, 2))
        while line := lines.get(timeout=PATIENCE_SECONDS):
            answer: Compared | Failure | Problem = payload.typed(line, _ANSWER)
            if isinstance(answer, Failure):
                raise ModelError(answer.failure)
            if isinstance(answer, Compared):
                if not answer.missing:
                    return answer
                process.send(Query(1, 1, QUERY, 2))  # the texts have no vectors yet
    except ValueError as exc:
        raise ModelError(f"its process wrote a wrong line: {exc}") from exc
    except queue.Empty:
        raise ModelError(f"its process does not answer within {PATIENCE_SECONDS:g} s") from None
    finally:
        process.end()
        process.wait()
    raise ModelError(process.how_it_ended)
