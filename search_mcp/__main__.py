"""The command line. `serve` is handled here, so that it loads only what it needs; `cli` has all other commands."""

import gc
import os
import sys
from collections.abc import Mapping, Sequence

from search_mcp.collector import NEW_OBJECTS, THRESHOLDS
from search_mcp.fronts.standard_streams import missing

OPTIONS_FOR_PEOPLE = ("--help", "--version", "--install-completion", "--show-completion")
HELP_OPTIONS = {"-h", "--help"}
COMPLETION_VARIABLE = "_SEARCH_MCP_COMPLETE"
"""Set by a shell to complete a command line instead of running it."""

WAITING = (
    "search-mcp is waiting for an MCP client on stdin (Ctrl-C stops it).\n"
    "search-mcp install registers it in a client, search-mcp --help shows commands.\n"
)
"""Printed on stderr when `serve` is started at a terminal."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    is_complete = _fill_gaps()
    try:
        return _run(arguments, is_complete)
    except KeyboardInterrupt:  # while modules were loaded; later it is handled elsewhere
        return 130


def _fill_gaps() -> bool:
    """Open the null device for each standard stream that was closed; return whether none was.

    Otherwise the next file that is opened gets the free descriptor: output of libraries would go to a pipe, and our log
    to the client.
    """
    is_complete = not missing() and sys.stderr is not None
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115  # for as long as we live
    return is_complete


def _run(arguments: Sequence[str] | None, is_complete: bool) -> int:
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
        return _run_command(arguments)
    arguments = arguments[1:] if arguments[:1] == ["serve"] else arguments
    from search_mcp.engine.setting import plain_options

    options = plain_options(arguments)
    if options is None:  # another form, or a mistake
        return _run_command(["serve", *arguments])
    shared = _serve_shared(options) if is_complete else None
    return serve_alone(options) if shared is None else shared


def _run_command(arguments: Sequence[str]) -> int:
    gc.set_threshold(NEW_OBJECTS)  # a command ends before there is much garbage
    from search_mcp.cli import main

    return main(arguments)


def _serve_shared(options: Mapping[str, str]) -> int | None:
    """Serve through the shared engine; `None` if this process has to serve."""
    from search_mcp.engine import setting

    if (file := setting.shared_file(options, os.environ)) is None:
        return None
    from search_mcp.engine import relay

    return relay.run(options, file, WAITING if os.isatty(0) else "")


def serve_alone(options: Mapping[str, str]) -> int:
    """Run `serve` with an engine of its own."""
    gc.disable()  # loaded modules stay, and collecting garbage among them takes a tenth of the start
    try:
        from search_mcp.catalog.profiles import BY_NAME
        from search_mcp.fronts.serve import run
        from search_mcp.logs import LEVELS

        gc.freeze()
    finally:
        gc.enable()
    client, level = options.get("--client"), options.get("--log-level")
    if (client is not None and client not in BY_NAME) or (level is not None and level not in LEVELS):
        return _run_command(["serve", *(word for option in options.items() for word in option)])
    if os.isatty(0):
        sys.stderr.write(WAITING)
    gc.set_threshold(*THRESHOLDS)
    profile = BY_NAME[client] if client is not None else None
    return run(options.get("--config"), profile, level, options.get("--servers"))


def run_engine() -> None:
    """Run an engine process."""
    from search_mcp.engine.process import main
    from search_mcp.page.opening import OpenPage

    main(OpenPage())


def run_page() -> None:
    """Run a process that shows the page without an engine."""
    from search_mcp.page.alone import main

    main()


if __name__ == "__main__":
    sys.exit(main())
