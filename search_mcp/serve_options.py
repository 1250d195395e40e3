"""The options of `serve`; loaded only by a process that serves its client itself."""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn

from search_mcp import __version__


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Print the error in one sentence, like all commands."""
        self.exit(2, f"error: {message}; options go after the command, see search-mcp --help\n")


def parse(arguments: Sequence[str], clients: Iterable[str]) -> argparse.Namespace:
    """Parse the options; `clients` are the names that `--client` may have."""
    return _parser(clients).parse_args([*_with_values(arguments)])


def _with_values(arguments: Sequence[str]) -> Iterator[str]:
    """Write `--servers` and its value as one word: the value may begin with `-`, which argparse takes for an option."""
    words = iter(arguments)
    for word in words:
        value = next(words, None) if word == "--servers" else None
        yield word if value is None else f"{word}={value}"


def _parser(clients: Iterable[str]) -> argparse.ArgumentParser:
    made = _Parser("search-mcp serve", add_help=False)  # `cli` writes the help text
    made.add_argument("--config", metavar="PATH")
    made.add_argument("--client", choices=sorted(clients))
    made.add_argument("--servers", metavar="LIST")
    made.add_argument("--log-level", choices=["debug", "info", "warning", "error"])
    made.add_argument("--version", action="version", version=f"search-mcp {__version__}")
    return made
