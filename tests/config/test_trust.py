"""The records of the programs that the user accepted."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from search_mcp.config.schema import ServerConfig
from search_mcp.config.trust import MOST_PROGRAMS, Approvals
from search_mcp.wire.structs import replace


def server(name: str, program: bytes = b"{}") -> ServerConfig:
    return ServerConfig(name=name, command="x", program=program)


def test_a_program_is_accepted_under_its_name_and_in_its_file(tmp_path: Path) -> None:
    approvals, file = Approvals(tmp_path / "programs"), tmp_path / "mcp-servers.json"
    assert not approvals.read(file).accepts(server("a"))
    approvals.accept(file, [server("a")])
    record = approvals.read(file)
    assert record.accepts(server("a"))
    assert not record.accepts(server("b"))
    assert not record.accepts(server("a", b"[]"))
    assert not approvals.read(tmp_path / "other.json").accepts(server("a"))
    assert (record.folder, record.has_baseline) == ("undecided", False)


def test_the_same_program_has_another_digest_in_another_file(tmp_path: Path) -> None:
    approvals = Approvals(tmp_path / "programs")
    for name in ("one", "two"):
        approvals.accept(tmp_path / name, [server("a")])
    texts = [path.read_text() for path in (tmp_path / "programs").iterdir()]
    assert len({json.loads(text)["accepted"]["a"][0] for text in texts}) == 2


def test_the_newest_programs_of_a_server_stay_accepted(tmp_path: Path) -> None:
    approvals, file = Approvals(tmp_path / "programs"), tmp_path / "mcp-servers.json"
    versions = [server("a", str(number).encode()) for number in range(MOST_PROGRAMS + 1)]
    for version in versions:
        approvals.accept(file, [version])
    approvals.accept(file, [versions[1]])
    record = approvals.read(file)
    assert [record.accepts(version) for version in versions] == [False, *[True] * MOST_PROGRAMS]


def test_an_accepted_program_is_not_held(tmp_path: Path) -> None:
    approvals, file = Approvals(tmp_path / "programs"), tmp_path / "mcp-servers.json"
    approvals.note_held(file, [server("a"), server("b")])
    approvals.accept(file, [server("a")])
    record = approvals.read(file)
    assert [record.holds(server(name)) for name in "ab"] == [False, True]
    assert not record.holds(server("b", b"[]"))


def test_a_file_that_is_refused_has_no_accepted_program(tmp_path: Path) -> None:
    approvals, file = Approvals(tmp_path / "programs"), tmp_path / "mcp-servers.json"
    approvals.trust(file, [server("a")])
    assert (approvals.read(file).folder, approvals.read(file).has_baseline) == ("trusted", True)
    approvals.refuse(file)
    record = approvals.read(file)
    assert (record.folder, record.has_baseline, record.accepts(server("a"))) == ("refused", True, False)


ACCEPTER = """
import sys
from pathlib import Path
from search_mcp.config.trust import Approvals
from search_mcp.config.schema import ServerConfig
for number in range(20):
    server = ServerConfig(name=f"{sys.argv[2]}{number}", command="x")
    Approvals(Path(sys.argv[1]) / "programs", 60).accept(Path(sys.argv[1]) / "mcp-servers.json", [server])
"""


def test_two_processes_accept_at_the_same_time_without_loss(tmp_path: Path) -> None:
    accepters = [subprocess.Popen([sys.executable, "-c", ACCEPTER, str(tmp_path), letter]) for letter in "ab"]
    assert [accepter.wait(60) for accepter in accepters] == [0, 0]
    record = Approvals(tmp_path / "programs").read(tmp_path / "mcp-servers.json")
    assert len(record.accepted) == 40


@pytest.mark.skipif(sys.platform != "linux", reason="file names of bytes")
def test_a_path_need_not_be_unicode(tmp_path: Path) -> None:
    approvals = Approvals(tmp_path / "programs")
    one, other = (tmp_path / os.fsdecode(name) for name in (b"\xff", b"\xfe"))
    approvals.accept(one, [server("a")])
    approvals.note_held(one, [server("b")])
    assert (approvals.read(one).accepts(server("a")), approvals.read(one).holds(server("b"))) == (True, True)
    assert not approvals.read(other).accepts(server("a"))


def test_texts_are_accepted_with_their_program(tmp_path: Path) -> None:
    approvals, file = Approvals(tmp_path / "programs"), tmp_path / "mcp-servers.json"
    approvals.accept(file, [server("a")])
    record, other = approvals.read(file), replace(server("a"), description="another")
    assert (record.accepts(other), record.accepts_texts(server("a")), record.accepts_texts(other)) == (
        True,
        True,
        False,
    )


def test_the_first_start_that_confirms_commands_accepts_all(tmp_path: Path) -> None:
    approvals, file = Approvals(tmp_path / "programs"), tmp_path / "mcp-servers.json"
    first = approvals.confirm(file, [server("a")])
    assert (first.confirms, first.has_baseline, first.accepts(server("a"))) == (True, True, True)
    (stored,) = approvals.folder.iterdir()
    before = stored.stat().st_mtime_ns
    later = approvals.confirm(file, [server("a"), server("b")])
    assert (later.accepts(server("b")), stored.stat().st_mtime_ns) == (False, before)  # the record is not written again


DAMAGES = [
    # damage to the record, the fault
    (lambda record: record.write_text("x"), "is damaged"),
    (lambda record: (record.unlink(), record.mkdir()), "directory"),
    (lambda record: (record.unlink(), record.symlink_to("nowhere")), "is a broken link"),
    (lambda record: record.write_text(record.read_text().replace("mcp-servers", "x")), "is the record of another file"),
]


@pytest.mark.parametrize(("damage", "fault"), DAMAGES)
def test_a_record_that_cannot_be_used_accepts_nothing(
    tmp_path: Path, damage: Callable[[Path], object], fault: str
) -> None:
    approvals, file = Approvals(tmp_path / "programs"), tmp_path / "mcp-servers.json"
    approvals.trust(file, [server("a")])
    (stored,) = approvals.folder.iterdir()
    damage(stored)
    record = approvals.read(file)
    assert fault in record.fault
    assert (record.folder, record.has_baseline, record.accepts(server("a"))) == ("undecided", True, False)
