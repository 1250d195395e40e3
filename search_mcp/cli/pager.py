"""A pager for output that is longer than the screen, used as git uses one."""

import contextlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence


def command(variables: Mapping[str, str]) -> Sequence[str]:
    """Return the command of the pager: `$PAGER`, else `less` if it is installed; empty for no pager."""
    chosen = variables.get("PAGER")
    words = ["less"] if chosen is None else shlex.split(chosen, posix=os.name == "posix")
    return words if words and words != ["cat"] and shutil.which(words[0]) is not None else []


def show(text: str, words: Sequence[str]) -> None:
    """Show a text in a pager, and wait until the user leaves it."""
    # As git sets it: -F ends at once if the text fits, -R passes colours on, -X leaves the text on the screen.
    variables = {"LESS": "FRX", **os.environ}
    with subprocess.Popen(words, stdin=subprocess.PIPE, env=variables, encoding="utf-8", errors="replace") as pager:
        assert pager.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the user left before the end of the text
            pager.stdin.write(text)
        with contextlib.suppress(BrokenPipeError):
            pager.stdin.close()
        while True:
            try:
                pager.wait()
                return
            except KeyboardInterrupt:  # the pager handles it
                continue
