"""Where the configuration file is looked for."""

import re
from pathlib import Path

import pytest

from search_mcp.config import location
from search_mcp.model.errors import ConfigError

CWD, USER = Path("/work"), Path("/user")


SEARCHES = [
    # explicit, variables, candidates
    (None, {}, (CWD / "config" / "mcp-servers.json", USER / "mcp-servers.json")),
    (None, {"SEARCH_MCP_CONFIG": ""}, (CWD / "config" / "mcp-servers.json", USER / "mcp-servers.json")),
    (None, {"SEARCH_MCP_CONFIG": "/x.json"}, (Path("/x.json"),)),
    ("a.json", {"SEARCH_MCP_CONFIG": "/x.json"}, (CWD / "a.json",)),
    ("~/a.json", {"HOME": "/home/ada"}, (Path("/home/ada/a.json"),)),
    ("~/a.json", {"USERPROFILE": "/home/ada"}, (Path("/home/ada/a.json"),)),
    ("./~/a.json", {}, (CWD / "~" / "a.json",)),
]


UNCLEAR = [
    # explicit, variables, the current folder, problem
    ("~/a.json", {}, CWD, "~/a.json: ~ cannot be expanded, because HOME is not set"),
    (None, {"SEARCH_MCP_CONFIG": "~/a.json"}, CWD, "~/a.json: ~ cannot be expanded, because HOME is not set"),
    (None, {"SEARCH_MCP_CONFIG": "a.json"}, CWD, "SEARCH_MCP_CONFIG: a.json is a relative path"),
    ("a.json", {}, None, "a.json: the current folder is gone"),
]


@pytest.mark.parametrize(("explicit", "variables", "candidates"), SEARCHES)
def test_candidates(explicit: str | None, variables: dict[str, str], candidates: tuple[Path, ...]) -> None:
    assert location.candidates(explicit, variables, CWD, USER) == candidates


@pytest.mark.parametrize(("explicit", "variables", "cwd", "problem"), UNCLEAR)
def test_a_path_that_may_mean_another_file_is_refused(
    explicit: str | None, variables: dict[str, str], cwd: Path | None, problem: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(problem)):
        location.candidates(explicit, variables, cwd, USER)


def test_without_a_current_folder_the_users_own_file_is_looked_for() -> None:
    assert location.candidates(None, {}, None, USER) == (USER / "mcp-servers.json",)
