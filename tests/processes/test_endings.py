"""All processes exit with search-mcp, for every kind of exit. Every run also checks that no process is left."""

import os
import signal
import sys
from pathlib import Path

import pytest
from wire_log import Unjudged

from processes.conftest import Serve
from processes.run import SECONDS, Json, Run, server

UP = ("well_behaved", "forks_a_grandchild", "ignores_eof_and_sigterm", "leaves_stubborn_children")
ALL = {name: server(name) for name in (*UP, "hangs_in_start")}
SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name)]
posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals that a process could act on")


def _is_up(run: Run) -> None:
    run.opens()
    for name in UP:
        assert run.calls(f"{name}.echo", words="up") == "up"


def test_the_end_of_stdin_ends_everything(serve: Serve) -> None:
    with serve(ALL, firstListSeconds=0.1) as run:
        _is_up(run)
        run.close_stdin()
        assert run.ended() == 0


@posix
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_ends_everything(serve: Serve, number: signal.Signals) -> None:
    with serve(ALL, firstListSeconds=0.1) as run:
        _is_up(run)
        run.process.send_signal(number)
        assert run.ended() == 128 + number


@posix
def test_two_signals_end_everything_too(serve: Serve) -> None:
    with serve(ALL, firstListSeconds=0.1) as run:
        _is_up(run)
        run.process.send_signal(signal.SIGINT)
        run.process.send_signal(signal.SIGTERM)
        assert run.ended() in (128 + signal.SIGINT, 128 + signal.SIGTERM)


PATIENT = """
from search_mcp.fronts import serve
from search_mcp.backends.process import child

serve.LAST_ANSWERS_SECONDS = child.CLOSE_SECONDS = child.TERM_SECONDS = 3600.0
"""


@pytest.fixture
def patient(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Environment in which a run waits for servers and for answers until it receives a signal."""
    folder = tmp_path_factory.mktemp("patient")
    (folder / "sitecustomize.py").write_text(PATIENT)
    return {"PYTHONPATH": str(folder)}


@posix
def test_a_signal_takes_effect_at_once_while_a_server_is_slow_to_exit(serve: Serve, patient: dict[str, str]) -> None:
    with serve({"slow": server("stays_after_eof")}, patient) as run:
        run.opens()
        assert run.calls("slow.echo", words="up") == "up"
        run.close_stdin()
        run.waits_until((run.folder / "stays").exists)
        run.process.send_signal(signal.SIGTERM)
        assert run.ended() == 128 + signal.SIGTERM


@posix
def test_a_signal_takes_effect_at_once_while_the_last_answers_are_waited_for(
    serve: Serve, patient: dict[str, str]
) -> None:
    with serve({"told": server("does_as_told")}, patient) as run:
        run.opens()
        call = run.sends("tools/call", name="told.echo", arguments={"words": "hang"})
        run.close_stdin()
        run.logs("= the client is gone")
        run.process.send_signal(signal.SIGTERM)
        assert run.answer(call)["error"]["code"] == -32000
        assert run.ended() == 128 + signal.SIGTERM


@posix
def test_a_second_signal_kills_servers_that_ignored_the_first(serve: Serve, patient: dict[str, str]) -> None:
    with serve({"stubborn": server("ignores_eof_and_sigterm")}, patient) as run:
        run.opens()
        assert run.calls("stubborn.echo", words="up") == "up"
        run.process.send_signal(signal.SIGTERM)
        run.logs("= SIGTERM came")
        run.process.send_signal(signal.SIGINT)
        assert run.ended() == 128 + signal.SIGTERM


HANGS = """
import re, sys
from search_mcp.fronts import serve

class Hanging(serve.Client):
    def on_bytes(self, chunk):
        super().on_bytes(chunk)
        if b'"hang"' in chunk:
            sys.stderr.write("= hangs\\n")
            sys.stderr.flush()
            re.match("(a+)+$", "a" * 60 + "b")  # until the end of time, in C

serve.Client = Hanging
"""


@posix
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_ends_everything_while_the_event_loop_is_blocked(
    serve: Serve, tmp_path_factory: pytest.TempPathFactory, number: signal.Signals
) -> None:
    """No Python handler runs then; a parent that waits sees an exit, and no server is left."""
    folder = tmp_path_factory.mktemp("hanging")
    (folder / "sitecustomize.py").write_text(HANGS)
    with serve(ALL, {"PYTHONPATH": str(folder)}, firstListSeconds=0.1) as run:
        _is_up(run)
        run.says({"method": "hang"})
        run.logs("= hangs")
        run.process.send_signal(number)
        assert run.process.wait(SECONDS / 4) == -signal.SIGKILL
        run.ended()


STUCK = """
import socket, threading
from pathlib import Path
from search_mcp.config import location

def wait(*_):
    Path("stuck").touch()
    threading.Event().wait()

def read(*given):
    return reads.pop(0)(*given)

reads = [location.read, wait]
location.read, socket.getaddrinfo = read, wait
"""


@posix
@pytest.mark.parametrize(
    ("servers", "code"),
    [({}, 128 + signal.SIGTERM), ({"far": {"url": "https://mcp.example.com/mcp"}}, -signal.SIGKILL)],
    ids=["the configuration is read", "a name is looked up"],
)
def test_a_signal_ends_everything_while_a_thread_waits(
    serve: Serve, tmp_path_factory: pytest.TempPathFactory, servers: dict[str, Json], code: int
) -> None:
    folder = tmp_path_factory.mktemp("stuck")
    (folder / "sitecustomize.py").write_text(STUCK)
    with serve(servers, {"PYTHONPATH": str(folder)}, firstListSeconds=0.1) as run:
        run.opens()
        run.waits_until((run.folder / "stuck").exists)
        run.process.terminate()
        assert run.ended() == code


@posix
def test_a_signal_takes_effect_although_the_client_does_not_read(serve: Serve) -> None:
    with serve({"bad": server("floods_stdout")}) as run:
        run.opens()
        run.asks("tools/list")
        run.stops_reading()
        run.sends("tools/call", name="bad.flood", arguments={"size": 64 << 20})
        run.waits_until((run.folder / "stuck").exists)
        run.process.send_signal(signal.SIGTERM)
        assert run.process.wait(SECONDS) == 128 + signal.SIGTERM
        run.log = Unjudged()  # the unread output was cut off inside a line


@posix
def test_nothing_is_left_even_if_we_are_killed(serve: Serve) -> None:
    """ "whatever happens to us, nothing is left behind"."""
    with serve(ALL, firstListSeconds=0.1) as run:
        _is_up(run)
        run.process.kill()
        run.ended()


@posix
def test_nothing_is_left_if_we_are_killed_while_we_stop_everything(serve: Serve) -> None:
    with serve(ALL, firstListSeconds=0.1) as run:
        _is_up(run)
        run.process.send_signal(signal.SIGTERM)
        run.process.kill()
        run.ended()


@posix
def test_nothing_is_left_if_we_are_killed_while_a_server_ignores_sigterm(serve: Serve) -> None:
    with serve(ALL, firstListSeconds=0.1) as run:
        _is_up(run)
        run.close_stdin()
        run.logs("ignored SIGTERM")
        run.process.kill()
        run.ended()


@posix
@pytest.mark.parametrize("started", range(4))
def test_nothing_is_left_if_we_are_killed_while_everything_starts(serve: Serve, started: int) -> None:
    """`started` servers are running; the next one is being started."""
    names = [f"server {number}" for number in range(4)]
    with serve({name: server("ignores_eof_and_sigterm") for name in names}) as run:
        info = {"name": "a client", "version": "1"}
        run.sends("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=info)
        for name in names[:started]:
            run.logs(f"{name}: started, pid=")
        run.process.kill()
        run.ended()


@posix
@pytest.mark.parametrize("unread", [0, 10 << 20])
def test_a_daemon_of_a_backend_is_neither_killed_nor_waited_for(serve: Serve, unread: int) -> None:
    """It inherits its parent's pipes; neither open pipes nor unread data in them delay our exit."""
    with serve({"bad": server("leaves_a_daemon")}) as run:
        run.opens()
        daemon = int(run.calls("bad.daemon"))
        if unread:
            calls = [run.sends("tools/call", name="bad.stop")]
            calls += [run.sends("tools/call", name="bad.echo", arguments={"words": "x" * unread})]
            for each in calls:
                run.cancels(each)
        run.close_stdin()
        assert run.process.wait(SECONDS) == 0
        os.kill(daemon, signal.SIGKILL)  # raises if it has exited


def test_requests_before_the_end_of_stdin_are_answered(serve: Serve) -> None:
    """As in `printf ... | search-mcp`."""
    with serve({"good": ALL["well_behaved"]}) as run:
        info = {"name": "a shell", "version": "1"}
        first = run.sends("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=info)
        ids = [first, run.sends("tools/list"), run.sends("tools/call", name="good.echo", arguments={"words": "x"})]
        run.close_stdin()
        answers = [run.answer(each) for each in ids]
        assert answers[2]["result"]["content"][0]["text"] == "x"
        assert run.ended() == 0


def test_the_end_of_stdin_at_once_ends_everything(serve: Serve) -> None:
    with serve(ALL) as run:
        run.close_stdin()
        assert run.ended() == 0


def test_the_end_of_stdin_while_everything_starts_leaves_nothing(serve: Serve) -> None:
    with serve(ALL) as run:
        run.opens()
        run.close_stdin()
        assert run.ended() == 0


@posix
@pytest.mark.parametrize("number", SIGNALS[:1], ids=lambda number: number.name)
def test_a_signal_while_everything_starts_leaves_nothing(serve: Serve, number: signal.Signals) -> None:
    with serve(ALL) as run:
        run.opens()
        run.process.send_signal(number)
        run.ended()


# stdout is reserved for the protocol


SPEAKS = """
import os, sys

def speak(event, args):
    if event == "subprocess.Popen":
        print("a library's words")
        sys.__stdout__.write("a library's words\\n")
        sys.__stdout__.flush()
        os.write(1, b"a library's words\\n")

sys.addaudithook(speak)
"""


def test_output_of_a_library_does_not_reach_stdout(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> None:
    """`sitecustomize` stands in for any library; it prints when the first backend is started."""
    folder = tmp_path_factory.mktemp("library")
    (folder / "sitecustomize.py").write_text(SPEAKS)
    with serve({"good": ALL["well_behaved"]}, {"PYTHONPATH": str(folder)}) as run:
        run.opens()
        assert run.calls("good.echo", words="x") == "x"
    assert run.stderr.count(b"a library's words") >= 3


# Invalid configurations


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not valid JSON"),
        ("[]", "object"),
        ('{"mcpServers": []}', "mcpServers"),
        ('{"mcpServers": {"a": {"command": 7}}}', "command"),
        ('{"servers": {}}', "mcpServers"),
        ('{"mcpServers": {}, "settings": {"listing": "loud"}}', "listing"),
    ],
)
def test_an_invalid_configuration_is_reported_once(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "mcp-servers.json"
    path.write_text(text)
    _is_told(Run(tmp_path, path), str(path), words)


def test_a_configuration_that_is_not_there_is_named(tmp_path: Path) -> None:
    _is_told(Run(tmp_path, tmp_path / "nothing.json"), str(tmp_path / "nothing.json"), "no such file")


@posix
def test_a_configuration_that_is_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    _is_told(Run(tmp_path, tmp_path / "folder.json"), str(tmp_path / "folder.json"), "")


def test_a_configuration_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "binary.json"
    path.write_bytes(b"\xff\xfe\x00\x01")
    _is_told(Run(tmp_path, path), str(path), "")


def _is_told(run: Run, path: str, words: str) -> None:
    with run:
        info = {"name": "a client", "version": "1"}
        asked = run.sends("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=info)
        error = run.answer(asked)["error"]
        assert error["code"] == -32000
        assert path in error["message"]
        assert words in error["message"]
        run.logs(path)
        run.close_stdin()
        assert run.ended() == 2
        assert run.others == []
    assert run.stderr.count(path.encode()) == 1
    assert b"Traceback" not in run.stderr


# Clients that send invalid messages


def test_an_invalid_message_is_answered_and_the_next_one_served(serve: Serve) -> None:
    with serve({"good": ALL["well_behaved"]}) as run:
        run.writes(b"GET / HTTP/1.1\n")
        assert run.answer(None)["error"]["code"] == -32700
        run.writes(b"\xff\xfe\x00\n")
        assert run.answer(None)["error"]["code"] == -32700
        run.writes(b"\n  \n\r\n")
        run.writes(b"7\n")
        assert run.answer(None)["error"]["code"] == -32600
        run.opens()
        assert run.calls("good.echo", words="x") == "x"


def test_messages_may_come_byte_by_byte_and_many_at_once(serve: Serve) -> None:
    with serve({"good": ALL["well_behaved"]}) as run:
        run.opens()
        run.asks("tools/list")
        run.log.sent(b'{"jsonrpc":"2.0","id":"slow","method":"ping"}')
        assert run.process.stdin is not None
        for byte in b'{"jsonrpc":"2.0","id":"slow","method":"ping"}\r\n':
            run.process.stdin.write(bytes([byte]))
            run.process.stdin.flush()
        assert run.next() == {"jsonrpc": "2.0", "id": "slow", "result": {}}
        ids = [run.sends("tools/call", name="good.echo", arguments={"words": str(n)}) for n in range(500)]
        assert [run.answer(each)["result"]["content"][0]["text"] for each in ids] == [str(n) for n in range(500)]
