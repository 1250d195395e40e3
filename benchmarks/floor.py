"""Minimal aggregator in Python: the reference for every ratio.

    python floor.py CONFIG

It answers `initialize`, starts the child processes, initializes them, merges their lists of tools under
`server.tool`, forwards calls by that prefix and maps ids, all on asyncio's protocols. It reads only the exact
spelling of the benchmarks' messages. It has no errors, cancellation, changed lists, backpressure or cleanup. POSIX
only, because asyncio reads no stdin on Windows.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

LIST_SECONDS = 5.0
"""Time limit for a list while a server does not answer."""
CALL = re.compile(rb'\{"jsonrpc":"2.0","id":(\d+),"method":"tools/call","params":\{"name":"([^".]+)\.')
ANSWER = REQUEST = re.compile(rb'\{"jsonrpc":"2.0","id":(\d+),')
HELLO = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
    b'"capabilities":{},"clientInfo":{"name":"floor","version":"1"}}}\n'
)
OPENED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
WELCOME = (
    b'{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18",'
    b'"capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"floor","version":"1"}}}\n'
)


class Lines:
    """Split chunks into lines; join the chunks of a long line only once."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        *lines, rest = chunk.split(b"\n")
        if lines:
            lines[0] = b"".join((*self._parts, lines[0]))
            self._parts = []
        self._parts.append(rest)
        return lines


class Child(asyncio.SubprocessProtocol):
    def __init__(self, name: str, front: "Front") -> None:
        self.name, self.front, self.lines = name, front, Lines()
        self.waiting: dict[bytes, bytes] = {}  # our id -> the client's
        self.last_id = 1
        self.tools: list[dict[str, object]] | None = None
        self.early: list[bytes] = []  # calls that came before the child was ready
        self.write: Callable[[bytes], None] = self.early.append

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        stdin = transport.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport)
        self.write = stdin.write
        self.write(b"".join((HELLO, *self.early)))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        for line in self.lines.feed(data):
            found = ANSWER.match(line)
            if found is None:
                self.front.write(line + b"\n")
            elif found[1] == b"0":
                self.write(OPENED)
            elif found[1] == b"1":
                self.tools = json.loads(line)["result"]["tools"]
                self.front.give_list()
            else:
                client_id = self.waiting.pop(found[1])
                self.front.write(b'{"jsonrpc":"2.0","id":%s,%s\n' % (client_id, line[found.end() :]))

    def call(self, client_id: bytes, rest: bytes) -> None:
        self.last_id += 1
        own_id = b"%d" % self.last_id
        self.waiting[own_id] = client_id
        self.write(b'{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"%s\n' % (own_id, rest))


class Front(asyncio.Protocol):
    def __init__(self, servers: Mapping[str, Any]) -> None:
        self.servers, self.lines = servers, Lines()
        self.wants_list: bytes | None = None  # id of the pending `tools/list`
        self.children = {name.encode(): Child(name, self) for name in servers}
        self.write: Callable[[bytes], None]
        self.starting: asyncio.Future[list[None]]
        self.ended = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        for line in self.lines.feed(data):
            if call := CALL.match(line):
                self.children[call[2]].call(call[1], line[call.end() :])
                continue
            request = REQUEST.match(line)
            if request is None:
                continue  # a notification
            if b'"initialize"' in line:
                self.write(WELCOME % request[1])
                self.starting = asyncio.gather(*map(self.start, self.children.values()))
            else:
                self.wants_list = request[1]
                asyncio.get_running_loop().call_later(LIST_SECONDS, partial(self.give_list, overdue=True))
                self.give_list()

    async def start(self, child: Child) -> None:
        server = self.servers[child.name]
        await asyncio.get_running_loop().subprocess_exec(
            lambda: child, server["command"], *server["args"], stdin=subprocess.PIPE, stderr=None
        )

    def give_list(self, *, overdue: bool = False) -> None:
        children = self.children.values()
        if self.wants_list is None or not (overdue or all(child.tools is not None for child in children)):
            return
        tools = [{**tool, "name": f"{child.name}.{tool['name']}"} for child in children for tool in child.tools or ()]
        self.write(b'{"jsonrpc":"2.0","id":%s,"result":{"tools":%s}}\n' % (self.wants_list, json.dumps(tools).encode()))
        self.wants_list = None

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set()


async def main(servers: Mapping[str, Any]) -> None:
    loop = asyncio.get_running_loop()
    if sys.platform == "linux" and sys.version_info < (3, 12):
        watcher = asyncio.PidfdChildWatcher()  # otherwise asyncio starts a thread for each child
        watcher.attach_loop(loop)
        asyncio.set_child_watcher(watcher)
    front = Front(servers)
    stdout, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(1, "wb", 0))
    front.write = stdout.write
    await loop.connect_read_pipe(lambda: front, os.fdopen(0, "rb", 0))
    await front.ended.wait()


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as config:  # noqa: PTH123  # pathlib would be an import more
        asyncio.run(main(json.load(config)["mcpServers"]))
