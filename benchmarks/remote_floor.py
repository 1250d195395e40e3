"""Minimal aggregator in Python for one remote server: the reference for every ratio of the remote measures.

    python remote_floor.py CONFIG

It forwards each line with httpx2, without the prefix of the server, and writes the answer to stdout. It reads only the
exact spelling of the benchmarks' messages. It has no errors, cancellation or streams of the server. POSIX only, because
asyncio reads no stdin on Windows.
"""

import asyncio
import json
import os
import sys

import httpx2
from floor import Lines
from http_client import headers, message_in


class Front(asyncio.Protocol):
    def __init__(self, name: str, url: str) -> None:
        self.prefix, self.prefixed = name, b'"name":"%s.' % name.encode()
        self.url, self.lines = url, Lines()
        self.client = httpx2.AsyncClient(headers=headers(), timeout=None, trust_env=False)
        self.tasks: set[asyncio.Task[None]] = set()
        self.stdout: asyncio.WriteTransport
        self.ended = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        for line in self.lines.feed(data):
            task = asyncio.create_task(self.forward(line))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def forward(self, line: bytes) -> None:
        response = await self.client.post(self.url, content=line.replace(self.prefixed, b'"name":"', 1))
        if "mcp-session-id" in response.headers:
            self.client.headers.update(headers(response.headers["mcp-session-id"]))
        message = message_in(response)
        if b'"tools/list"' in line:
            answer = json.loads(message)
            for tool in answer["result"]["tools"]:
                tool["name"] = f"{self.prefix}.{tool['name']}"
            message = json.dumps(answer).encode()
        if message:
            self.stdout.write(message + b"\n")

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set()


async def main(name: str, url: str) -> None:
    loop = asyncio.get_running_loop()
    front = Front(name, url)
    front.stdout, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(1, "wb", 0))
    await loop.connect_read_pipe(lambda: front, os.fdopen(0, "rb", 0))
    await front.ended.wait()
    await front.client.aclose()


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as config:  # noqa: PTH123  # pathlib would be an import more
        ((server, entry),) = json.load(config)["mcpServers"].items()
    asyncio.run(main(server, entry["url"]))
