"""The servers that a command starts."""

from typing import Any

import pytest

from cli.conftest import Place
from search_mcp.cli.needed_servers import needed, only
from search_mcp.config.schema import Config, ServerConfig, Settings


def config(**prefixes: Any) -> Config:
    servers = [ServerConfig(name=name, command="x", prefix=prefix) for name, prefix in prefixes.items()]
    return Config(tuple(servers), Settings(), ())


def enabled(config: Config) -> list[str]:
    return [server.name for server in config.servers if server.enabled]


@pytest.mark.parametrize(
    ("tools", "started"),
    [
        (["git.log"], ["git", "bare"]),
        (["git__log"], ["git", "bare"]),
        (["git_log"], ["git", "bare"]),
        (["git-log", "fs.read"], ["git", "files", "bare"]),
        (["files.read"], ["git", "git.extra", "files", "bare"]),  # it has another prefix
        (["git.extra.log"], ["git", "git.extra", "bare"]),
        (["mcp__search-mcp__git__log"], ["git", "bare"]),  # as a client spells it
        (["gitlog"], ["git", "git.extra", "files", "bare"]),
        (["git.log", "unknown"], ["git", "git.extra", "files", "bare"]),
    ],
)
def test_only_servers_that_may_have_the_tools_are_started(tools: list[str], started: list[str]) -> None:
    four = config(**{"git": None, "git.extra": None, "files": "fs", "bare": ""})
    assert enabled(needed(four, tools)) == started


def test_disabled_servers_stay_disabled() -> None:
    assert enabled(needed(only(config(a=None, b=None), {"b"}), ["a.x"])) == []


def test_a_bare_name_starts_the_server_whose_cached_list_has_it(toolbox: Place) -> None:
    assert toolbox.run("call", "toolbox.measure").code == 0
    for name in ("measure", "mcp__search-mcp__toolbox__measure"):
        ended = toolbox.run("call", name, "--debug")
        assert ended.out == '{\n  "celsius": 21.50\n}\n'
        assert "dying: started" not in ended.err
        assert "toolbox: started" in ended.err
