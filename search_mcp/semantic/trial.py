"""A trial of a model: the process that makes vectors loads it, and compares one query with two texts."""

import subprocess
import tempfile
import threading
from array import array
from pathlib import Path
from typing import Any

from search_mcp.semantic.choice import command
from search_mcp.semantic.lines import Compared, Failure, Local, Query, Texts
from search_mcp.semantic.models import ModelError
from search_mcp.wire import payload
from search_mcp.wire.structs import Struct

QUERY = "make a picture smaller"
SIMILAR = "Resize an image"
OTHER = "Send an e-mail to several people"
PATIENCE_SECONDS = 120.0
"""Time in which a model must be loaded and have answered; most take a second."""
_ANSWER: Any = Compared | Failure


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
    with subprocess.Popen(
        command(vectors),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    ) as process:
        timer = threading.Timer(PATIENCE_SECONDS, process.kill)
        timer.start()
        try:
            return _answer(process, folder)
        finally:
            timer.cancel()
            process.kill()


def _answer(process: "subprocess.Popen[bytes]", folder: Path) -> Compared:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    query = payload.encode_bytes(Query(1, 1, QUERY, 2)) + b"\n"
    first = (Local(str(folder)), Texts(1, [SIMILAR, OTHER]))
    try:
        process.stdin.write(b"".join(payload.encode_bytes(each) + b"\n" for each in first) + query)
        process.stdin.flush()
        for line in process.stdout:
            answer = _of(line)
            if isinstance(answer, Failure):
                raise ModelError(answer.failure)
            if answer is not None and not answer.missing:
                return answer
            if answer is not None:  # the texts have no vectors yet
                process.stdin.write(query)
                process.stdin.flush()
    except BrokenPipeError:
        pass  # the process has ended; its stderr has the reason
    lines = process.stderr.read().decode(errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    raise ModelError(f"the process that loads it ended with exit code {process.wait()}{': ' if last else ''}{last}")


def _of(line: bytes) -> Compared | Failure | None:
    try:
        found: Compared | Failure = payload.typed(line, _ANSWER)
    except ValueError:
        return None
    return found
