"""Commands behave in a process of the fork server as in a new one: a real start of each command."""

import re
from dataclasses import replace

import pytest
import typer

from cli.conftest import COMMAND, Ended, Place
from search_mcp.cli.app import application

WORDS = {
    "add": ["add", "toolbox", "--", "python"],
    "auth": ["auth", "status", "--json"],
    "call": ["call", "toolbox.measure"],
    "check": ["check", "dying"],
    "config": ["config", "validate"],
    "describe": ["describe", "toolbox.echo", "search_tools"],
    "disable": ["disable", "nothing"],
    "enable": ["enable", "toolbox"],
    "engine": ["engine", "status"],
    "help": ["help", "call"],
    "import": ["import", "--dry-run"],
    "install": ["install", "cursor", "--dry-run"],
    "list": ["list"],
    "logs": ["logs", "toolbox"],
    "remove": ["remove", "nothing"],
    "search": ["search", "draw", "something"],
    "serve": ["serve", "--client", "nobody"],
    "semantic": ["semantic", "status"],
    "servers": ["servers", "--json"],
    "tokens": ["tokens", "--json"],
    "usage": ["usage", "--json"],
    "uninstall": ["uninstall", "cursor"],
    "version": ["version"],
}


def test_every_command_is_compared() -> None:
    """`demo` prints durations; all its tests start new processes."""
    assert {*WORDS} | {"demo"} == {*typer.main.get_command(application()).commands}  # type: ignore[attr-defined]


@pytest.mark.parametrize("words", WORDS.values(), ids=" ".join)
def test_a_command_does_the_same_in_a_new_process(toolbox: Place, words: list[str]) -> None:
    if toolbox.fork_server is None:
        pytest.skip("commands are not forked on this platform")
    assert toolbox.run("list", "toolbox").code == 0  # from now on, the tools are remembered
    assert without_ages(toolbox.run(*words)) == without_ages(toolbox.run(*words, command=COMMAND))


def without_ages(ended: Ended) -> Ended:
    """Leave out the age of cached lists."""
    return replace(ended, out=re.sub(r'"ageSeconds": \d+', "", ended.out))
