"""The page in engines other than Chromium's, as Debian and Ubuntu have them: one walk through what its script does."""

import json
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from cli.conftest import server as cli_server
from processes.run import server

from page.conftest import NewHome
from page.webdriver import ENTER, Window, firefox, webkit


def button(name: str) -> str:
    return f"//button[normalize-space()='{name}' or @aria-label='{name}']"


def switch(name: str, state: str) -> str:
    """Find the switch of a server in a state: `true` or `false`."""
    return f"//button[@role='switch'][@aria-label='{name}'][@aria-checked='{state}']"


@pytest.mark.figures
@pytest.mark.parametrize("run", [webkit, firefox])
def test_the_page_works(
    run: Callable[[Path], AbstractContextManager[Window]], new_home: NewHome, tmp_path: Path
) -> None:
    home, pipe = new_home({"box": cli_server("toolbox")}, confirmCommands=True), tmp_path / "pipe"
    home.types("check")
    os.mkfifo(pipe)
    with run(tmp_path) as window:
        window.opens(home.invites())  # a script uses the token
        window.clicks(switch("box", "true"))
        window.has(switch("box", "false"))
        home.types("enable", "box")  # an event shows it
        window.has(switch("box", "true"))
        window.runs("document.querySelector('[role=switch]').focus()")
        window.presses(" ")
        window.has(switch("box", "false"))
        assert window.runs("document.activeElement.getAttribute('aria-label')") == "box"
        window.presses(" ")
        window.has(switch("box", "true"))

        home.edits(lambda text: text.replace('"box"', f'"new": {json.dumps(server("well_behaved"))}, "box"', 1))
        window.clicks("//nav//a[contains(., 'Waiting for you')]")
        window.clicks("//button[starts-with(@aria-label, 'Accept this')]")
        window.shows("Nothing waits for you.")

        window.clicks("//nav//a[.='Add']")
        window.types("//textarea", json.dumps({"letters": server("has_tools", "read=Reads a letter.")}))
        window.clicks(button("Show what it runs"))
        window.clicks(button("Start and try it"))
        window.shows("It works: 1 tool")
        window.clicks(button("Keep it"))
        window.has(switch("letters", "true"))

        window.clicks("//nav//a[.='Try']")
        window.types("//input[@name='q']", "work")
        window.presses(ENTER)
        window.shows("the best first")
        window.clicks("//a[.='box.work']")
        window.types("//textarea[@name='others']", json.dumps({"until": str(pipe)}))
        window.clicks("//form[@id='call']//button[1]")
        with pipe.open("w"):
            window.clicks(button("Stop"))
            window.shows("You stopped waiting, and the call was cancelled.")
        window.goes_back()
        window.shows("the best first")
