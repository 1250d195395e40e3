"""The options of `serve`; loaded only by a process that serves its client itself."""

import argparse
from collections.abc import Iterable
from typing import NoReturn

from search_mcp import __version__


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Print the error in one sentence, like all commands."""
        self.exit(2, f"error: {message}; options go after the command, see search-mcp --help\n")


def parser(clients: Iterable[str]) -> argparse.ArgumentParser:
    """Make the parser; `clients` are the names that `--client` may have."""
    made = _Parser("search-mcp serve", add_help=False)  # `cli` writes the help text
    made.add_argument("--config", metavar="PATH")
    made.add_argument("--client", choices=sorted(clients))
    made.add_argument("--log-level", choices=["debug", "info", "warning", "error"])
    made.add_argument("--version", action="version", version=f"search-mcp {__version__}")
    return made
