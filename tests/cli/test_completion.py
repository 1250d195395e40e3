"""What a shell gets when somebody presses the tab key."""

import pytest

from cli.conftest import Place


def completed(place: Place, line: str) -> list[str]:
    ended = place.run(_SEARCH_MCP_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(line.count(" ")))
    assert (ended.code, ended.err) == (0, "")
    return ended.out.split()


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
        ("search-mcp call --config nowhere.json ", [*("search_tools", "describe_tools", "call_tool", "list_servers")]),
        ("search-mcp config v", ["validate"]),
    ],
)
def test_names_are_completed(toolbox: Place, line: str, words: list[str]) -> None:
    assert toolbox.run("list", "toolbox").code == 0  # from then on they are remembered
    assert sorted(completed(toolbox, line)) == sorted(words)


def test_completion_starts_nothing(toolbox: Place) -> None:
    assert completed(toolbox, "search-mcp call toolbox.") == []
    assert not list(toolbox.folder.rglob("*.json"))[1:]  # nothing but the configuration: no server was asked


def test_the_script_for_the_shell(place: Place) -> None:
    ended = place.run("--show-completion", "bash", SHELL="/bin/bash")
    assert ended.code == 0
    assert "_SEARCH_MCP_COMPLETE=complete_bash" in ended.out
