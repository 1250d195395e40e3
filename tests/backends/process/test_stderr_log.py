"""A backend's stderr log: its tail is kept, its file is limited, and several processes may write it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from search_mcp.backends.process.stderr_log import (
    FILE_BYTES,
    LINE_BYTES,
    TAIL_BYTES,
    UNWRITTEN_BYTES,
    StderrLog,
    file_name,
    split_time,
)

EPOCH = b"1970-01-01T00:00:00Z "


def at_epoch() -> float:
    return 0.0


def texts(path: Path) -> list[str]:
    """Return the lines of a file without their times; each line must have one."""
    lines = [split_time(line) for line in path.read_text().splitlines()]
    assert all(time for time, _ in lines)
    return [text for _, text in lines]


def test_every_line_begins_with_the_time_it_was_written_at(tmp_path: Path) -> None:
    path, times = tmp_path / "s.log", iter([1_795_373_801.0, 1_795_373_802.9, 1_795_373_803.0])
    journal = StderrLog(path, clock=lambda: next(times))
    journal.started(412)
    for piece in (b"one", b"\n\ntwo 10%\r20%\r\nthr", b"ee \xff\n"):
        journal.write(piece)
    assert path.read_bytes().split(b"\n") == [
        b"2026-11-22T18:56:41Z --- started, pid 412 ---",
        b"2026-11-22T18:56:42Z one",
        b"2026-11-22T18:56:42Z ",
        b"2026-11-22T18:56:42Z two 10%\r20%\r",
        b"2026-11-22T18:56:43Z three \xff",
        b"",
    ]


def test_the_tail_has_neither_times_nor_starts(tmp_path: Path) -> None:
    journal = StderrLog(tmp_path / "s.log")
    journal.started(412)
    journal.write(b"last\nwords\n")
    assert journal.tail() == "last\nwords"


@pytest.mark.parametrize("before", [b"", b"whole\n", b"broken o"])
def test_a_start_is_on_a_line_of_its_own(tmp_path: Path, before: bytes) -> None:
    path = tmp_path / "s.log"
    path.write_bytes(before)
    StderrLog(path, clock=at_epoch).started(412)
    *others, started = path.read_bytes().splitlines()
    assert started == EPOCH + b"--- started, pid 412 ---"
    assert others == before.splitlines()


def test_two_runs_follow_each_other_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "s.log"
    for pid in (1, 2):
        journal = StderrLog(path)
        journal.started(pid)
        journal.write(b"no end of line")
        journal.close()
        journal.close()
    assert texts(path) == ["--- started, pid 1 ---", "no end of line", "--- started, pid 2 ---", "no end of line"]


@pytest.mark.parametrize(
    ("line", "split"),
    [
        ("2026-11-22T18:56:41Z text", ("2026-11-22T18:56:41Z", "text")),
        ("2026-11-22T18:56:41Z 2026-11-22T18:56:40Z text", ("2026-11-22T18:56:41Z", "2026-11-22T18:56:40Z text")),
        ("2026-11-22T18:56:41Z ", ("2026-11-22T18:56:41Z", "")),
        ("text of an earlier version", (None, "text of an earlier version")),
        ("2026-11-22 18:56:41,123 INFO", (None, "2026-11-22 18:56:41,123 INFO")),
        ("", (None, "")),
    ],
)
def test_the_time_of_a_line(line: str, split: tuple[str | None, str]) -> None:
    assert split_time(line) == split


def test_the_tail_is_kept_after_any_output() -> None:
    journal = StderrLog(None)
    for number in range(2000):
        journal.write(b"line %d\n" % number)
    assert journal.tail().endswith("line 1999")
    assert len(journal.tail()) <= TAIL_BYTES


def test_a_file_is_limited_and_one_older_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "s.log"
    journal = StderrLog(path)
    for _ in range(5):
        journal.write(b"x" * (FILE_BYTES // 2) + b"\n")
    sizes = {each.name: each.stat().st_size for each in path.parent.iterdir()}
    assert sizes.keys() == {"s.log", "s.old.log"}
    assert all(size <= 2 * FILE_BYTES for size in sizes.values())


def test_a_file_of_many_short_lines_is_limited_with_their_times(tmp_path: Path) -> None:
    StderrLog(tmp_path / "s.log").write(b"\n" * (FILE_BYTES // 4))
    assert all(each.stat().st_size <= FILE_BYTES + 2 * LINE_BYTES for each in tmp_path.iterdir())


def test_without_a_writable_folder_only_the_file_is_missing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "taken").write_text("a file, not a folder")
    journal = StderrLog(tmp_path / "taken" / "s.log")
    journal.write(b"last\n")
    journal.write(b"words\n")
    assert journal.tail() == "last\nwords"
    assert caplog.text.count("cannot be written") == 1
    (tmp_path / "taken").unlink()
    journal.write(b"written again\n")
    assert texts(tmp_path / "taken" / "s.log") == ["written again"]


def test_a_flood_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    waiting: list[Callable[[], None]] = []
    journal = StderrLog(tmp_path / "s.log", later=waiting.append)
    for _ in range(3):
        for _ in range(3):
            journal.write(b"x" * UNWRITTEN_BYTES + b"\n")
        while waiting:
            waiting.pop(0)()
    assert caplog.text.count("a part is left out") == 1


def test_a_log_that_another_process_rotated_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "s.log"
    ours, theirs = StderrLog(path), StderrLog(path)
    ours.write(b"o" * (FILE_BYTES - len(EPOCH) - 1) + b"\n")
    theirs.write(b"t\n")
    ours.write(b"ours\n")
    theirs.write(b"theirs\n")
    assert texts(path) == ["ours", "theirs"]
    assert texts(path.with_suffix(".old.log")) == ["o" * (FILE_BYTES - len(EPOCH) - 1), "t"]


WRITER = """
import sys
from pathlib import Path
from search_mcp.backends.process.stderr_log import StderrLog
journal = StderrLog(Path(sys.argv[1]))
for number in range(3000):
    journal.write(f"{sys.argv[2]} {number} {'x' * 60}\\n".encode())
"""


def test_several_processes_write_one_file_and_no_line_is_lost_or_torn(tmp_path: Path) -> None:
    path = tmp_path / "s.log"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in "abc"]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    lines = [f"{name} {number} {'x' * 60}" for name in "abc" for number in range(3000)]
    assert sorted(texts(path)) == sorted(lines)


def test_a_secret_reaches_the_file_in_no_piece(tmp_path: Path) -> None:
    path = tmp_path / "s.log"
    journal = StderrLog(path, {"s3cret", "s3cret-and-more"})
    for piece in (b"token s3c", b"ret, then s3cret-and", b"-more\nnext ", b"s3cret"):
        journal.write(piece)
    journal.close()
    assert texts(path) == ["token ***, then ***", "next ***"]


def test_a_secret_that_is_no_utf_8_reaches_the_file_neither(tmp_path: Path) -> None:
    secret = b"s3cr3t-\xfc"
    journal = StderrLog(tmp_path / "s.log", [secret.decode(errors="surrogateescape")])
    journal.write(b"no " + secret + b"\n")
    assert texts(tmp_path / "s.log") == ["no ***"]


def test_a_secret_in_a_line_too_long_to_wait_for_reaches_the_file_in_no_piece(tmp_path: Path) -> None:
    path = tmp_path / "s.log"
    journal = StderrLog(path, {"s3cret"})
    for piece in (b"x" * LINE_BYTES + b" s3c", b"ret ", b"y" * LINE_BYTES, b" end\n"):
        journal.write(piece)
    assert texts(path) == ["x" * LINE_BYTES + " *** " + "y" * LINE_BYTES + " end"]


def test_a_line_without_end_is_written_all_the_same(tmp_path: Path) -> None:
    journal = StderrLog(tmp_path / "s.log", clock=at_epoch)
    journal.write(b"x" * (LINE_BYTES + 1))
    assert (tmp_path / "s.log").read_bytes() == EPOCH + b"x" * (LINE_BYTES + 1)
    journal.close()
    assert (tmp_path / "s.log").read_bytes() == EPOCH + b"x" * (LINE_BYTES + 1) + b"\n"


def test_every_server_has_a_log_file_of_its_own() -> None:
    names = ["git", "Git", "GIT", "my server", "my/server", "天気", "地図"]
    assert file_name("git") == "git.log"
    assert len({file_name(name).casefold() for name in names}) == len(names)
    assert all(file_name(name).isascii() and "/" not in file_name(name) for name in names)


@pytest.mark.parametrize("name", ["con", "nul", "AUX", "com1", "LPT9"])
def test_no_log_file_is_a_device_of_windows(name: str) -> None:
    assert file_name(name).partition(".")[0].casefold() not in ("con", "nul", "aux", "com1", "lpt9")
