"""Measure the front over HTTP: how fast calls are beside other programs, and what many clients do to one.

    python benchmarks/front.py [--turns N] [--subjects forwarder,search-mcp,fastmcp]
    python benchmarks/front.py --load [--clients N] [--seconds N]

All serve one server of this folder in sessions of revision 2025-06-18, each on connections that stay open. Ratios are
those to `forwarder`, which does nothing but pass messages on. The client takes a good part of the two cores.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import processes
import psutil
from installed import interpreter
from subjects import FASTMCP, HERE

BACKEND = {"command": sys.executable, "args": ["-I", "-S", str(HERE / "backend.py")]}
REVISION = "2025-06-18"
CALLS, IN_FLIGHT = 2000, 32
"""Calls of a turn, and how many of them are in flight when it is not one."""
OF_A_CLIENT = 20
"""Calls that each client has in flight under load."""
QUIET_SECONDS = 0.05
"""Pause of the quiet client between two calls."""


class Connection:
    """A connection of HTTP/1.1 with one request at a time."""

    def __init__(self, port: int, headers: Mapping[str, str]) -> None:
        self._port, self.headers = port, {**headers}
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    def close(self) -> None:
        self._writer.close()

    async def post(self, method: str, identifier: int | None = None, **params: object) -> tuple[int, bytes]:
        """Send a message; return the status and the body."""
        of_request = {} if identifier is None else {"id": identifier}
        message = {"jsonrpc": "2.0", **of_request, "method": method, "params": params}
        body = json.dumps(message, separators=(",", ":")).encode()
        lines = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        head = (
            f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{self._port}\r\ncontent-type: application/json\r\n"
            f"accept: application/json, text/event-stream\r\n{lines}content-length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        if found := re.search(rb"(?i)mcp-session-id: (\S+)", answer):
            self.headers["mcp-session-id"] = found[1].decode()
        return int(answer[9:12]), await self._body(answer)

    async def _body(self, head: bytes) -> bytes:
        if found := re.search(rb"(?i)content-length: (\d+)", head):
            return await self._reader.readexactly(int(found[1]))
        parts = []
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            parts.append((await self._reader.readexactly(size + 2))[:-2])
        await self._reader.readexactly(2)
        return b"".join(parts)

    async def call(self, number: int, tool: str = "b0.echo", text: str = "hello") -> int:
        """Call a tool that gives the text back; return 200, or 429 if too many are in flight, and fail otherwise."""
        status, body = await self.post("tools/call", number, name=tool, arguments={"text": text})
        if status != 429 and text.encode() not in body:
            sys.exit(f"a wrong answer, {status}: {body!r}")
        return status


async def session(port: int, headers: Mapping[str, str]) -> dict[str, str]:
    """Open a session; return the headers of its requests."""
    connection = Connection(port, headers)
    await connection.open()
    info = {"name": "benchmark", "version": "1"}
    status, body = await connection.post("initialize", 1, protocolVersion=REVISION, capabilities={}, clientInfo=info)
    if status != 200:
        sys.exit(f"initialize was answered with {status}: {body!r}")
    connection.headers["mcp-protocol-version"] = REVISION
    await connection.post("notifications/initialized")
    await connection.post("tools/list", 2)
    connection.close()
    return connection.headers


@contextlib.asynccontextmanager
async def connections(number: int, port: int, headers: Mapping[str, str]) -> AsyncIterator[list[Connection]]:
    made = [Connection(port, headers) for _ in range(number)]
    for each in made:
        await each.open()
    try:
        yield made
    finally:
        for each in made:
            each.close()


# Subjects


@dataclass(frozen=True)
class Running:
    """A subject that serves at a port, with headers for its clients."""

    port: int
    process: psutil.Process
    headers: Mapping[str, str]
    tool: str


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port


@contextlib.contextmanager
def running(name: str, folder: Path, names: Sequence[str] = ("benchmark",)) -> Iterator[tuple[Running, list[str]]]:
    """Run a subject; also yield a token for each name, which only search-mcp needs."""
    folder.mkdir()
    config = folder / "servers.json"
    config.write_text(json.dumps({"mcpServers": {"b0": {**BACKEND, "share": "all"}}}), "utf-8")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "SEARCH_MCP_"))}
    environment = {**kept, "HOME": str(folder)}
    port, tokens = free_port(), []
    if name == "search-mcp":
        ours = [sys.executable, "-m", "search_mcp"]
        for each in names:
            made = subprocess.run([*ours, "token", "add", each], env=environment, capture_output=True, check=True)
            tokens.append(made.stdout.decode().strip())
        command = [*ours, "serve", "--http", f"127.0.0.1:{port}", "--config", str(config), "--log-level", "error"]
    else:
        python = str(interpreter("fastmcp", FASTMCP, [FASTMCP])) if name == "fastmcp" else sys.executable
        script = "fastmcp_proxy.py" if name == "fastmcp" else "front_floor.py"
        command = [python, str(HERE / script), str(config), str(port)]
    process = subprocess.Popen(command, env=environment, cwd=folder)
    try:
        while process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.02)
        headers = {"authorization": f"Bearer {tokens[0]}"} if tokens else {}
        tool = "echo" if name == "fastmcp" else "b0.echo"  # it has no prefix for a single server
        yield Running(port, psutil.Process(process.pid), headers, tool), tokens
    finally:
        process.terminate()
        process.wait()


# Speed


async def turn(subject: Running, headers: Mapping[str, str]) -> list[float]:
    """Return the median of calls one by one in ms, the calls a second, and the processor time of a call in us."""
    async with connections(IN_FLIGHT, subject.port, headers) as open_ones:
        times = []
        for number in range(CALLS // 4):
            began = time.perf_counter()
            await open_ones[0].call(number, subject.tool)
            times.append(time.perf_counter() - began)
        used, began = processes.processor_time(subject.process), time.perf_counter()

        async def share(connection: Connection, first: int) -> None:
            for number in range(first, CALLS, IN_FLIGHT):
                await connection.call(1_000_000 + number, subject.tool)

        await asyncio.gather(*(share(each, first) for first, each in enumerate(open_ones)))
        spent = time.perf_counter() - began
        used = processes.processor_time(subject.process) - used
    return [1000 * statistics.median(times), CALLS / spent, 1e6 * used / CALLS]


ROWS = ("a call: p50, ms", f"calls, {IN_FLIGHT} in flight, /s", "processor time of a call, us")


async def speed(names: Sequence[str], turns: int) -> None:
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        subjects = {name: stack.enter_context(running(name, Path(folder, name)))[0] for name in names}
        opened = {name: await session(each.port, each.headers) for name, each in subjects.items()}
        for name, each in subjects.items():
            await turn(each, opened[name])  # warm up
        taken: dict[str, list[list[float]]] = {name: [] for name in names}
        for _ in range(turns):
            for name, each in subjects.items():
                taken[name].append(await turn(each, opened[name]))
    print(f"| | {' | '.join(names)} |\n|---|{'---:|' * len(names)}")
    for row, title in enumerate(ROWS):
        medians = {name: statistics.median(values[row] for values in taken[name]) for name in names}
        floor = medians[names[0]]
        cells = (f"{value:,.2f} ({value / floor:.2f})" for value in medians.values())
        print(f"| {title} | {' | '.join(cells)} |")


# Load


async def load(clients: int, seconds: float) -> None:
    """Flood search-mcp by many clients with a name for every ten; beside them, a quiet one of another name calls."""
    names = ["quiet", *(f"team-{number}" for number in range((clients + 9) // 10))]
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        subject, tokens = stack.enter_context(running("search-mcp", Path(folder, "home"), names))
        of_quiet, *teams = ({"authorization": f"Bearer {token}"} for token in tokens)
        headers = await session(subject.port, of_quiet)
        loop, others = asyncio.get_running_loop(), stack.enter_context(ProcessPoolExecutor(1))
        alone = await loop.run_in_executor(others, quiet, subject.port, headers, seconds / 4)
        before = subject.process.memory_info().rss
        numbers = itertools.count(10)
        ends, statuses, most = time.monotonic() + seconds, Counter[int](), [before]

        async def flood(connection: Connection) -> None:
            while time.monotonic() < ends:
                statuses[await connection.call(next(numbers))] += 1

        async with contextlib.AsyncExitStack() as open_ones:
            floods = []
            for number in range(clients):
                mine = await session(subject.port, teams[number // 10])
                floods += await open_ones.enter_async_context(connections(OF_A_CLIENT, subject.port, mine))
            ends = time.monotonic() + seconds
            flooding = asyncio.gather(*map(flood, floods))
            beside_them = loop.run_in_executor(others, quiet, subject.port, headers, seconds)
            while time.monotonic() < ends:
                most.append(subject.process.memory_info().rss)
                await asyncio.sleep(0.5)
            beside = await beside_them
            await flooding
    print(f"{clients} clients, {OF_A_CLIENT} calls in flight each, {len(teams)} names, {seconds:g} s")
    print("responses by status:", dict(statuses), f"{statuses.total() / seconds:,.0f} a second")
    print(f"memory: {before / 1e6:.0f} MB before, {max(most) / 1e6:.0f} at most")
    print(f"a quiet client's p99: {alone:.1f} ms alone, {beside:.1f} beside them ({beside / alone:.1f})")


def quiet(port: int, headers: Mapping[str, str], seconds: float) -> float:
    """Return the 99th percentile of a client that calls now and then, in ms; it has a process of its own."""

    async def calls() -> list[float]:
        ends = time.monotonic() + seconds
        times: list[float] = []
        async with connections(1, port, headers) as (connection,):
            while time.monotonic() < ends:
                began = time.perf_counter()
                await connection.call(len(times))
                times.append(1000 * (time.perf_counter() - began))
                await asyncio.sleep(QUIET_SECONDS)
        return times

    return statistics.quantiles(asyncio.run(calls()), n=100)[-1]


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--turns", type=int, default=5, help="how often each figure is measured")
    parser.add_argument(
        "--subjects", default="forwarder,search-mcp,fastmcp", help="with commas; the first is the reference"
    )
    parser.add_argument("--load", action="store_true", help="measure many clients of search-mcp instead")
    parser.add_argument("--clients", type=int, default=200, help="under load")
    parser.add_argument("--seconds", type=float, default=60, help="of load")
    options = parser.parse_args()
    if options.load:
        asyncio.run(load(options.clients, options.seconds))
    else:
        asyncio.run(speed(options.subjects.split(","), options.turns))


if __name__ == "__main__":
    main()
