"""Calls through a running engine: the same results as without, and what they leave behind."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import COMMAND, SECONDS, Ended, Place, log, server
from cli.conftest import SERVERS as SERVERS_FOLDER

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the sockets of POSIX")

OPENING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a client", "version": "1"}}
SERVERS = {
    "box": server("toolbox", share=True),
    "own": server("toolbox"),
    "dying": server("dying"),
    "off": server("toolbox", disabled=True),
    "secret": server("toolbox", "sesame-4711", env={"TOKEN": "sesame-4711"}, share=True),
}
SAME = [
    ("call", "box.echo", "text=hello"),
    ("call", "box.add", "a=1", "b=2.5", "--json"),
    ("call", "box_measure", "--client", "cursor"),
    ("call", "box.fail", "--json"),
    ("call", "box.refuse"),
    ("call", "box.refuse", "--json"),
    ("call", "box.add", "a=words"),
    ("call", "box.nothing"),
    ("call", "own.echo", "text=private"),
    ("call", "dying.anything"),
    ("call", "off.echo"),
    ("call", "secret.echo", "text=sesame-4711"),
]


@pytest.fixture
def shared(place: Place) -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="search-mcp-") as runtime:  # short, as the path of a socket has to be
        place.variables["XDG_RUNTIME_DIR"] = runtime
        place.configure(SERVERS, engine="shared")
        yield place
        place.run("engine", "stop")


@contextmanager
def client(place: Place) -> Iterator[subprocess.Popen[bytes]]:
    """Run a client, which starts the engine; it asks for nothing, so it starts no server that starts with a call."""
    with subprocess.Popen(
        [*COMMAND, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=place.variables, cwd=place.folder
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        asks(running, "initialize", **OPENING)
        yield running
        running.stdin.close()
        running.stdout.read()


def asks(client: subprocess.Popen[bytes], method: str, **params: Any) -> None:
    """Send a request, and wait for the answer."""
    assert client.stdin is not None
    assert client.stdout is not None
    client.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
    client.stdin.flush()
    while "id" not in json.loads(client.stdout.readline()):
        pass


def engine(place: Place) -> dict[str, Any]:
    (found,) = place.run("engine", "status", "--json").json["engines"]
    return dict(found)


def test_the_result_of_a_call_is_the_same_with_and_without_the_engine(shared: Place) -> None:
    def result(words: tuple[str, ...]) -> Ended:
        ended = shared.run(*words)
        return Ended(ended.code, json.dumps(ended.json), ended.err) if "--json" in words else ended

    alone = [result(words) for words in SAME]
    with client(shared):
        assert [result(words) for words in SAME] == alone
    assert [ended.code for ended in alone] == [0, 0, 0, 1, 1, 1, 2, 1, 0, 1, 1, 0]


def test_calls_of_a_shared_server_use_one_process_and_those_of_a_private_one_leave_none(shared: Place) -> None:
    with client(shared) as legacy:
        asks(legacy, "tools/list")  # its servers have started
        shared.run("call", "box.echo", "text=a")
        before = shared.processes()
        shared.run("call", "box.echo", "text=b")
        shared.run("call", "own.echo", "text=b")
        deadline = time.monotonic() + SECONDS
        # A command does not wait for the end of a private server, and a server that exits is started again and again.
        while not (after := shared.processes()) <= before:
            assert time.monotonic() < deadline, (before, after)
            time.sleep(0.01)


@pytest.mark.parametrize("words", [("status",), ("status", "--json"), ("stop",)])
def test_engines_in_a_folder_of_others_are_not_asked(shared: Place, words: tuple[str, ...]) -> None:
    folder = Path(shared.variables["XDG_RUNTIME_DIR"], "search-mcp")
    folder.mkdir()
    folder.chmod(0o777)
    ended = shared.run("engine", *words)
    assert (ended.code, ended.out) == (1, "")
    said = f"no shared engine can be found: other users may use {folder}; remove it, or make it a folder for you alone"
    assert " ".join(ended.err.split()) == f"error: {said}"
    folder.rmdir()


def test_an_engine_does_not_wait_for_a_pipe_in_the_place_of_its_log(shared: Place) -> None:
    path = log(shared, "engine").parent / "engine" / "engine.log"
    path.parent.mkdir()
    os.mkfifo(path)
    with client(shared):
        assert engine(shared)["pid"] > 0


def test_a_server_that_does_not_run_in_the_engine_is_reported_as_without_one(shared: Place, tmp_path: Path) -> None:
    script = tmp_path / "box.py"
    script.write_text((SERVERS_FOLDER / "toolbox.py").read_text("utf-8"), "utf-8")
    shared.configure({"box": {"command": sys.executable, "args": [str(script)], "share": True}}, engine="shared")
    assert shared.run("call", "box.echo", "text=a").code == 0
    script.write_text("raise SystemExit('no licence')", "utf-8")
    alone = shared.run("call", "box.echo", "text=a")
    assert "no licence" in alone.err
    with client(shared):
        assert shared.run("call", "box.echo", "text=a") == alone


def test_no_command_starts_an_engine(shared: Place) -> None:
    assert shared.run("call", "box.echo", "text=a").code == 0
    assert shared.run("engine", "status").out == "No shared engine is running.\n"
    assert list(Path(shared.variables["XDG_RUNTIME_DIR"]).iterdir()) == []


def test_an_interrupted_call_is_cancelled_and_the_server_goes_on(shared: Place, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with client(shared):
        words = [*COMMAND, "call", "own.work", f"until={pipe}"]
        calling = subprocess.Popen(words, env=shared.variables, cwd=tmp_path, stderr=subprocess.PIPE)
        with calling, pipe.open("w"):  # the server reads it: the call runs
            calling.send_signal(signal.SIGINT)
            assert calling.wait(SECONDS) == 128 + signal.SIGINT
        assert shared.run("call", "own.echo", "text=again").code == 0


def test_an_engine_that_is_killed_during_a_call_costs_one_error(shared: Place, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with client(shared):
        words = [*COMMAND, "call", "box.work", f"until={pipe}"]
        calling = subprocess.Popen(words, env=shared.variables, cwd=tmp_path, stderr=subprocess.PIPE)
        with calling, pipe.open("w"):
            os.kill(engine(shared)["pid"], signal.SIGKILL)
            _, said = calling.communicate(timeout=SECONDS)
        assert calling.returncode == 1
        lost = "error: MCP server 'box' was lost with the shared engine; the tool may have run nevertheless"
        assert said.decode().strip() == lost
        assert shared.run("call", "box.echo", "text=again").code == 0
