"""The last lines of stderr logs, and new lines."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.conftest import COMMAND, SECONDS, Place, log, server
from search_mcp.cli.logs import Line, of_one, show_last
from search_mcp.config.schema import ServerConfig

BOX = ServerConfig(name="box", command="x", secrets=frozenset({"s3cr3t"}))
Configured = Callable[..., Place]


def texts(lines: list[Line]) -> list[str]:
    return [line.text for line in lines]


def merged(folder: Path, count: int, logs: dict[str, str]) -> list[str]:
    """Return the lines shown of the logs of several servers."""
    for name, text in logs.items():
        (folder / f"{name}.log").write_text(text)
    shown: list[str] = []
    files = [of_one(ServerConfig(name=name, command="x"), folder) for name in logs]
    show_last(files, count, lambda of, line: shown.append(f"{of} {line.time and line.time[-3:-1]} {line.text}"))
    return shown


def at(second: int, text: str) -> str:
    return f"2026-11-22T18:56:{second:02}Z {text}\n"


def test_several_servers_in_order_of_time(tmp_path: Path) -> None:
    a = at(1, "one") + at(4, "four") + at(3, "the clock went back")
    shown = merged(tmp_path, 50, {"a": a, "b": at(2, "two") + at(5, "five")})
    assert shown == ["a 01 one", "b 02 two", "a 04 four", "a 03 the clock went back", "b 05 five"]


def test_a_line_without_a_time_stays_behind_the_line_before_it(tmp_path: Path) -> None:
    logs = {"a": at(1, "one") + at(3, "three") + "more\nstill more\n", "b": at(2, "two") + at(4, "four"), "c": "old\n"}
    assert merged(tmp_path, 50, logs) == [
        "c None old",
        "a 01 one",
        "b 02 two",
        "a 03 three",
        "a None more",
        "a None still more",
        "b 04 four",
    ]
    assert merged(tmp_path, 2, logs) == ["a None more", "a None still more", "c None old", "b 02 two", "b 04 four"]
    assert merged(tmp_path, 0, logs) == []


def test_the_last_lines_include_the_older_file(tmp_path: Path) -> None:
    (tmp_path / "box.old.log").write_text("1\n2\n3\n")
    (tmp_path / "box.log").write_text("4\r\n5\nunfini")
    box = of_one(BOX, tmp_path)
    assert texts(box.last_lines(4)) == ["2", "3", "4", "5"]
    assert texts(box.rest()) == ["unfini"]


def test_new_lines_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "box.log"
    box = of_one(BOX, tmp_path)
    assert texts(box.last_lines(5)) == []
    path.write_text("one\ntw")
    assert texts(box.new_lines()) == ["one"]
    with path.open("a") as file:
        file.write("o s3cr3t\nthree\n")
    assert texts(box.new_lines()) == ["two ***", "three"]
    assert texts(box.new_lines()) == []


def test_nothing_is_lost_when_the_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "box.log"
    path.write_text("one\ntw")
    box = of_one(BOX, tmp_path)
    assert texts(box.last_lines(5)) == ["one"]
    with path.open("a") as file:
        file.write("o\nthree\nfo")
    path.replace(tmp_path / "box.old.log")
    path.write_text("ur\nfive\n")
    assert texts(box.new_lines()) == ["two", "three", "four", "five"]


def test_a_deleted_file_is_created_again(tmp_path: Path) -> None:
    path = tmp_path / "box.log"
    path.write_text("one\n")
    box = of_one(BOX, tmp_path)
    assert texts(box.last_lines(5)) == ["one"]
    path.unlink()
    assert texts(box.new_lines()) == []
    path.write_text("two\n")
    assert texts(box.new_lines()) == ["two"]


def test_of_all_servers_and_of_one(toolbox: Place) -> None:
    log(toolbox, "toolbox").write_text("one\ntwo\nunfinished")
    log(toolbox, "dying").write_text(at(9, "no licence"))
    ended = toolbox.run("logs", TZ="EST5")
    folder = log(toolbox, "toolbox").parent
    assert (ended.code, " ".join(ended.err.split())) == (0, f"From {folder}; --follow shows new lines.")
    assert ended.out.splitlines() == [
        "toolbox | one",
        "toolbox | two",
        "toolbox | unfinished",
        "2026-11-22 13:56:09 dying | no licence",
    ]
    assert toolbox.run("logs", "toolbox", "--lines", "1").out == "two\nunfinished\n"
    assert toolbox.run("logs", "dying", TZ="EST5").out == "2026-11-22 13:56:09 no licence\n"
    ended = toolbox.run("logs", "dying", "--json")
    lines = [json.loads(line) for line in ended.out.splitlines()]
    assert ended.err == ""
    assert lines == [{"server": "dying", "time": "2026-11-22T18:56:09Z", "line": "no licence"}]


def test_logs_without_files(toolbox: Place) -> None:
    ended = toolbox.run("logs")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("error: there are no logs yet in ")
    log(toolbox, "dying").write_text("no licence\n")
    assert toolbox.run("logs", "toolbox").err.startswith("error: toolbox has no log yet in ")


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
def test_texts_are_cleaned_and_secrets_hidden(configured: Configured, words: list[str]) -> None:
    place = configured(toolbox=server("toolbox", env={"KEY": "s3cr3t"}))
    log(place, "toolbox").write_bytes(b"\x1b[31mred s3cr3t\x1b]0;title\x07 10%\r20%\xff \xe2\x80\xae\n")
    said = place.run(*words).out
    assert "red ***" in said
    assert not [character for character in said if character < " " and character != "\n"]
    assert "\u202e" not in said
