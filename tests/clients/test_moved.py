"""The record of servers moved out of clients' files."""

import stat
import sys
from pathlib import Path

import pytest

from search_mcp.clients import document
from search_mcp.clients.moved import FILE_NAME, Moved, MovedServers, digest
from search_mcp.model.errors import ConfigError

DOCUMENT = document.read(b'{"a": 1}', "json", "f")
MOVED = Moved({"a": {"command": "x"}}, "before", digest(DOCUMENT), {})


def test_keep_recall_and_forget(tmp_path: Path) -> None:
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    record = MovedServers(tmp_path / "state")
    assert record.find(one) is None
    record.keep(one, MOVED)
    record.keep(other, Moved({}, "", "", {}))
    assert MovedServers(tmp_path / "state").find(one) == MOVED
    record.forget(one)
    assert record.find(one) is None
    assert record.find(other) == Moved({}, "", "", {})


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_it_is_private(tmp_path: Path) -> None:
    MovedServers(tmp_path).keep(tmp_path / "one.json", MOVED)
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600


def test_matches() -> None:
    assert MOVED.matches(DOCUMENT)
    assert not MOVED.matches(DOCUMENT.put(("a",), 2))


def test_a_damaged_record_of_moved_servers(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("{")
    with pytest.raises(ConfigError, match="is damaged; repair it"):
        MovedServers(tmp_path).find(tmp_path / "one.json")
