"""Finding and reading the configuration file."""

import os
import re
import sys
from pathlib import Path

import pytest
from checkout import ROOT

from search_mcp.config import location
from search_mcp.config.gate import Origin
from search_mcp.config.location import FILE_NAME, FILE_VARIABLE, approvals, own_place
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
def test_the_candidates_in_order(explicit: str | None, variables: dict[str, str], candidates: tuple[Path, ...]) -> None:
    assert location.candidates(explicit, variables, CWD, USER) == candidates


@pytest.mark.parametrize(("explicit", "variables", "cwd", "problem"), UNCLEAR)
def test_a_path_that_may_mean_another_file_is_refused(
    explicit: str | None, variables: dict[str, str], cwd: Path | None, problem: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(problem)):
        location.candidates(explicit, variables, cwd, USER)


def test_without_a_current_folder_the_users_own_file_is_looked_for() -> None:
    assert location.candidates(None, {}, None, USER) == (USER / "mcp-servers.json",)


CONFIG = '{"mcpServers": {"s": {"command": "x"}}}'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which is empty; the user's own folders are empty too."""
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    current = tmp_path / "work"
    current.mkdir()
    monkeypatch.chdir(current)
    return current


def write(path: Path, text: str = CONFIG) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_the_users_own_file_is_read(folder: Path) -> None:
    path = write(own_place())
    config, found = location.load(None, {})
    assert found == path
    assert [(server.name, server.file) for server in config.servers] == [("s", "")]
    assert location.origin(path, None, {}) is Origin.OWN


def test_a_named_file_is_read_and_named_in_commands(folder: Path) -> None:
    path = write(folder / "named.json")
    for explicit, variables in (("named.json", {}), (None, {FILE_VARIABLE: str(path)})):
        config, found = location.load(explicit, variables)
        assert found == path
        assert [server.file for server in config.servers] == [str(path)]
        assert location.origin(path, explicit, variables) is Origin.NAMED
        assert location.unused(explicit, variables, path) is None


def test_a_file_in_the_current_folder_is_used_once_it_is_trusted(folder: Path) -> None:
    own, path = write(own_place()), write(folder / "config" / FILE_NAME)
    assert location.locate(None, {}) == own
    assert location.unused(None, {}, own) == path
    notice = location.untrusted(None, {}, own)
    assert notice is not None
    assert "is not used, because you have not trusted it" in notice
    approvals().trust(path, [])
    assert location.untrusted(None, {}, own) is None
    assert location.locate(None, {}) == path
    assert location.unused(None, {}, path) is None
    assert location.origin(path, None, {}) is Origin.FOUND


def test_a_refused_file_is_neither_used_nor_mentioned(folder: Path) -> None:
    own, path = write(own_place()), write(folder / "config" / FILE_NAME)
    approvals().refuse(path)
    assert location.locate(None, {}) == own
    assert location.untrusted(None, {}, own) is None


def test_a_damaged_record_of_trust_is_reported(folder: Path) -> None:
    own, path = write(own_place()), write(folder / "config" / FILE_NAME)
    approvals().trust(path, [])
    for record in approvals().folder.iterdir():
        record.write_text("x")
    notice = location.untrusted(None, {}, own)
    assert notice is not None
    assert "because the record of that cannot be used (" in notice


@pytest.mark.parametrize("is_folder_linked", [True, False], ids=["the folder", "the file"])
def test_a_link_to_the_trusted_file_of_another_folder_is_not_used(folder: Path, is_folder_linked: bool) -> None:
    own, theirs = write(own_place()), write(folder.parent / "other" / "config" / FILE_NAME)
    approvals().trust(theirs, [])
    if is_folder_linked:
        (folder / "config").symlink_to(theirs.parent)
    else:
        (folder / "config").mkdir()
        (folder / "config" / FILE_NAME).symlink_to(theirs)
    assert location.locate(None, {}) == own
    notice = location.untrusted(None, {}, own)
    assert notice is not None
    assert "because it is a link to another folder's file" in notice
    own.unlink()
    with pytest.raises(ConfigError, match=r"is used only if --config names it$"):
        location.locate(None, {})


def test_a_copy_of_the_shipped_example_is_not_mentioned(folder: Path) -> None:
    own = write(own_place())
    path = write(folder / "config" / FILE_NAME, location.shipped().read_text("utf-8"))
    assert location.unused(None, {}, own) is None
    with path.open("a", encoding="utf-8") as file:
        file.write(" ")
    assert location.unused(None, {}, own) == path


def test_a_file_that_cannot_be_examined_is_no_copy(folder: Path) -> None:
    own = write(own_place())
    path = folder / "config" / FILE_NAME
    path.parent.mkdir()
    path.symlink_to("x" * 300)
    assert location.unused(None, {}, own) in (path, None)  # newer versions of Python treat it as a broken link


def test_the_checkout_that_search_mcp_runs_from_needs_no_trust(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    path = ROOT / "config" / FILE_NAME
    assert location.locate(None, {}) == path
    assert location.origin(path, None, {}) is Origin.NAMED


@pytest.mark.skipif(sys.platform == "win32", reason="the current folder cannot be removed")
def test_in_a_removed_folder_the_users_own_file_is_used(folder: Path) -> None:
    own = write(own_place())
    folder.rmdir()
    assert location.locate(None, {}) == own
    assert location.unused(None, {}, own) is None
    assert location.origin(folder / "x", None, {}) is Origin.FOUND


def test_a_missing_file_has_a_remedy(folder: Path) -> None:
    with pytest.raises(ConfigError, match="there is no config file yet; run `search-mcp import`"):
        location.locate(None, {})
    with pytest.raises(ConfigError, match="there is no such file; correct the path, or create the file"):
        location.locate("absent.json", {})
    write(folder / "config" / FILE_NAME)
    with pytest.raises(
        ConfigError, match=r"is used only if --config names it, or you trust it \(search-mcp config trust"
    ):
        location.locate(None, {})


def test_a_folder_is_no_configuration(folder: Path) -> None:
    with pytest.raises(ConfigError, match=f"this is a folder; name the file in it, such as {FILE_NAME}"):
        location.locate(str(folder), {})


def test_a_file_that_cannot_be_read_is_an_error(folder: Path) -> None:
    with pytest.raises(ConfigError, match="it cannot be read"):
        location.read(folder / "absent.json", {})
    with pytest.raises(ConfigError):
        location.load("x" * 300, {})


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes of POSIX")
def test_a_pipe_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(ConfigError, match="it is not a regular file"):
        location.read(folder / "pipe", {})


def test_a_huge_file_is_refused(folder: Path) -> None:
    path = folder / "huge.json"
    with path.open("wb") as file:
        file.truncate(location.MAX_CONFIG_BYTES + 1)
    with pytest.raises(ConfigError, match="it is larger than 16 MiB"):
        location.read(path, {})
