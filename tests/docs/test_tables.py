"""The tables, commands and options on the pages match the code."""

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from checkout import ROOT

from docs.pages import DOCS, PAGES, text
from search_mcp.cli.app import application
from search_mcp.cli.files import schema


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
    options = {name for command in _commands(group) for option in command.params for name in option.opts}
    named = {*re.findall(r"`search-mcp ([a-z]+)", text(page))}
    assert named <= commands
    mentioned = {*re.findall(r"(?<=`)--[a-z][a-z-]+", text(page))}
    assert mentioned <= options


def _commands(group: Any) -> Iterator[Any]:
    yield group
    for command in getattr(group, "commands", {}).values():
        yield from _commands(command)


def test_every_key_is_described() -> None:
    missing = [key for key in schema.ABOUT if not re.search(rf"[`.\"]{re.escape(key)}\b", text("configuration.md"))]
    assert missing == []
