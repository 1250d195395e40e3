"""Process groups, and what stops them when we cannot: killed, crashed or out of memory.

A shell of a few hundred kilobytes outlives us by a moment. It is told of every process group that
begins and ends; when the pipe from us closes it ends those that are left, TERM first, KILL a second
later. A group begins with a child that says so itself, before it becomes its program: however soon we
are killed, the pipe is open until then. One shell for all backends, on every system that has one;
Windows has job objects.
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
"""It waits for one byte; then it gives the process 0.9 seconds, unless the pipe from it closes before."""


class Reaper:
    """The shell and the pipe to it. A child's group has the number of the child."""

    def __init__(self) -> None:
        self._pipe: int | None = None

    def start(self) -> None:
        """Be there before the first child is."""
        if self._pipe is None:
            self._pipe = _start(_SCRIPT)

    @contextlib.contextmanager
    def expecting(self) -> Iterator[Callable[[], None]]:
        """Start a child meanwhile; gives what it is to run before its program, in a group of its own."""
        self._say("e\n")
        try:
            yield self._announce
        except OSError:  # it could not become its program, and is gone
            self._say("x\n")
            raise

    def _announce(self) -> None:
        self._say(f"+ {os.getpid()}\n")

    def watch(self, group: int) -> None:
        """Nothing is left to be done: the child has said that it is there."""

    def signal(self, group: int, number: int) -> None:
        """Send a signal to every process of a group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)

    def dismiss(self, group: int) -> None:
        """Forget a process group: it is gone, and its number may be another's soon."""
        self._say(f"- {group}\n")

    def _say(self, line: str) -> None:
        if self._pipe is not None:
            with contextlib.suppress(OSError):  # somebody killed or stopped it; the children still have us
                os.write(self._pipe, line.encode())


@contextlib.contextmanager
def last_resort() -> Iterator[None]:
    """Have this process killed if it is still there a second after a signal that it has a handler for.

    Python runs handlers between two of its own instructions, so not while a call of a library written in C goes on
    without an end. The byte that `set_wakeup_fd` asks for is written when the signal comes, whatever runs. For the
    main thread; Windows has no such signals: there, a process is always ended at once.
    """
    if sys.platform == "win32":
        yield
        return
    with contextlib.ExitStack() as kept:
        with contextlib.suppress(OSError):  # there is no shell, or no room for another process
            alarm = _start(_LAST_RESORT, str(os.getpid()))
            kept.callback(os.close, alarm)
            kept.callback(signal.set_wakeup_fd, signal.set_wakeup_fd(alarm, warn_on_full_buffer=False))
        yield


def _start(script: str, *arguments: str) -> int:
    """Start a shell that outlives us; return the pipe to it."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)  # a reaper that was stopped must not stop us
    try:
        # A session of its own: a signal to our whole group must not take the reaper first.
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
    shell.returncode = 0  # it is to outlive us: nobody waits for it, and `Popen` need not warn of that
    return writing
