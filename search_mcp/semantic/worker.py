"""The process that makes vectors: `python -m search_mcp.semantic.worker VECTOR_FILE`.

A sentence model needs 100 to 300 MB and all of a processor, so it is loaded in a process of its own, of low priority.
It answers queries between small batches of texts, and ends when its stdin does or when it was not asked for a while.
"""

import contextlib
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from search_mcp.semantic.comparison import Comparison
from search_mcp.semantic.encoding import ChangedError, TextEncoder
from search_mcp.semantic.lines import Address, Failure, Forget, Local, Problem, Query, Texts
from search_mcp.semantic.models import ModelError
from search_mcp.semantic.vector_store import VectorStore
from search_mcp.wire import payload
from search_mcp.wire.framing import LineDecoder

IDLE_SECONDS = 300.0
"""The process ends after this time without a request; loading the model again takes half a second."""
ENDING_SECONDS = 5.0
"""Time after the end of its stdin in which the process ends by itself."""
CHUNK = 1 << 16
"""Bytes read at once."""
NICENESS = 19
_OPENING: Any = Local | Address
_REQUEST: Any = Texts | Forget | Query


class _Encoded(NamedTuple):
    """The vectors of a batch, or an exception."""

    result: Any


Lines: TypeAlias = "queue.SimpleQueue[bytes | _Encoded | None]"
"""The lines of stdin, and the batches of another thread; `None` at the end."""


def run(comparison: Comparison, lines: Lines, write: Callable[[bytes], None]) -> None:
    """Answer lines until there is no further one, or none for a long time; make vectors between them.

    Raises:
        ChangedError: another model makes the vectors than those in the file.
    """
    reported, asked_at = "", time.monotonic()
    thread: threading.Thread | None = None
    while True:
        if comparison.problem != reported:
            reported = comparison.problem
            write(payload.encode_bytes(Problem(reported, comparison.is_given_up)) + b"\n")
        rests = comparison.is_complete or comparison.is_given_up
        until_end = max(0.0, asked_at + IDLE_SECONDS - time.monotonic())
        try:
            if comparison.is_encoding:
                line = lines.get()
            elif comparison.is_complete:
                line = lines.get(timeout=until_end)
            else:
                line = lines.get(timeout=min(until_end, comparison.pause) if rests else comparison.pause)
        except queue.Empty:
            if rests and time.monotonic() >= asked_at + IDLE_SECONDS:
                return
            if not comparison.is_complete and (encode := comparison.begin()) is not None:
                thread = threading.Thread(target=_encode, args=(encode, lines), name="texts", daemon=True)
                thread.start()
            continue
        if line is None:
            if thread is not None:
                thread.join()  # a library must not calculate while the process ends
            return
        if isinstance(line, _Encoded):
            comparison.finish(line.result)
            continue
        asked_at = time.monotonic()
        asked: Texts | Forget | Query = payload.typed(line, _REQUEST)
        if isinstance(asked, Texts):
            comparison.use(asked.catalogue, asked.texts)
        elif isinstance(asked, Forget):
            comparison.forget(asked.catalogue)
        else:
            write(payload.encode_bytes(comparison.compare(asked)) + b"\n")


def _encode(encode: Callable[[], Any], lines: Lines) -> None:
    lines.put(_Encoded(encode()))


def main(file: Path, given: Iterator[bytes], write: Callable[[bytes], None]) -> None:
    """Load the model or prepare the address that the first line names, and answer the other lines."""
    if hasattr(os, "nice"):  # on Windows, the process is started with a low priority
        os.nice(NICENESS)
    first = next(given, None)
    if first is None:
        return
    lines: Lines = queue.SimpleQueue()
    encoders: list[TextEncoder] = []
    # Before the model is loaded: the end of the input ends that, too.
    threading.Thread(target=_read, args=(given, lines, encoders), name="stdin", daemon=True).start()
    try:
        encoder = encoder_of(payload.typed(first, _OPENING), file)
        encoders.append(encoder)
        comparison = Comparison(encoder, VectorStore(file, encoder.identity), file.with_name(f"{file.name}.lock"))
    except ModelError as exc:
        write(payload.encode_bytes(Failure(str(exc))) + b"\n")
        return
    try:
        run(comparison, lines, write)
    except ChangedError as exc:  # the next process makes the vectors anew
        write(payload.encode_bytes(Problem(str(exc))) + b"\n")


def encoder_of(opening: Local | Address, file: Path) -> TextEncoder:
    """Load what makes the vectors that a file keeps.

    Raises:
        ModelError: it cannot be loaded.
    """
    if isinstance(opening, Address):
        from search_mcp.semantic.address_encoder import AddressEncoder

        return AddressEncoder(opening, file)
    from search_mcp.semantic.encoder import loaded

    return loaded(Path(opening.folder))


def _read(given: Iterator[bytes], lines: Lines, encoders: Sequence[TextEncoder]) -> None:
    for line in given:
        lines.put(line)
    lines.put(None)
    for encoder in encoders:
        encoder.close()  # a request that is under way, which the process would wait for


def lines_of(descriptor: int) -> Iterator[bytes]:
    """Yield the lines of a file.

    A buffered reader has a lock, which a thread that waits for input would hold while the process ends.
    """
    decoder = LineDecoder(sys.maxsize, header=None)
    while chunk := os.read(descriptor, CHUNK):
        yield from (line for line in decoder.feed(chunk) if isinstance(line, bytes))


def ending(given: Iterator[bytes]) -> Iterator[bytes]:
    """Yield lines; end the process some time after the last one, although a model may calculate for ever."""
    yield from given
    timer = threading.Timer(ENDING_SECONDS, os._exit, (1,))
    timer.daemon = True
    timer.start()


if __name__ == "__main__":
    with open(1, "wb", closefd=False) as stdout:

        def write(line: bytes) -> None:
            stdout.write(line)
            stdout.flush()

        with contextlib.suppress(BrokenPipeError):
            main(Path(sys.argv[1]), ending(lines_of(0)), write)
