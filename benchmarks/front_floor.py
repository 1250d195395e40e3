"""Minimal forwarder from HTTP to one server: the reference for every ratio of the front over HTTP.

    python front_floor.py CONFIG PORT

An ASGI application on uvicorn, without sessions, limits, streams or errors. It replaces the id of each request and the
prefix of the server, and reads only the exact spelling of the benchmarks' messages.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import uvicorn
from floor import Lines

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


class Forwarder:
    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.prefixed, self.stdin, self.stdout = b'"name":"%s.' % name.encode(), process.stdin, process.stdout
        self.waiting: dict[int, asyncio.Future[bytes]] = {}
        self.number = 0

    async def read(self) -> None:
        lines = Lines()
        while data := await self.stdout.read(1 << 18):
            for line in lines.feed(data):
                number = int(line[line.index(b'"id":') + 5 : line.index(b',"result"')])
                self.waiting.pop(number).set_result(line)

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        line = body.replace(self.prefixed, b'"name":"', 1)
        if b'"id":' not in line:
            self.stdin.write(line + b"\n")
            await respond(send, 202, b"")
            return
        self.number += 1
        answer = self.waiting[self.number] = asyncio.get_running_loop().create_future()
        start = line.index(b'"id":') + 5
        end = line.index(b",", start)
        self.stdin.write(b"%s%d%s\n" % (line[:start], self.number, line[end:]))
        found = await answer
        await respond(send, 200, found.replace(b'"id":%d,' % self.number, b'"id":%s,' % line[start:end], 1))


async def respond(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def main(name: str, command: Sequence[str], port: int) -> None:
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    forwarder = Forwarder(name, process)
    reading = asyncio.create_task(forwarder.read())
    settings = uvicorn.Config(forwarder, port=port, log_level="error", lifespan="off", access_log=False)
    await uvicorn.Server(settings).serve()
    process.terminate()
    await reading


if __name__ == "__main__":
    ((its_name, entry),) = json.loads(Path(sys.argv[1]).read_text("utf-8"))["mcpServers"].items()
    asyncio.run(main(its_name, [entry["command"], *entry["args"]], int(sys.argv[2])))
