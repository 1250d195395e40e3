"""Lists cached from one command to the next: commands that need no server, and commands that start one."""

import os
import time
from pathlib import Path

import pytest
from first_list import visit

from cli.conftest import COMMAND, SERVERS, Place

DAY = 86_400


class Counted:
    """A copy of the toolbox that counts its starts; deleting its script makes a start fail."""

    def __init__(self, folder: Path, name: str) -> None:
        self._starts, self.script = folder / f"{name}.starts", folder / f"{name}.py"
        note = f"open({str(self._starts)!r}, 'a').write('x')\n"
        self.script.write_text(note + (SERVERS / "toolbox.py").read_text(encoding="utf-8"), encoding="utf-8")
        self.entry = {"command": "${python}", "args": [str(self.script)]}

    def changes(self, old: str, new: str) -> None:
        """Have another definition from the next start on."""
        text = self.script.read_text(encoding="utf-8")
        self.script.write_text(text.replace(old, new, 1), encoding="utf-8")

    @property
    def starts(self) -> int:
        return len(self._starts.read_text()) if self._starts.exists() else 0


@pytest.fixture
def counted(place: Place) -> Counted:
    server = Counted(place.folder, "counted")
    place.configure({"box": server.entry})
    assert place.run("list").code == 0
    assert server.starts == 1
    return server


@pytest.mark.parametrize(
    "words", [["list"], ["list", "box"], ["search", "echo"], ["describe", "box.echo"], ["tokens"], ["list", "--json"]]
)
def test_cached_lists_need_no_server(place: Place, counted: Counted, words: list[str]) -> None:
    counted.script.unlink()
    ended = place.run(*words)
    assert (ended.code, ended.err) == (0, "")
    assert counted.starts == 1
    assert "echo" in ended.out or "box" in ended.out


def test_refresh_asks_again(place: Place, counted: Counted) -> None:
    counted.changes('"measure": {}', '"weigh": {}')
    assert "box.measure" in place.run("list").out
    assert "box.weigh" in place.run("list", "--refresh").out
    assert counted.starts == 2
    assert "box.weigh" in place.run("list").out


def test_check_reads_no_cache_and_writes_it_anew(place: Place, counted: Counted) -> None:
    counted.changes('"measure": {}', '"weigh": {}')
    assert place.run("check").code == 0
    assert counted.starts == 2
    assert "box.weigh" in place.run("list").out


def test_the_age_of_cached_lists_is_shown(place: Place, counted: Counted) -> None:
    two_days_ago = time.time() - 2 * DAY
    for record in Path(place.variables["XDG_CACHE_HOME"]).rglob("*.json"):
        os.utime(record, (two_days_ago, two_days_ago))
    ended = place.run("search", "echo")
    assert ended.err == "Lists cached 2 days ago; --refresh asks the servers again.\n"
    assert round(place.run("list", "--json").json["ageSeconds"] / DAY) == 2
    ended = place.run("list", "--refresh", "--json")
    assert (ended.err, ended.json["ageSeconds"]) == ("", None)
    assert place.run("list", "--json").json["ageSeconds"] < DAY  # lists read again are new


def test_a_name_that_is_not_cached_starts_nothing(place: Place, counted: Counted) -> None:
    counted.changes('"measure": {}', '"weigh": {}')
    ended = place.run("describe", "box.weigh")
    assert (ended.code, counted.starts) == (1, 1)
    assert "box.weigh()" in place.run("describe", "box.weigh", "--refresh").out


def test_a_call_of_a_bare_name_that_several_servers_have_says_so_and_starts_none(
    place: Place, counted: Counted
) -> None:
    slow = Counted(place.folder, "slow")
    place.configure({"box": counted.entry, "twin": counted.entry})
    place.run("list", "twin")
    place.configure({"box": counted.entry, "twin": counted.entry, "slow": slow.entry})
    starts = counted.starts
    ended = place.run("call", "echo")
    assert (ended.code, ended.err) == (1, "error: 2 servers have echo: box, twin; write box.echo\n")
    assert place.run("describe", "echo").err.endswith(ended.err)
    assert (counted.starts, slow.starts) == (starts, 0)


def test_servers_that_were_never_started_are_reported_and_not_started(place: Place, counted: Counted) -> None:
    other = Counted(place.folder, "other")
    place.configure({"box": counted.entry, "new": other.entry})
    for words in (["list"], ["search", "echo"], ["describe", "box.echo"], ["tokens"]):
        ended = place.run(*words)
        assert ended.code == 0
        assert "box" in ended.out
    assert ended.err == "Not started yet: new. `search-mcp check new` starts it.\n"
    assert (counted.starts, other.starts) == (1, 0)
    assert "new.echo" in place.run("list", "new").out
    assert (counted.starts, other.starts) == (1, 1)


def test_a_server_that_failed_is_not_started_to_look_at_others(place: Place, counted: Counted) -> None:
    bad = Counted(place.folder, "bad")
    bad.changes("import", "exit(3)\nimport")
    place.configure({"box": counted.entry, "bad": bad.entry})
    assert place.run("check").code == 1
    starts = bad.starts
    ended = place.run("list")
    assert (ended.code, bad.starts) == (0, starts)
    assert "box.echo" in ended.out
    assert "Failed: bad (it exited with code 3)" in ended.err
    ended = place.run("list", "bad")
    assert (ended.code, ended.out, bad.starts) == (1, "", starts)
    bad.script.write_text(counted.script.read_text(encoding="utf-8"), encoding="utf-8")
    assert place.run("check").code == 0
    assert "bad.echo" in place.run("list").out


def test_lists_cached_by_a_client_are_shown(place: Place, counted: Counted) -> None:
    counted.changes('"measure": {}', '"weigh": {}')
    visit(
        [*COMMAND, "serve"],
        "claude-ai",
        {"box__weigh"},
        folder=place.folder,
        environment=place.variables,
    )
    starts = counted.starts
    for record in Path(place.variables["XDG_CACHE_HOME"]).rglob("*.json"):
        if b'"weigh"' not in record.read_bytes():
            record.unlink()
    assert "box.weigh" in place.run("list").out
    assert counted.starts == starts


def test_call_reads_the_schema_anew(place: Place, counted: Counted) -> None:
    counted.changes('"a": {"type": "integer"}', '"a": {"type": "string"}')
    assert place.run("call", "box.add", "a=1").json == {"a": "1"}


def test_call_starts_the_one_server_that_has_the_tool(place: Place) -> None:
    one, other = Counted(place.folder, "one"), Counted(place.folder, "other")
    renamed = {"echo": "say", "add": "sum", "measure": "m", "draw": "d", "fail": "f", "refuse": "r", "work": "w"}
    entries = {"one": {**one.entry, "prefix": ""}, "other": {**other.entry, "prefix": "", "rename": renamed}}
    place.configure(entries)
    place.run("call", "echo", "text=a")
    assert (one.starts, other.starts) == (1, 1)  # nothing is cached yet: any server may have the tool
    assert place.run("list").code == 0
    before = one.starts, other.starts
    assert place.run("call", "echo", "text=a").json == {"text": "a"}
    assert (one.starts, other.starts) == (before[0] + 1, before[1])


def test_a_failed_server_is_distinguished_from_one_without_tools(toolbox: Place) -> None:
    for _ in range(2):
        ended = toolbox.run("list")
        assert ended.code == 0
        assert "Failed: dying (" in ended.err
        assert "toolbox.echo" in ended.out


def test_a_decision_cannot_be_recorded_in_a_read_only_folder(toolbox: Place) -> None:
    (toolbox.folder / "file").write_text("")
    ended = toolbox.run("list", "toolbox", XDG_CACHE_HOME=str(toolbox.folder / "file"))
    assert (ended.code, ended.err) == (0, "")
