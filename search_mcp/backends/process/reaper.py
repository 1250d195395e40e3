"""The process reaper: a shell that ends all children when this process is killed, crashes or runs out of memory.

The shell takes a few hundred kilobytes. It reads from a pipe which process groups begin and end. When the pipe closes,
it sends TERM to those that are left, and KILL a second later. Each child writes its own number to the pipe before it
executes its program, so a group is known even if this process is killed at that moment. One shell serves all backends;
Windows has job objects instead.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

_SCRIPT = """
groups=" "
while read -r sign group; do
  case $sign in
    e) newborn= ;;
    +) groups="$groups$group " newborn=$group ;;
    x) group=$newborn ;;
  esac
  case $sign$groups in
    [-x]*" $group "*) groups="${groups%% $group *} ${groups#* $group }" ;;
  esac
done
left=
for group in $groups; do kill -s TERM -- "-$group" 2>/dev/null && left="$left $group"; done
[ -z "$left" ] || sleep 1
for group in $left; do kill -s KILL -- "-$group" 2>/dev/null; done
"""

_LAST_RESORT = """
[ -n "$(dd bs=1 count=1 2>/dev/null)" ] || exit
{ sleep 0.9 || sleep 1; kill -s KILL "$1"; } <&- 2>/dev/null &
cat >/dev/null
kill "$!"
"""
"""Waits for one byte; then kills the process after 0.9 seconds, unless the pipe closes before."""


class Reaper:
    """The shell and the pipe to it. The group of a child has the child's number."""

    def __init__(self) -> None:
        self._pipe: int | None = None

    def start(self) -> None:
        """Start the shell, before the first child."""
        if self._pipe is None:
            self._pipe = _start(_SCRIPT)

    @contextlib.contextmanager
    def expecting(self) -> Iterator[Callable[[], None]]:
        """Start a child in this context; yields a function to run in it before its program."""
        self._say("e\n")
        try:
            yield self._announce
        except OSError:  # it could not execute its program, and has ended
            self._say("x\n")
            raise

    def _announce(self) -> None:
        self._say(f"+ {os.getpid()}\n")

    def watch(self, group: int) -> None:
        """Do nothing: the child has written its number."""

    def signal(self, group: int, number: int) -> None:
        """Send a signal to every process of a group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)

    def dismiss(self, group: int) -> None:
        """Remove a process group that has ended; its number may be used again."""
        self._say(f"- {group}\n")

    def _say(self, line: str) -> None:
        if self._pipe is not None:
            with contextlib.suppress(OSError):  # the shell was killed or stopped; this process still stops the children
                os.write(self._pipe, line.encode())


def last_resort() -> None:
    """From now on, kill this process if it still runs a second after a signal that it has a handler for.

    Python runs handlers between two of its own instructions, so not during a call of a C library that does not end,
    and at its end it waits for threads that look up names. `set_wakeup_fd` writes its byte when the signal arrives,
    whatever runs. For the main thread; on Windows a process is always ended at once.
    """
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):  # there is no shell, or no more processes are allowed
        signal.set_wakeup_fd(_start(_LAST_RESORT, str(os.getpid())), warn_on_full_buffer=False)


def _start(script: str, *arguments: str) -> int:
    """Start a shell that outlives this process; return the pipe to it."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)  # a shell that was stopped must not block us
    try:
        # In a session of its own: a signal to our whole group must not end the shell first.
        shell = subprocess.Popen(
            ["/bin/sh", "-c", script, "sh", *arguments],
            stdin=reading,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
            env={"PATH": "/usr/bin:/bin"},
        )
    finally:
        os.close(reading)
    shell.returncode = 0  # it outlives us, so `Popen` must not warn that it is not waited for
    return writing
