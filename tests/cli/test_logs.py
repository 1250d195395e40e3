"""What servers wrote to their stderr: the last of it, and what they write on."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.conftest import COMMAND, SECONDS, Place, log, server
from search_mcp.cli.logs import LogFile
from search_mcp.config import ServerConfig

BOX = ServerConfig(name="box", command="x", secrets=frozenset({"s3cr3t"}))
Configured = Callable[..., Place]


def test_the_last_lines_come_of_the_older_file_too(tmp_path: Path) -> None:
    (tmp_path / "box.old.log").write_text("1\n2\n3\n")
    (tmp_path / "box.log").write_text("4\r\n5\nunfini")
    box = LogFile(BOX, tmp_path)
    assert box.last_lines(4) == ["2", "3", "4", "5"]
    assert box.rest() == ["unfini"]


def test_what_is_written_on(tmp_path: Path) -> None:
    path = tmp_path / "box.log"
    box = LogFile(BOX, tmp_path)
    assert box.last_lines(5) == []
    path.write_text("one\ntw")
    assert box.new_lines() == ["one"]
    with path.open("a") as file:
        file.write("o s3cr3t\nthree\n")
    assert box.new_lines() == ["two ***", "three"]
    assert box.new_lines() == []


def test_nothing_is_lost_when_the_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "box.log"
    path.write_text("one\ntw")
    box = LogFile(BOX, tmp_path)
    assert box.last_lines(5) == ["one"]
    with path.open("a") as file:
        file.write("o\nthree\nfo")
    path.replace(tmp_path / "box.old.log")
    path.write_text("ur\nfive\n")
    assert box.new_lines() == ["two", "three", "four", "five"]


def test_a_file_that_is_gone_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "box.log"
    path.write_text("one\n")
    box = LogFile(BOX, tmp_path)
    assert box.last_lines(5) == ["one"]
    path.unlink()
    assert box.new_lines() == []
    path.write_text("two\n")
    assert box.new_lines() == ["two"]


def test_of_all_servers_and_of_one(toolbox: Place) -> None:
    log(toolbox, "toolbox").write_text("one\ntwo\nunfinished")
    log(toolbox, "dying").write_text("no licence\n")
    ended = toolbox.run("logs")
    assert (ended.code, ended.err) == (0, "")
    assert sorted(ended.out.splitlines()) == [
        "dying | no licence",
        "toolbox | one",
        "toolbox | two",
        "toolbox | unfinished",
    ]
    assert toolbox.run("logs", "toolbox", "--lines", "1").out == "two\nunfinished\n"
    lines = [json.loads(line) for line in toolbox.run("logs", "dying", "--json").out.splitlines()]
    assert lines == [{"server": "dying", "line": "no licence"}]


def test_where_there_are_none(toolbox: Place) -> None:
    ended = toolbox.run("logs")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("error: there are no logs in ")


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT is sent to one process")
@pytest.mark.parametrize("words", [["toolbox"], ["toolbox", "--json"]])
def test_following_into_a_pipe_ends_with_sigint(toolbox: Place, words: list[str]) -> None:
    path = log(toolbox, "toolbox")
    path.write_text("before\n")
    with subprocess.Popen(
        [*COMMAND, "logs", "--follow", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=toolbox.folder,
        env=toolbox.variables,
    ) as process:
        assert process.stdout is not None
        assert b"before" in process.stdout.readline()
        with path.open("a") as file:
            file.write("now\n")
        assert b"now" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=SECONDS) == (b"", b"")
    assert process.returncode == 130


@pytest.mark.parametrize("words", [["logs"], ["logs", "toolbox"], ["logs", "--json"]])
def test_they_neither_write_to_the_terminal_nor_tell_secrets(configured: Configured, words: list[str]) -> None:
    place = configured(toolbox=server("toolbox", env={"KEY": "s3cr3t"}))
    log(place, "toolbox").write_bytes(b"\x1b[31mred s3cr3t\x1b]0;title\x07 10%\r20%\xff \xe2\x80\xae\n")
    said = place.run(*words).out
    assert "red ***" in said
    assert not [character for character in said if character < " " and character != "\n"]
    assert "\u202e" not in said
