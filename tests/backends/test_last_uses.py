"""Time of the last call to each server's tools, shared by all processes."""

from pathlib import Path

from search_mcp.backends.last_uses import RECENT_SECONDS, LastUses
from search_mcp.config.schema import ServerConfig

SERVER = ServerConfig(name="box", command="uvx", args=("toolbox",))
SAME, OTHER = ServerConfig(name="b", command="uvx", args=("toolbox",)), ServerConfig(name="box", command="uvx")
NOW = 1_800_000_000.0


def test_a_use_is_recent_for_three_days_in_every_process(tmp_path: Path) -> None:
    LastUses(tmp_path / "uses", lambda: NOW).record(SERVER)
    for seconds, is_recent in ((0, True), (RECENT_SECONDS - 1, True), (RECENT_SECONDS, False)):
        later = LastUses(tmp_path / "uses", lambda at=NOW + seconds: at)  # type: ignore[misc]
        assert later.is_recent(SERVER) is is_recent
        assert later.is_recent(SAME) is is_recent, "the same program under another name"
        assert not later.is_recent(OTHER)


def test_an_unwritable_folder_has_no_other_effect(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    uses = LastUses(tmp_path / "file" / "uses", lambda: NOW)
    uses.record(SERVER)
    assert not uses.is_recent(SERVER)
