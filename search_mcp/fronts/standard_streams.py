"""The standard streams of a process that speaks to a client: which are there, and taking them for the protocol.

The only file that touches `sys.stdout`. Standard library only, because relays load nothing else.
"""

import os
import stat
import sys


def missing() -> list[str]:
    """Name those of stdin and stdout that were closed when Python started; their numbers may be in use since."""
    return [name for name, stream in (("stdin", sys.stdin), ("stdout", sys.stdout)) if stream is None]


def claim() -> tuple[int, int]:
    """Duplicate stdin and stdout for the protocol, and return the new file descriptors; neither may be missing.

    From here on, everything that is printed goes to stderr, so that only protocol messages reach stdout: descriptor 1
    leads to stderr and descriptor 0 is empty, for libraries, C extensions and children without pipes of their own.
    """
    sys.stdout.flush()
    protocol_in, protocol_out = os.dup(0), os.dup(1)
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123  # a descriptor is wanted
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return protocol_in, protocol_out


def is_pollable(platform: str, mode: int) -> bool:
    """Return whether the event loop can wait for this descriptor: for pipes and sockets, but not on Windows.

    A terminal would be left non-blocking for the shell it belongs to, and `/dev/null` cannot be waited for.
    """
    return platform != "win32" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))
