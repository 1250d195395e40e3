"""The process that counts tokens: the real tiktoken, and programs that fail in place of ours."""

import logging
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import tiny_encoding

from search_mcp.gateway.token_counter import RETRY_SECONDS, TokenCounter
from search_mcp.gateway.token_counting import ENCODING_FILE

pytest.importorskip("tiktoken", reason="an extra")

SECONDS = 60  # reached only by a failure, even on a busy machine


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the encoding, for processes with the plugin."""
    monkeypatch.setenv("PYTHONPATH", tiny_encoding.PLUGIN)
    tiny_encoding.store(tmp_path / "encodings")
    return tmp_path / "encodings"


@pytest.fixture
def made() -> Iterator[list[TokenCounter]]:
    counters: list[TokenCounter] = []
    yield counters
    for each in counters:
        each.close()


@pytest.fixture
def counter(folder: Path, made: list[TokenCounter]) -> TokenCounter:
    made.append(TokenCounter(folder, seconds=SECONDS))
    return made[0]


def process(counter: TokenCounter) -> "subprocess.Popen[bytes]":
    running = counter._process
    assert running is not None
    return running


def test_tokens_of_texts_are_counted(counter: TokenCounter) -> None:
    assert counter.is_available()
    assert counter.count([b"word word", "日本".encode(), b"", b"<|endoftext|>", b"cut\xe6\x97"]) == [3, 6, 0, 13, 3]
    first = process(counter)
    assert counter.count([b"word"]) == [1]
    assert process(counter) is first


def test_a_batch_that_is_as_large_as_it_may_be_is_counted(counter: TokenCounter) -> None:
    texts = [b"word " * 13_107 + bytes([65 + number]) for number in range(63)]
    assert counter.count(texts) == [2 * 13_107 + 1] * 63


@pytest.mark.skipif(os.name != "posix", reason="there, the options of its start have the priority")
def test_the_process_has_a_low_priority(counter: TokenCounter) -> None:
    counter.count([b"word"])
    assert os.getpriority(os.PRIO_PROCESS, process(counter).pid) == 19


def test_the_process_ends_without_work_and_is_started_again(folder: Path, made: list[TokenCounter]) -> None:
    counter = TokenCounter(folder, seconds=SECONDS, idle_seconds=0.01)
    made.append(counter)
    for _ in range(2):
        assert counter.count([b"word"]) == [1]
        assert counter._idle is not None
        counter._idle.join(SECONDS)
        assert counter._process is None


PARENT = """
import sys, time
from pathlib import Path
from search_mcp.gateway.token_counter import TokenCounter
counter = TokenCounter(Path(sys.argv[1]), (sys.executable, "-c", sys.argv[2], sys.argv[3]), seconds=60)
assert counter.count([b"word"]) == [1]
print("counted", flush=True)
time.sleep(600)
"""
CONNECTED = """
import socket, sys
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
from search_mcp.gateway.token_counting import main
main()
"""


def test_the_process_ends_when_the_one_that_started_it_is_killed(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(SECONDS)
        port = str(listening.getsockname()[1])
        words = [sys.executable, "-c", PARENT, str(folder), CONNECTED, port]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as parent, listening.accept()[0] as of_child:
            assert parent.stdout is not None
            assert parent.stdout.readline().strip() == b"counted"
            parent.kill()
            of_child.settimeout(SECONDS)
            assert of_child.recv(1) == b""


def test_nothing_is_counted_without_an_encoding_on_the_disk(tmp_path: Path, made: list[TokenCounter]) -> None:
    made.append(TokenCounter(tmp_path))
    assert not made[0].is_available()
    made[0].start()
    assert made[0].count([b"word"]) == [None]
    assert made[0]._process is None


def test_nothing_is_counted_without_tiktoken(counter: TokenCounter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    assert not counter.is_available()
    assert counter.count([b"word"]) == [None]


def test_a_damaged_encoding_is_not_downloaded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, made: list[TokenCounter]
) -> None:
    """tiktoken removes it, and would download it; the file has the name that tiktoken looks for."""
    (tmp_path / ENCODING_FILE).write_text("damaged")
    made.append(TokenCounter(tmp_path, seconds=SECONDS))
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.getsockname()[1]}")
        assert made[0].count([b"word"]) == [None]
        assert not (tmp_path / ENCODING_FILE).exists()
        proxy.setblocking(False)
        with pytest.raises(BlockingIOError):
            proxy.accept()
    assert "tokens of results are not counted" in caplog.text


ANSWERS = "import sys; sys.stdin.readline(); print({!r}, flush=True); sys.stdin.read()"

ENDLESS = "while True: print('1', end='', flush=True)"


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ((sys.executable, "-c", ""), "has ended|Broken pipe|Invalid argument"),
        ((sys.executable, "-c", "import os, sys; sys.stdin.readline(); os.abort()"), "has ended|Broken pipe"),
        ((sys.executable, "-c", "import sys; sys.stdin.readline(); sys.stdin.read()"), "more than 0.5 s"),
        ((sys.executable, "-c", "import time; time.sleep(600)"), "more than 0.5 s"),
        ((sys.executable, "-c", ANSWERS.format("no number")), "a wrong answer"),
        ((sys.executable, "-c", ANSWERS.format("1 1 1 1 1")), "a wrong answer"),
        ((sys.executable, "-c", ANSWERS.format("5")), "a wrong answer"),
        ((sys.executable, "-c", ANSWERS.format("-1")), "a wrong answer"),
        ((sys.executable, "-c", ENDLESS), "a wrong answer"),
        ((sys.executable, "-c", ANSWERS.format("")), "a wrong answer"),
        (("/nonexistent/program",), "nonexistent|cannot find"),
    ],
    ids=["ends", "crashes", "hangs", "reads nothing", "garbage", "many", "high", "low", "endless", "empty", "missing"],
)
def test_a_failure_costs_one_warning_and_the_counts_of_ten_minutes(
    program: tuple[str, ...], why: str, folder: Path, made: list[TokenCounter], caplog: pytest.LogCaptureFixture
) -> None:
    now = [0.0]
    limit = 0.5 if "0.5 s" in why else SECONDS
    counter = TokenCounter(folder, program, seconds=limit, clock=lambda: now[0])
    made.append(counter)
    text = [b"word"] if limit == SECONDS else [b"word" * 1_000_000]
    for _ in range(2):
        assert counter.count(text) == [None]
        assert not counter.is_available()
        assert counter._process is None
        now[0] += RETRY_SECONDS
        assert counter.is_available()
    (warning,) = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert warning.startswith("! tokens of results are not counted: ")
    assert re.search(why, warning)


@pytest.fixture
def hanging(folder: Path, made: list[TokenCounter]) -> TokenCounter:
    """A counter that would wait for its process for hours."""
    counter = TokenCounter(folder, (sys.executable, "-c", "import time; time.sleep(9000)"), seconds=9000)
    made.append(counter)
    counter.start()
    return counter


def test_a_process_that_hangs_is_ended_at_the_end(hanging: TokenCounter, caplog: pytest.LogCaptureFixture) -> None:
    hanging.end_soon()
    assert hanging.count([b"word"]) == [None]
    assert not hanging.is_available()
    hanging.start()
    assert hanging._process is None
    assert not caplog.records


def test_a_count_that_hangs_ends_at_the_end(hanging: TokenCounter, caplog: pytest.LogCaptureFixture) -> None:
    counts: list[Sequence[int | None]] = []
    counting = threading.Thread(target=lambda: counts.append(hanging.count([b"word"])))
    counting.start()
    hanging.end_soon()
    counting.join(SECONDS)
    assert counts == [[None]]
    assert not caplog.records
