"""The tables, commands and options on the pages match the code."""

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
def test_pages_name_only_existing_commands_and_options(page: str) -> None:
    """Prose is checked as well, because no other test runs it."""
    group = typer.main.get_command(application())
    commands = {*group.commands}  # type: ignore[attr-defined]  # typer does not declare that it is a group
    described = {*re.findall(r"--[a-z][a-z-]+", text("commands.md"))}
    named = {*re.findall(r"`search-mcp ([a-z]+)", text(page))}
    assert named <= commands
    mentioned = {*re.findall(r"(?<=`)--[a-z][a-z-]+", text(page))}
    assert mentioned <= described
