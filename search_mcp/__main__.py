"""The command line. `serve` is handled here, so that it loads only what it needs; `cli` has all other commands."""

import argparse
import gc
import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import NoReturn

from search_mcp import __version__

OPTIONS_FOR_PEOPLE = ("--help", "--version", "--install-completion", "--show-completion")
HELP_OPTIONS = {"-h", "--help"}
COMPLETION_VARIABLE = "_SEARCH_MCP_COMPLETE"
"""Set by a shell to complete a command line instead of running it."""

NEW_OBJECTS = 10_000
"""New objects before the garbage collector looks for cycles: 64 calls in flight exceed Python's 700, and have none."""
COLLECTOR_THRESHOLDS = (NEW_OBJECTS, 1, 50)
"""Thresholds of the three generations while `serve` runs.

With Python's 10 for the second, one collection reads 100,000 new objects: 25 to 100 ms while thousands of tools are
indexed. With 1 it reads 20,000. The third keeps full collections as rare as they were: one in a million new objects.
"""

WAITING = (
    "search-mcp is waiting for an MCP client on stdin (Ctrl-C stops it); "
    "search-mcp install registers it in a client, search-mcp --help shows the commands.\n"
)
"""Printed on stderr when `serve` is started at a terminal."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    _fill_gaps()
    try:
        return _run(arguments)
    except KeyboardInterrupt:  # while modules were loaded; later it is handled elsewhere
        return 130


def _fill_gaps() -> None:
    """Open the null device for each standard stream that was closed.

    Otherwise the next file that is opened gets the free descriptor: output of libraries would go to a pipe, and our log
    to the client.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115  # for as long as we live


def _run(arguments: Sequence[str] | None) -> int:
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    serves = (
        not arguments
        or arguments[0] == "serve"
        or (arguments[0].startswith("--") and not arguments[0].startswith(OPTIONS_FOR_PEOPLE))
    )
    if not arguments and os.isatty(0):
        serves, arguments = False, ["--help"]  # started by a person, because a client's stdin is a pipe
    elif serves and HELP_OPTIONS & {*arguments}:
        serves, arguments = False, ["serve", "--help"]
    if not serves or COMPLETION_VARIABLE in os.environ:
        gc.set_threshold(NEW_OBJECTS)  # a command ends before there is much garbage
        code: int = import_module("search_mcp.cli").main(arguments)
        return code
    gc.disable()  # loaded modules stay, and collecting garbage among them takes a tenth of the start
    try:
        profiles = import_module("search_mcp.catalog.profiles").BY_NAME
        options = _serve_parser(profiles).parse_args(arguments[1:] if arguments[:1] == ["serve"] else arguments)
        if os.isatty(0):
            sys.stderr.write(WAITING)
        server = import_module("search_mcp.fronts.serve")
        gc.freeze()
    finally:
        gc.enable()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)
    profile = profiles[options.client] if options.client else None
    code = server.run(options.config, profile, options.log_level)
    return code  # noqa: RET504  # it has a type here


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Print the error in one sentence, like all commands."""
        self.exit(2, f"error: {message}; options go after the command, see search-mcp --help\n")


def _serve_parser(clients: Iterable[str]) -> argparse.ArgumentParser:
    parser = _Parser("search-mcp serve", add_help=False)  # `cli` writes the help text
    parser.add_argument("--config", metavar="PATH")
    parser.add_argument("--client", choices=sorted(clients))
    parser.add_argument("--log-level", choices=["debug", "info", "warning", "error"])
    parser.add_argument("--version", action="version", version=f"search-mcp {__version__}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
