"""Clients and commands that share an engine on Windows itself: they find each other, and the engine outlives them."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import COMMAND, Place, server

pytestmark = pytest.mark.skipif(sys.platform != "win32", reason="the pipes of Windows")

PATIENT = "from search_mcp.fronts import joining\njoining.PATIENCE_SECONDS = 100.0\n"
OPENING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a client", "version": "1"}}


class Running:
    """A client."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def asks(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request, and wait for the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
        while True:
            heard: dict[str, Any] = json.loads(self._process.stdout.readline())
            if "id" in heard:
                return heard

    def calls(self, name: str, **arguments: Any) -> Any:
        return self.asks("tools/call", name=name, arguments=arguments)["result"]["content"]


@pytest.fixture
def shared(place: Place, tmp_path: Path) -> Iterator[Place]:
    (tmp_path / "patient").mkdir()
    (tmp_path / "patient" / "sitecustomize.py").write_text(PATIENT)
    place.variables["PYTHONPATH"] = str(tmp_path / "patient")
    place.variables["LOCALAPPDATA"] = str(tmp_path)  # for a lock and a name of its own
    place.variables["SEARCH_MCP_CONFIG"] = str(place.config)
    place.configure({"box": server("toolbox", share=True)}, engine="shared")
    yield place
    place.run("engine", "stop")


@contextmanager
def client(place: Place) -> Iterator[Running]:
    stderr = place.folder / "stderr"
    with (
        stderr.open("ab") as errors,
        subprocess.Popen(
            [*COMMAND, "serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=place.variables,
            cwd=place.folder,
        ) as process,
    ):
        running = Running(process)
        running.asks("initialize", **OPENING)
        said = stderr.read_text(errors="replace")
        if "job object" in said:
            pytest.skip("the system that runs the tests keeps all processes in a job object")
        assert "no shared engine" not in said
        yield running
        process.communicate()


def test_clients_and_commands_use_one_engine_which_outlives_the_client_that_started_it(shared: Place) -> None:
    with client(shared) as second_last:
        with client(shared) as first:
            (engine,) = shared.run("engine", "status", "--json").json["engines"]
            assert len(engine["clients"]) == 2
            assert first.calls("box.echo", text="one") == second_last.calls("box.echo", text="one")
        assert second_last.calls("box.echo", text="two")
        done = shared.run("call", "box.echo", "text=three")
        assert (done.code, done.err) == (0, "")
        assert "three" in done.out
        checked = shared.run("check", "--json").json
        assert checked["engine"] == engine["pid"]
    (left,) = shared.run("engine", "status", "--json").json["engines"]
    assert left["pid"] == engine["pid"]


def test_the_next_message_after_the_engine_was_stopped_starts_another_one(shared: Place) -> None:
    with client(shared) as running:
        (engine,) = shared.run("engine", "status", "--json").json["engines"]
        assert str(engine["pid"]) in shared.run("engine", "stop").out
        assert running.calls("box.echo", text="again")
        (another,) = shared.run("engine", "status", "--json").json["engines"]
        assert another["pid"] != engine["pid"]
    assert "Stopped" in shared.run("engine", "stop").out
    assert shared.run("engine", "status", "--json").json == {"engines": []}
