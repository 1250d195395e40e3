"""Commands that the page carries out as a person at a terminal does; what they print is shown on the page."""

import io
from collections.abc import Callable
from pathlib import Path

from search_mcp.cli.console import Console
from search_mcp.cli.options import Options
from search_mcp.cli.terminal import Terminal

WIDTH = 1000
"""Columns of what a command prints: more than a line has, because the browser breaks lines."""


class Printed(Terminal):
    """The output of a command, kept; nobody answers a question."""

    def __init__(self) -> None:
        self._file = io.StringIO()
        console = Console(file=self._file, width=WIDTH, color_system=None, highlight=False, markup=False, emoji=False)
        self._show_on(console, console)

    @property
    def said(self) -> str:
        """What was printed."""
        return self._file.getvalue().strip()

    @property
    def is_interactive(self) -> bool:
        return False


def carried_out(config: Path, act: Callable[[Options], object]) -> str:
    """Carry out a command on a configuration file; return what it prints. May block.

    Raises:
        Problem, ConfigError: the command cannot be carried out.
    """
    screen = Printed()
    act(Options(screen=screen, config=str(config)))
    return screen.said
