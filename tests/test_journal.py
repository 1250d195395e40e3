"""A backend's stderr: the end of it is kept, its file is limited, and may be written by several of us."""

import subprocess
import sys
from pathlib import Path

import pytest

from search_mcp.backend.journal import FILE_BYTES, LINE_BYTES, TAIL_BYTES, Journal, file_name


def test_the_end_is_kept_whatever_came_before() -> None:
    journal = Journal(None)
    for number in range(2000):
        journal.write(b"line %d\n" % number)
    assert journal.tail().endswith("line 1999")
    assert len(journal.tail()) <= TAIL_BYTES


def test_a_file_is_limited_and_one_older_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "s.log"
    journal = Journal(path)
    for _ in range(5):
        journal.write(b"x" * (FILE_BYTES // 2) + b"\n")
    sizes = {each.name: each.stat().st_size for each in path.parent.iterdir()}
    assert sizes.keys() == {"s.log", "s.old.log"}
    assert all(size <= 2 * FILE_BYTES for size in sizes.values())


def test_a_folder_that_cannot_be_written_costs_the_file_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "taken").write_text("a file, not a folder")
    journal = Journal(tmp_path / "taken" / "s.log")
    journal.write(b"last\n")
    journal.write(b"words\n")
    assert journal.tail() == "last\nwords"
    assert caplog.text.count("cannot be written") == 1
    (tmp_path / "taken").unlink()
    journal.write(b"written again\n")
    assert (tmp_path / "taken" / "s.log").read_bytes() == b"written again\n"


def test_what_another_of_us_put_aside_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "s.log"
    ours, theirs = Journal(path), Journal(path)
    ours.write(b"o" * (FILE_BYTES - 1) + b"\n")
    theirs.write(b"t\n")
    ours.write(b"ours\n")
    theirs.write(b"theirs\n")
    assert path.read_bytes() == b"ours\ntheirs\n"
    assert path.with_suffix(".old.log").read_bytes() == b"o" * (FILE_BYTES - 1) + b"\nt\n"


WRITER = """
import sys
from pathlib import Path
from search_mcp.backend.journal import Journal
journal = Journal(Path(sys.argv[1]))
for number in range(3000):
    journal.write(f"{sys.argv[2]} {number} {'x' * 90}\\n".encode())
"""


def test_several_of_us_write_one_file_and_no_line_is_lost_or_torn(tmp_path: Path) -> None:
    path = tmp_path / "s.log"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in "abc"]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    lines = [f"{name} {number} {'x' * 90}" for name in "abc" for number in range(3000)]
    assert sorted(path.read_text().splitlines()) == sorted(lines)


def test_a_secret_reaches_the_file_in_no_piece(tmp_path: Path) -> None:
    path = tmp_path / "s.log"
    journal = Journal(path, {"s3cret", "s3cret-and-more"})
    for piece in (b"token s3c", b"ret, then s3cret-and", b"-more\nnext ", b"s3cret"):
        journal.write(piece)
    journal.close()
    assert path.read_bytes() == b"token ***, then ***\nnext ***"


def test_a_secret_that_is_no_utf_8_reaches_the_file_neither(tmp_path: Path) -> None:
    secret = b"s3cr3t-\xfc"
    journal = Journal(tmp_path / "s.log", [secret.decode(errors="surrogateescape")])
    journal.write(b"no " + secret + b"\n")
    assert (tmp_path / "s.log").read_bytes() == b"no ***\n"


def test_a_line_without_end_is_written_all_the_same(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "s.log")
    journal.write(b"x" * (LINE_BYTES + 1))
    assert (tmp_path / "s.log").stat().st_size == LINE_BYTES + 1


def test_every_server_has_a_log_file_of_its_own() -> None:
    names = ["git", "Git", "GIT", "my server", "my/server", "天気", "地図"]
    assert file_name("git") == "git.log"
    assert len({file_name(name).casefold() for name in names}) == len(names)
    assert all(file_name(name).isascii() and "/" not in file_name(name) for name in names)


@pytest.mark.parametrize("name", ["con", "nul", "AUX", "com1", "LPT9"])
def test_no_log_file_is_a_device_of_windows(name: str) -> None:
    assert file_name(name).partition(".")[0].casefold() not in ("con", "nul", "aux", "com1", "lpt9")
