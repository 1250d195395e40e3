"""`ui`: the page for people, in a browser.

Decides which engine shows it: the running one of the configuration with the most clients, else one that is started.
"""

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from search_mcp.cli.logins.browser import open_page
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import FINE, Problem
from search_mcp.clients.command import own_command
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
    """Open the page that shows your servers, what waits for you, and who called what."""
    if not is_supported(sys.platform):
        raise Problem("the page is shown by the shared engine, which this system does not have")
    config, path = options.configuration()
    if config.settings.engine == "own":
        remedy = f'remove "engine": "own" from the settings in {path}'
        raise Problem("the page is shown by the shared engine, which the config file switches off", remedy)
    answer = _invited(options, path)
    address = f"{answer['address']}#{answer['token']}"
    options.screen.text(address)
    if any(each in os.environ for each in _OF_SSH):
        port = answer["address"].rpartition(":")[2].partition("/")[0]
        options.screen.note(
            f"On the computer with your browser, run `ssh -L {port}:127.0.0.1:{port} HOST` and open this address there."
        )
    elif not no_open:
        open_page(address)
        options.screen.note("Opened in your browser; the address is for one browser, for ten minutes.")
    return FINE


def _invited(options: Options, path: Path) -> Json:
    """Return the address of the page, and a token for one browser.

    Raises:
        Problem: no engine shows it.
    """
    program, *args = own_command(sys.argv[0], sys.executable, shutil.which)
    first = {
        **hello.introduction({"--config": options.config}),
        "wants": "page",
        "program": [str(Path(program).absolute()), *args],
    }
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
