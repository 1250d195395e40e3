"""When a program is held: at the start, after an edit, and for a command."""

import shlex
import sys
from pathlib import Path

import pytest

from search_mcp.approvals import Approvals
from search_mcp.config import Config, ServerConfig, Settings
from search_mcp.gate import Gate, Origin, for_command

OWN, NAMED, FOUND = Origin.OWN, Origin.NAMED, Origin.FOUND


def config(*programs: str, confirm: bool | None = None) -> Config:
    servers = (ServerConfig(name=name, command="x", program=name.encode()) for name in programs)
    return Config(tuple(servers), Settings(confirm_commands=confirm), ())


def held(of: Config) -> list[str]:
    return [server.name for server in of.servers if not server.may_run]


RULES = [
    # origin, confirmCommands at the start, what was accepted before: held at the start of ab, after an edit to abc
    (OWN, None, "", "", ""),
    (OWN, False, "", "", ""),
    (OWN, True, "", "", "c"),
    (OWN, True, "a", "b", "bc"),
    (OWN, True, "abc", "", ""),
    (NAMED, None, "", "", "c"),
    (NAMED, None, "c", "", ""),
    (NAMED, False, "", "", ""),
    (NAMED, True, "", "", "c"),
    (NAMED, True, "a", "b", "bc"),
    (FOUND, None, "a", "b", "bc"),
    (FOUND, False, "a", "b", "bc"),
    (FOUND, False, "", "ab", "abc"),
    (FOUND, True, "ab", "", "c"),
]


@pytest.mark.parametrize(("origin", "confirm", "accepted", "at_start", "after_edit"), RULES)
@pytest.mark.parametrize("edited", [None, True, False])
def test_what_is_held(
    tmp_path: Path,
    origin: Origin,
    confirm: bool | None,
    accepted: str,
    at_start: str,
    after_edit: str,
    edited: bool | None,
) -> None:
    """Whatever the edit says of `confirmCommands`."""
    path, approvals = tmp_path / "mcp-servers.json", Approvals(tmp_path / "programs")
    if accepted:
        approvals.accept_all(path, config(*accepted).servers)
    gate = Gate(path, origin, approvals)
    assert "".join(held(gate.at_start(config(*"ab", confirm=confirm)))) == at_start
    assert "".join(held(gate.after_edit(config(*"abc", confirm=edited)))) == after_edit
    approvals.accept(path, config("c").servers)
    assert "c" not in held(gate.after_edit(config(*"abc", confirm=edited)))


@pytest.mark.parametrize("origin", [NAMED, FOUND])
def test_a_command_starts_nothing_that_a_running_serve_holds(tmp_path: Path, origin: Origin) -> None:
    path, approvals = tmp_path / "mcp-servers.json", Approvals(tmp_path / "programs")
    if origin is FOUND:
        approvals.trust(path, config("a").servers)
    gate = Gate(path, origin, approvals)
    gate.at_start(config("a"))
    gate.after_edit(config("a", "b"))
    gate.remember_held()
    for each in (origin, NAMED):  # the remedy names the file
        assert held(for_command(config("a", "b"), path, each, approvals)) == ["b"]
    assert held(for_command(config("a", "b"), path, OWN, approvals)) == []
    gate.after_edit(config("a"))
    gate.remember_held()
    assert approvals.read(path).held == {}


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
def test_a_remedy_can_be_copied_whatever_the_file_calls_its_server(tmp_path: Path) -> None:
    gate = Gate(tmp_path / "a b" / "mcp-servers.json", NAMED, Approvals(tmp_path / "programs"))
    gate.at_start(config())
    (server,) = gate.after_edit(config("x; touch PWNED")).servers
    assert server.held is not None
    command = server.held.split("`")[1]
    assert shlex.split(command)[3:] == ["x; touch PWNED", "--config", str(tmp_path / "a b" / "mcp-servers.json")]


def test_it_is_remembered_again_when_what_is_held_changes(tmp_path: Path) -> None:
    gate = Gate(tmp_path / "mcp-servers.json", NAMED, Approvals(tmp_path / "programs"))
    gate.at_start(config())
    for programs, is_remembered in (("", False), ("a", False), ("a", True), ("ab", False), ("ab", True)):
        gate.after_edit(config(*programs))
        assert gate.is_remembered == is_remembered
        gate.remember_held()


def test_where_nothing_can_be_remembered_programs_are_held_all_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "state").touch()
    gate = Gate(tmp_path / "mcp-servers.json", NAMED, Approvals(tmp_path / "state" / "programs"))
    gate.at_start(config())
    assert held(gate.after_edit(config("a"))) == ["a"]
    gate.remember_held()
    gate.report()
    assert [record.getMessage().partition(" held")[0] for record in caplog.records] == ["! which servers are", "! a:"]
