"""The tables, commands and options on the pages are those of the code."""

import re
import subprocess
import sys

import pytest
import typer
from checkout import ROOT

from docs.pages import DOCS, PAGES, text
from search_mcp.cli.app import application


def test_the_tables_are_those_of_the_code() -> None:
    done = subprocess.run(
        [sys.executable, str(DOCS / "tables.py"), "--check"], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES)
def test_only_commands_and_options_are_named_that_there_are(page: str) -> None:
    """Also in prose, which no other test executes."""
    group = typer.main.get_command(application())
    commands = {*group.commands}  # type: ignore[attr-defined]  # typer does not say that it is a group
    described = {*re.findall(r"--[a-z][a-z-]+", text("commands.md"))}
    named = {*re.findall(r"`search-mcp ([a-z]+)", text(page))}
    assert named <= commands
    mentioned = {*re.findall(r"(?<=`)--[a-z][a-z-]+", text(page))}
    assert mentioned <= described
