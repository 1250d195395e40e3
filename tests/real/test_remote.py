"""Remote servers on the official SDKs, on this computer: calls, questions, progress, news, in both eras."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from backends.remote.reached import Reached, at, reached

from real import packages
from search_mcp.model.calls import InputRequired, Outcome, Result
from search_mcp.model.names import Ask, Era, State
from search_mcp.wire import payload
from search_mcp.wire.structs import Raw

SERVERS = Path(__file__).parent / "servers"
START_SECONDS = 60


class Started:
    """A server's process, and the port that it serves on."""

    def __init__(self, command: list[str], path: str, port: int) -> None:
        self.port, self.url, self.command = port, f"http://127.0.0.1:{port}{path}", command
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.command,
            env=os.environ | {"PORT": str(self.port)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            assert self.process.poll() is None, f"{self.command} ended"
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise TimeoutError(self.command)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def command(name: str, port: int) -> tuple[list[str], str]:
    """Return the command line of a server, and the path that it serves."""
    package, _, transport = name.partition(" ")
    path = "/sse" if transport == "sse" else "/mcp"
    if package == "everything":
        return [*packages.server("everything"), transport], path
    if package == "typescript2":
        script = [str(SERVERS / "typescript2.mjs"), str(packages.typescript_2_http())]
        return [packages.node(), *script, transport, str(port)], path
    python = {"python1": packages.python_1, "fastmcp": packages.fastmcp}.get(package, lambda: sys.executable)()
    name = {"python1": "python1_remote.py", "fastmcp": "fastmcp_remote.py"}.get(package, "python2.py")
    return [python, str(SERVERS / name), transport, str(port)], path


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[Started]:
    port = free_port()
    started = Started(*command(request.param, port), port)
    yield started
    started.stop()


PYTHON = ("python2 streamable-http", "python2 sse", "python1 streamable-http", "python1 sse")
TYPESCRIPT = ("typescript2 stateless", "typescript2 reject")
EVERYTHING = ("everything streamableHttp", "everything sse")


def is_modern(server: Started) -> bool:
    return "python2.py" in server.command[1] and server.command[2] == "streamable-http"


async def asked(there: Reached, era: Era, *, is_modern: bool) -> str:
    """Call the tool that asks for a name, and answer as a client of the era does."""
    there.person.answers = lambda _question: {"action": "accept", "content": {"name": "Ada"}}
    if is_modern and era is Era.MODERN:
        outcome = await there.call("ask")
        assert isinstance(outcome, InputRequired)
        assert outcome.requests
        return "hello Ada"
    return await there.text("ask")


@pytest.mark.parametrize("server", PYTHON, indirect=True)
@pytest.mark.parametrize("era", Era)
async def test_python(server: Started, era: Era) -> None:
    reports: list[Any] = []
    async with reached(at(server.url), era) as there:
        await there.ready()
        assert {"ask", "count"} <= set(there.tools())
        assert await asked(there, era, is_modern=is_modern(server)) == "hello Ada"
        outcome = await there.begin("count", {"to": 5}, reports.append).outcome()
        assert isinstance(outcome, Result)
        assert b"counted to 5" in bytes(outcome.raw())
        assert len(reports) == 5
        assert (there.era() is Era.MODERN) == (era is Era.MODERN and is_modern(server))


@pytest.mark.parametrize("server", ["python2 streamable-http"], indirect=True)
@pytest.mark.parametrize("era", Era)
async def test_news(server: Started, era: Era) -> None:
    async with reached(at(server.url), era) as there:
        await there.ready()
        await there.text("grow")
        await there.until(lambda: "grown" in there.tools())


@pytest.mark.parametrize("server", EVERYTHING, indirect=True)
@pytest.mark.parametrize("era", Era)
async def test_everything(server: Started, era: Era) -> None:
    async with reached(at(server.url), era) as there:
        await there.ready()
        assert await there.text("echo", {"message": "héllo\n"}) == "Echo: héllo\n"
        reports: list[Any] = []
        long = {"duration": 1, "steps": 4}
        outcome = await there.begin("trigger-long-running-operation", long, reports.append).outcome()
        assert isinstance(outcome, Result)
        assert len(reports) == 4


@pytest.mark.parametrize("name", ["python2 streamable-http", "python1 streamable-http", "everything streamableHttp"])
async def test_a_server_that_is_started_again(name: str) -> None:
    """The next call opens a new session, and runs once."""
    port = free_port()
    server = Started(*command(name, port), port)
    tool, arguments = ("echo", {"message": "x"}) if name in EVERYTHING else ("count", {"to": 1})
    try:
        async with reached(at(server.url)) as there:
            await there.ready()
            before = await there.text(tool, arguments)
            server.stop()
            await anyio.to_thread.run_sync(server.start)
            assert await there.text(tool, arguments) == before
            assert there.supervisor.status.state is State.READY
    finally:
        server.stop()


@pytest.mark.parametrize("server", TYPESCRIPT, indirect=True)
@pytest.mark.parametrize("era", Era)
async def test_typescript(server: Started, era: Era) -> None:
    """It serves legacy clients without sessions, so that it can ask them nothing."""
    reports: list[Any] = []
    spoken = Era.LEGACY if era is Era.LEGACY and "stateless" in server.command else Era.MODERN
    async with reached(at(server.url), era) as there:
        await there.ready()
        assert {"ask", "count"} <= set(there.tools())
        assert await there.text("era") == spoken.value
        outcome = await there.begin("count", {"to": 5}, reports.append).outcome()
        assert isinstance(outcome, Result)
        assert b"counted to 5" in bytes(outcome.raw())
        assert len(reports) == 5
        assert there.era() is spoken
        if spoken is Era.MODERN:
            outcome = await there.call("ask")
            assert isinstance(outcome, InputRequired)
            await there.text("grow")
            await there.until(lambda: "grown" in there.tools())


@pytest.mark.parametrize("server", ["fastmcp http", "fastmcp sse"], indirect=True)
async def test_fastmcp(server: Started) -> None:
    reports: list[Any] = []
    async with reached(at(server.url)) as there:
        await there.ready()
        assert await asked(there, Era.LEGACY, is_modern=False) == "hello Ada"
        outcome = await there.begin("count", {"to": 5}, reports.append).outcome()
        assert isinstance(outcome, Result)
        assert len(reports) == 5


@pytest.mark.parametrize("server", ["fastmcp http"], indirect=True)
async def test_fastmcp_in_the_modern_era(server: Started) -> None:
    reports: list[Any] = []
    async with reached(at(server.url), Era.MODERN) as there:
        await there.ready()
        outcome = await there.begin("count", {"to": 5}, reports.append).outcome()
        assert isinstance(outcome, Result)
        assert len(reports) == 5


@pytest.mark.parametrize("server", EVERYTHING, indirect=True)
async def test_everything_asks(server: Started) -> None:
    answers: dict[Ask, Any] = {
        Ask.ELICIT: {"action": "accept", "content": {"name": "Ada"}},
        Ask.SAMPLE: {"role": "assistant", "content": {"type": "text", "text": "hello from the model"}, "model": "m"},
        Ask.ROOTS: {"roots": [{"uri": "file:///home", "name": "home"}]},
    }
    async with reached(at(server.url)) as there:
        there.person.answers = lambda question: answers[question.ask]
        await there.ready()
        await there.until(lambda: "get-roots-list" in there.tools())  # it registers them after it was opened
        sampled = {"prompt": "Say hello", "maxTokens": 10}
        assert "hello from the model" in await there.text("trigger-sampling-request", sampled)
        assert "Ada" in str(payload.value(result(await there.call("trigger-elicitation-request"))))
        assert "file:///home" in await there.text("get-roots-list")


def result(outcome: Outcome) -> Raw:
    assert isinstance(outcome, Result), outcome
    return outcome.raw()
