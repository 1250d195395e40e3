"""The end of an engine process that gets no more memory, threads or files."""

import contextlib
import os

EXHAUSTED = b"! no memory or no thread is left: this engine ends, and its clients start another one\n"


def end_if_exhausted(exc: BaseException) -> None:
    """End this process if an error shows that it gets no more memory or threads: its clients start another one.

    It would answer nobody, and hold the socket at which all of them look for it. Its servers end with it.
    """
    if _is_exhaustion(exc):
        with contextlib.suppress(OSError):
            os.write(2, EXHAUSTED)  # to the log file; the thread of the log may not get to write
        os._exit(1)


def _is_exhaustion(exc: BaseException) -> bool:
    if isinstance(exc, BaseExceptionGroup):
        return any(map(_is_exhaustion, exc.exceptions))
    return isinstance(exc, MemoryError) or (isinstance(exc, RuntimeError) and "can't start new thread" in str(exc))


def may_open(files: int) -> bool:
    """Return whether this process may open so many files more."""
    with contextlib.ExitStack() as opened:
        try:
            for _ in range(files):
                opened.callback(os.close, os.dup(1))
        except OSError:
            return False
    return True
