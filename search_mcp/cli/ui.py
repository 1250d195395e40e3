"""`ui`: the page for people, in a browser.

Decides which engine shows it: the running one of the configuration with the most clients, else one that is started.
Where clients share no engine, a process shows it that ends with the command.
"""

import contextlib
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from search_mcp.cli.clients.program import own_program
from search_mcp.cli.files.own_file import own_file, save
from search_mcp.cli.logins.browser import open_page
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import FINE, Problem
from search_mcp.cli.terminal import Terminal
from search_mcp.clients.merging import ROOT
from search_mcp.config import location
from search_mcp.config.schema import Config
from search_mcp.config.trust import real_path
from search_mcp.engine import hello
from search_mcp.engine.hello import Json
from search_mcp.engine.joining import NoEngineError, ask, ask_started
from search_mcp.engine.meeting import is_supported, meeting, sockets

PATIENCE_SECONDS = 10.0
"""Time for the engine to open the page: its first start loads the libraries for it."""
_OF_SSH = ("SSH_CONNECTION", "SSH_TTY")


@takes("config", "debug")
def ui(
    options: Options,
    no_open: Annotated[bool, typer.Option("--no-open", help="Only print the address.")] = False,
) -> int:
    """Open a page in the browser: servers, pending approvals and calls."""
    config, path = _configuration(options)
    first = {**hello.introduction({"--config": options.config}), "wants": "page", "program": own_program()}
    if config.settings.engine == "own" or not is_supported(sys.platform):
        return _show_alone(first, options.screen, no_open=no_open)
    _tell(_invited(first, path), options.screen, no_open=no_open)
    return FINE


def _configuration(options: Options) -> tuple[Config, Path]:
    """Read the configuration; make an empty one for a user who has none, because the page can fill it."""
    if options.config is None and not any(each.exists() for each in location.places(None, os.environ)):
        file = own_file(options)
        save(file, file.document.put((ROOT,), {}), options)
        options.screen.note(f"{file.path} is new, and has no server yet.")
    return options.configuration()


def _tell(answer: Json, screen: Terminal, *, no_open: bool) -> None:
    """Print the address, and open it in the browser."""
    address = f"{answer['address']}#{answer['token']}"
    screen.text(address)
    if any(each in os.environ for each in _OF_SSH):
        port = answer["address"].rpartition(":")[2].partition("/")[0]
        forward = f"ssh -L {port}:127.0.0.1:{port} HOST"
        screen.note(f"On the computer with your browser, run `{forward}`, then open this address there.")
    elif not no_open:
        open_page(address)
        screen.note("Your browser should open it now; if not, open it yourself.")
    screen.note("The address works once, in the next ten minutes.")


def _show_alone(first: Json, screen: Terminal, *, no_open: bool) -> int:
    """Show the page without an engine, until Ctrl-C.

    Raises:
        Problem: it cannot be shown.
    """
    from search_mcp.engine.starting import start_page

    process = start_page()
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout, contextlib.suppress(KeyboardInterrupt):
        with contextlib.suppress(OSError):  # it has ended
            process.stdin.write(hello.encode(first))
        line = process.stdout.readline()
        if not line:
            raise Problem(f"the page cannot be opened: its process ended with code {process.wait()}")
        answer = hello.decode(line)
        if "alone" in answer:
            raise Problem(f"the page cannot be opened: {answer['alone']}")
        _tell(answer, screen, no_open=no_open)
        screen.note("Each of your clients runs servers of its own, which this page does not see. Ctrl-C ends it.")
        process.wait()
    return process.wait()


def _invited(first: Json, path: Path) -> Json:
    """Return the address of the page, and a token for one browser.

    Raises:
        Problem: no engine shows it.
    """
    try:
        place = meeting(str(path), os.environ)
        for running in _running(path):
            answer = ask(running, first, PATIENCE_SECONDS)
            if answer is not None and "address" in answer:
                return answer
        return ask_started(place, first, PATIENCE_SECONDS)
    except (NoEngineError, OSError) as exc:
        raise Problem(f"the page cannot be opened: {exc}", "`search-mcp engine logs` may tell more") from exc


def _running(path: Path) -> list[str]:
    """Return the sockets of the engines of a configuration, those with the most clients first."""
    found: list[tuple[int, str]] = []
    for each in sockets(os.environ):
        try:
            status = ask(each, {"wants": "status"})
        except NoEngineError:  # it is suspended
            continue
        if status is not None and status.get("config") and real_path(Path(status["config"])) == real_path(path):
            found.append((len(status["clients"]), each))
    return [each for _, each in sorted(found, reverse=True)]
