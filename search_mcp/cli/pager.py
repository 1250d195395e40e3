"""A pager for output longer than the screen, as git has it."""

import contextlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence


def command(variables: Mapping[str, str]) -> Sequence[str]:
    """Choose the pager: `$PAGER`, or `less` where there is one. Empty if none is wanted."""
    chosen = variables.get("PAGER")
    words = ["less"] if chosen is None else shlex.split(chosen, posix=os.name == "posix")
    return words if words and words != ["cat"] and shutil.which(words[0]) is not None else []


def show(text: str, words: Sequence[str]) -> None:
    """Show a text in a pager until the user leaves it."""
    # -F ends at once where the text fits, -R passes colours on, -X leaves the text on the screen; as git sets it.
    variables = {"LESS": "FRX", **os.environ}
    with subprocess.Popen(words, stdin=subprocess.PIPE, env=variables, encoding="utf-8", errors="replace") as pager:
        assert pager.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # left before all of it was read
            pager.stdin.write(text)
        with contextlib.suppress(BrokenPipeError):
            pager.stdin.close()
        while True:
            try:
                pager.wait()
                return
            except KeyboardInterrupt:  # the pager's to handle
                continue
