"""Commands behave in a process of the fork server as in a new one."""

import re
from dataclasses import replace

import pytest

from cli.conftest import COMMAND, Ended, Place

WORDS = [
    ["call", "toolbox.measure"],
    ["check", "dying"],
    ["engine", "status"],
    ["import", "--dry-run"],
    ["list"],
    ["search", "draw", "something"],
    ["serve", "--client", "nobody"],
    ["tokens", "--json"],
]


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_a_command_does_the_same_in_a_new_process(toolbox: Place, words: list[str]) -> None:
    if toolbox.fork_server is None:
        pytest.skip("commands are not forked on this platform")
    assert toolbox.run("list", "toolbox").code == 0  # from now on, the tools are remembered
    assert without_ages(toolbox.run(*words)) == without_ages(toolbox.run(*words, command=COMMAND))


def without_ages(ended: Ended) -> Ended:
    """Leave out the age of cached lists."""
    return replace(ended, out=re.sub(r'"ageSeconds": \d+', "", ended.out))
