"""Which servers a command starts."""

from typing import Any

import pytest

from search_mcp.cli.session import needed, only
from search_mcp.config import Config, ServerConfig, Settings


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
        (["files.read"], ["git", "git.extra", "files", "bare"]),  # its prefix is another
        (["git.extra.log"], ["git", "git.extra", "bare"]),
        (["gitlog"], ["git", "git.extra", "files", "bare"]),
        (["git.log", "unknown"], ["git", "git.extra", "files", "bare"]),
    ],
)
def test_only_what_may_have_the_tools_is_started(tools: list[str], started: list[str]) -> None:
    four = config(**{"git": None, "git.extra": None, "files": "fs", "bare": ""})
    assert enabled(needed(four, tools)) == started


def test_what_is_disabled_stays_disabled() -> None:
    assert enabled(needed(only(config(a=None, b=None), {"b"}), ["a.x"])) == []
