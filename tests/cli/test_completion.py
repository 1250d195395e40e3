"""Completion by a shell."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from cli.conftest import Ended, Place, completed
from search_mcp.catalog.items import OWN_NAMES

BASH = pytest.mark.skipif(sys.platform == "win32" or shutil.which("bash") is None, reason="there is no bash")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("search-mcp de", ["describe", "demo"]),
        ("search-mcp list t", ["toolbox"]),
        ("search-mcp logs ", ["toolbox", "dying"]),
        ("search-mcp search --server d", ["dying"]),
        ("search-mcp describe toolbox.me", ["toolbox.measure"]),
        ("search-mcp call toolbox.e", ["toolbox.echo"]),
        ("search-mcp call sea", ["search_tools"]),
        ("search-mcp call --config nowhere.json ", [*OWN_NAMES]),
        ("search-mcp config v", ["validate"]),
        ("search-mcp auth log", ["login", "logout"]),
        ("search-mcp auth login ", []),
        ("search-mcp semantic s", ["setup", "status"]),
        ("search-mcp semantic setup --f", ["--from"]),
    ],
)
def test_names_are_completed(toolbox: Place, line: str, words: list[str]) -> None:
    assert toolbox.run("list", "toolbox").code == 0  # now their lists are cached
    assert sorted(completed(toolbox, line)) == sorted(words)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("list --servers ", ["toolbox", "spare", "tag:work", "tag:home"]),
        ("install cursor --servers toolbox,tag:", ["toolbox,tag:work", "toolbox,tag:home"]),
        ("check --servers tag:work,-s", ["tag:work,-spare"]),
        ("check --servers toolbox,t", ["toolbox,tag:work", "toolbox,tag:home"]),
    ],
)
def test_selectors_are_completed(place: Place, line: str, words: list[str]) -> None:
    place.configure(
        {"toolbox": {"command": "x", "tags": ["work"]}, "spare": {"command": "y", "tags": ["work", "home"]}}
    )
    assert sorted(completed(place, f"search-mcp {line}")) == sorted(words)


def test_names_that_a_shell_would_run_are_not_offered(place: Place) -> None:
    bad = ["$(touch PWNED)", "a;b", "`id`", "a\nb", "a b", "'a'", "--yes", "\x1b[2J", "a|b", "~", "a\u202eb"]
    good = ["résumé", "数据", "a.b-c_d", "@scope/pkg:x+y"]
    place.configure({name: {"command": "x", "prefix": f"p{at}"} for at, name in enumerate([*bad, *good])})
    assert completed(place, "search-mcp check ") == good


def test_completion_starts_nothing(toolbox: Place) -> None:
    assert completed(toolbox, "search-mcp call toolbox.") == []
    assert not list(toolbox.folder.rglob("*.json"))[1:]  # only from the configuration: no server was started


def types(place: Place, line: str) -> Ended:
    """Run a line in a bash that stays until its end, so that the command detects bash as the shell in use."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return place.run(command=("bash", "-c", f"{line}; exit $?"), PATH=path)


@BASH
def test_the_script_for_the_shell(place: Place) -> None:
    ended = types(place, "search-mcp --show-completion")
    assert (ended.code, ended.err) == (0, "")
    assert "_SEARCH_MCP_COMPLETE=complete_bash" in ended.out


@BASH
def test_the_installed_completion_works(place: Place) -> None:
    ended = types(place, "search-mcp --install-completion")
    assert (ended.code, ended.err) == (0, "")
    assert f"bash completion installed in {place.folder}" in ended.out
    tab = "COMP_WORDS=(search-mcp de) COMP_CWORD=1; _search_mcp_completion search-mcp; echo ${COMPREPLY[@]}"
    ended = types(place, f". ~/.bashrc; {tab}")
    assert (ended.code, ended.err, sorted(ended.out.split())) == (0, "", ["demo", "describe"])
