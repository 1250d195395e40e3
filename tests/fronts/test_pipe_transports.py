"""An adapter and an engine that meet at a named pipe of Windows: on Windows itself, elsewhere on a fake of its API."""

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import pytest
from windows_pipes import Handle, Instance, Kernel, Loop, Users, refusal

from search_mcp.cli.borrowed import Loan
from search_mcp.fronts import joining, loan_lines, named_pipes, pipe_transports
from search_mcp.fronts.adapter import Adapter
from search_mcp.fronts.hello import END, encode
from search_mcp.fronts.host import Host
from search_mcp.fronts.joining import Connected, Joined, NoEngineError, ask
from search_mcp.fronts.loan_lines import Compared, Comparison
from search_mcp.fronts.named_pipes import PipeEnd, connect, make_instance
from search_mcp.fronts.pipe_transports import PipeConnection, PipeServer, wait_for_name
from search_mcp.fronts.pumped import Pumped
from search_mcp.fronts.serve import Client
from search_mcp.gateway.reloading import LogSettings

SECONDS = 30.0

Json = dict[str, Any]


class Windows(Protocol):
    """The API of Windows."""

    address: str

    def listens(self, seconds: float) -> PipeServer: ...
    def loop(self) -> asyncio.AbstractEventLoop: ...
    def connects(self) -> PipeEnd: ...
    def handle(self, number: int) -> Any: ...
    def is_left_clean(self) -> bool: ...


class Fake:
    address = r"\\.\pipe\one"

    def __init__(self) -> None:
        self.kernel = Kernel()

    def listens(self, seconds: float) -> PipeServer:
        return wait_for_name(lambda: PipeServer(self.address, Users(), self.kernel, self.handle), seconds)

    def handle(self, number: int) -> Handle:
        return Handle(self.kernel, number)

    def loop(self) -> asyncio.AbstractEventLoop:
        return Loop(self.kernel)

    def connects(self) -> PipeEnd:
        return connect(self.address, SECONDS, Users(), self.kernel)

    def is_left_clean(self) -> bool:
        self.kernel.wait_until_closed(SECONDS)
        return True


class Real:
    def __init__(self) -> None:
        self._accounts = import_module(named_pipes.__name__).accounts()  # on Windows only
        self._api = import_module("_winapi")
        self.address = named_pipes.PREFIX + named_pipes.name_of(self._accounts.ours()) + uuid4().hex

    def listens(self, seconds: float) -> PipeServer:
        return pipe_transports.listen(self.address, seconds)

    def handle(self, number: int) -> Any:
        return import_module("asyncio.windows_utils").PipeHandle(number)

    def loop(self) -> asyncio.AbstractEventLoop:
        return asyncio.new_event_loop()

    def connects(self) -> PipeEnd:
        return connect(self.address, SECONDS, self._accounts, self._api)

    def is_left_clean(self) -> bool:
        """Wait until the name is free: the threads of clients close the last handles."""
        deadline = time.monotonic() + SECONDS
        while self.address in named_pipes.addresses(named_pipes.name_of(self._accounts.ours())):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return True


class Engine:
    """The clients of an engine process, in a thread."""

    def __init__(self, windows: Windows, seconds: float = SECONDS) -> None:
        self._windows = windows
        self.server = windows.listens(seconds)
        self._thread = threading.Thread(target=self._run)
        self._is_started = threading.Event()
        self._thread.start()
        assert self._is_started.wait(SECONDS)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=self._windows.loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._host = Host(SECONDS, LogSettings(None))
        await self.server.start(self._host.on_hello)
        self._is_started.set()
        await self._host.run()
        self.server.close()

    def is_over(self) -> bool:
        self._thread.join(SECONDS)
        return not self._thread.is_alive()

    def stops(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._host.stop)
        assert self.is_over()


class Bench:
    """A client with its adapter, which runs in a thread."""

    def __init__(self, folder: Path) -> None:
        config = folder / "mcp-servers.json"
        config.write_text('{"mcpServers": {}}')
        self.first: Json = {
            "wants": "serve",
            "config": str(config),
            "client": None,
            "log_level": None,
            "subset": None,
            "first_id": 1,
            "folder": str(folder),
            "variables": {},
        }
        stdin, self.stdin = os.pipe()
        stdout, self._stdout = os.pipe()
        self._output = os.fdopen(stdout, "rb")
        self._descriptors = [stdin, self._stdout]
        self._adapter = Adapter(self.joins(0), self.joins, Pumped(stdin, self._stdout))
        self._thread = threading.Thread(target=self._adapter.run)
        self._thread.start()

    def joins(self, engines: int) -> Joined:
        joined = joining._greet_at("", {**self.first, "first_id": 1 + engines}, SECONDS)
        if joined is None:
            raise NoEngineError("there is none")
        return joined

    def says(self, message: Json) -> None:
        os.write(self.stdin, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def sends_no_more(self) -> None:
        os.close(self.stdin)
        self.stdin = -1

    def hears(self) -> Json:
        message: Json = json.loads(self._output.readline())
        return message

    def opens(self) -> None:
        info = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "one", "version": "1"}}
        self.says({"id": 1, "method": "initialize", "params": info})
        assert self.hears()["result"]["serverInfo"]["name"] == "search-mcp"
        self.says({"method": "notifications/initialized"})

    def ends(self) -> None:
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()
        for each in self._descriptors:
            os.close(each)
        self._output.close()


@pytest.fixture(
    params=[Fake, pytest.param(Real, marks=pytest.mark.skipif(sys.platform != "win32", reason="Windows itself"))]
)
def windows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Windows]:
    made: Windows = request.param()
    if isinstance(made, Fake) and sys.platform == "win32":
        pytest.skip("the fake needs sockets of POSIX")
    monkeypatch.setattr(joining, "_connect", lambda _path, _seconds: made.connects())
    monkeypatch.setattr(joining, "_left", lambda _deadline: SECONDS)
    yield made
    if isinstance(made, Fake):
        made.kernel.close()


def test_clients_are_served_and_the_engine_is_told_when_one_sends_no_more(windows: Windows, tmp_path: Path) -> None:
    engine = Engine(windows)
    clients = [Bench(tmp_path) for _ in range(3)]
    for each in clients:
        each.opens()
    status = ask("", {"wants": "status"})
    assert status is not None
    assert len(status["clients"]) == 3
    clients[0].says({"id": 2, "method": "tools/list"})
    clients[0].sends_no_more()
    assert clients[0].hears()["id"] == 2  # the last answer is still written
    clients[0].ends()
    for each in clients[1:]:
        each.says({"id": 2, "method": "ping"})
        assert each.hears() == {"jsonrpc": "2.0", "id": 2, "result": {}}
        each.ends()
    engine.stops()
    assert ask("", {"wants": "status"}) is None
    assert windows.is_left_clean()


def test_the_next_message_after_the_end_of_an_engine_goes_to_another_one(windows: Windows, tmp_path: Path) -> None:
    engine = Engine(windows)
    client = Bench(tmp_path)
    client.opens()
    engine.stops()
    engine = Engine(windows)
    client.says({"id": 2, "method": "tools/list"})
    answer = client.hears()
    assert answer["id"] == 2
    assert answer["result"]["tools"]
    client.ends()
    engine.stops()


def test_nothing_is_lost_of_much_in_both_directions(windows: Windows, tmp_path: Path) -> None:
    engine = Engine(windows)
    client = Bench(tmp_path)
    client.opens()
    client.says({"id": "long", "method": "ping", "params": {"text": "x" * 10_000_000}})
    assert client.hears()["id"] == "long"

    def flood() -> None:
        for number in range(2000):
            client.says({"id": number, "method": "tools/list"})

    writer = threading.Thread(target=flood)  # more than all buffers hold while the client does not read
    writer.start()
    assert [client.hears()["id"] for _ in range(2000)] == list(range(2000))
    writer.join(SECONDS)
    client.ends()
    engine.stops()


def test_another_engine_cannot_take_the_name(windows: Windows) -> None:
    engine = Engine(windows)
    with pytest.raises(PermissionError):
        Engine(windows, 0)
    engine.stops()
    Engine(windows).stops()


@pytest.mark.parametrize("windows", [Fake], indirect=True)
def test_the_name_is_free_once_the_clients_of_the_last_engine_are_gone(windows: Windows) -> None:
    engine = Engine(windows)
    left = windows.connects()
    left.sendall(encode({"wants": "status"}))
    engine.stops()
    with pytest.raises(PermissionError):
        Engine(windows, 0)
    assert isinstance(windows, Fake)
    windows.kernel.on_taken = left.close
    Engine(windows).stops()


@pytest.mark.parametrize("windows", [Fake], indirect=True)
def test_a_client_that_is_gone_before_it_was_accepted_keeps_no_other_from_connecting(
    windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipe_transports, "RETRY_SECONDS", 0.01)
    failures = [refusal(232), refusal(8)]

    def accept(self: Kernel, handle: int) -> Instance:
        if failures:
            raise failures.pop()
        return found(self, handle)

    found = Kernel.instance
    monkeypatch.setattr(Kernel, "instance", accept)
    engine = Engine(windows)
    answer = None
    while answer is None or failures:  # the client of an instance that failed is cut off
        answer = ask("", {"wants": "status"})
    assert answer["clients"] == []
    engine.stops()
    assert windows.is_left_clean()


@pytest.mark.parametrize("windows", [Fake], indirect=True)
def test_a_command_reads_and_writes_a_pipe_and_says_that_it_has_ended(
    windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(windows, Fake)
    monkeypatch.setattr(pipe_transports, "_pipe_handle", lambda: windows.handle)
    handle = make_instance(windows.address, Users(), windows.kernel, is_first=True)
    server, heard = PipeEnd(handle, windows.kernel), bytearray()
    loan = Loan(Connected(windows.connects(), {"pid": 7}))

    def answers() -> None:
        while not heard.endswith(END):
            heard.extend(server.recv(100))
            if heard.endswith(b"\n"):
                server.sendall(loan_lines.encode(Compared({})))
        server.close()

    async def compares() -> None:
        async with loan.running():
            assert await loan.differences() == {}

    thread = threading.Thread(target=answers)
    thread.start()
    with asyncio.Runner(loop_factory=windows.loop) as runner:
        runner.run(compares())
    thread.join(SECONDS)
    assert bytes(heard) == loan_lines.encode(Comparison()) + END
    assert windows.is_left_clean()


class Ending(Client):
    """A client that records what it gets."""

    def __init__(self) -> None:
        super().__init__(None)
        self.got: list[bytes | None] = []  # `None` stands for the end

    def on_bytes(self, chunk: bytes) -> None:
        self.got.append(chunk)

    def on_eof(self) -> None:
        self.got.append(None)


@pytest.mark.parametrize(
    ("before", "after"), [((b"one" + END,), ()), ((b"one", END), ()), ((b"one",), (END,)), ((), (b"one" + END,))]
)
def test_the_last_byte_of_a_client_ends_what_it_sends(before: tuple[bytes, ...], after: tuple[bytes, ...]) -> None:
    connection, client = PipeConnection(lambda _connection, _line: None), Ending()
    for data in before:
        connection.data_received(data)
    connection.serve(client)
    for data in after:
        connection.data_received(data)
    assert b"".join(filter(None, client.got)) == b"one"
    assert client.got.count(None) == 1
    assert client.got[-1] is None
