"""What stops the children when we cannot: killed, crashed or out of memory.

A shell of a few hundred kilobytes outlives us by a moment. It is told of every process group that
begins and ends; when the pipe from us closes it ends those that are left, TERM first, KILL a second
later. One for all backends, on every system with a POSIX shell. On Windows there is none: children see
the end of their stdin, and that is all.
"""

import contextlib
import os
import subprocess

_SCRIPT = """
groups=" "
while read -r sign group; do
  case $sign in
    +) groups="$groups$group " ;;
    -) groups="${groups%% $group *} ${groups#* $group }" ;;
  esac
done
for signal in TERM KILL; do
  for group in $groups; do kill -s $signal -- "-$group" 2>/dev/null && left=1; done
  [ -n "$left" ] && [ $signal = TERM ] && sleep 1
done
"""


class Guardian:
    """The shell and the pipe to it."""

    def __init__(self) -> None:
        self._pipe: int | None = None
        self._shell: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Be there before the first child is."""
        if self._pipe is None and os.name == "posix":
            self._pipe, self._shell = _start()

    def watch(self, group: int) -> None:
        """End this process group if we die before it is dismissed."""
        self._say(f"+ {group}\n")

    def dismiss(self, group: int) -> None:
        """Forget a process group: it is gone."""
        self._say(f"- {group}\n")

    def _say(self, line: str) -> None:
        if self._pipe is not None:
            with contextlib.suppress(OSError):  # somebody killed the guardian; the children still have us
                os.write(self._pipe, line.encode())


def _start() -> tuple[int, subprocess.Popen[bytes]]:
    reading, writing = os.pipe()
    try:
        # A session of its own: a signal to our whole group must not take the guardian first.
        return writing, subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT],
            stdin=reading,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={"PATH": "/usr/bin:/bin"},
        )
    finally:
        os.close(reading)
