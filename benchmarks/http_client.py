"""The client alone for remote servers: the calls of the benchmarks by httpx2, with nothing between it and the server.

Its requests are as small as those of search-mcp: the headers that the specification requires, and the session.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence

import client
import httpx2

LEGACY, MODERN = "2025-06-18", "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
WAIT_SECONDS = 60.0


def headers(session: str | None = None) -> dict[str, str]:
    """Return the headers of every message of the legacy era."""
    needed = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    return needed if session is None else {**needed, "MCP-Protocol-Version": LEGACY, "Mcp-Session-Id": session}


def message_in(response: httpx2.Response) -> bytes:
    """Return the message in the body of a response: the whole body, or its only event."""
    if response.headers.get("content-type") == "text/event-stream":
        return response.content.partition(b"data: ")[2].removesuffix(b"\n\n")
    return response.content


class HttpClient:
    """A session with a remote server."""

    def __init__(self, url: str, *, is_modern: bool) -> None:
        self._url, self._is_modern = url, is_modern
        self._runner = asyncio.Runner()
        self._client = httpx2.AsyncClient(headers=headers(), timeout=WAIT_SECONDS, trust_env=False)

    def __enter__(self) -> "HttpClient":
        self._runner.__enter__()
        if self._is_modern:
            self._client.headers.update({"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call"})
        else:
            self._runner.run(self._open())
        return self

    def __exit__(self, *exc: object) -> None:
        self._runner.run(self._client.aclose())
        self._runner.__exit__(None, None, None)

    async def _open(self) -> None:
        opened = await self._client.post(self._url, content=client.HELLO)
        self._client.headers.update(headers(opened.headers["mcp-session-id"]))
        await self._client.post(self._url, content=client.INITIALIZED)

    def _call(self, message_id: int, tool: str, arguments: Mapping[str, object]) -> bytes:
        params: dict[str, object] = {"name": tool, "arguments": arguments}
        return client.request(message_id, "tools/call", {**params, "_meta": META} if self._is_modern else params)

    def _echoes(self, count: int) -> list[bytes]:
        return [self._call(number, "echo", {"text": client.text_of(number)}) for number in range(1, count + 1)]

    async def _post(self, body: bytes, tool: str) -> bytes:
        named = {"Mcp-Name": tool} if self._is_modern else None
        return message_in(await self._client.post(self._url, content=body, headers=named))

    def times(self, count: int, seconds: float) -> list[float]:
        """Make calls one after the other, at most for this time; return the time of each in milliseconds."""
        answers, spent = self._runner.run(self._one_by_one(self._echoes(count), seconds))
        client.check_echoes(answers, range(1, len(answers) + 1), client.result_of)
        return spent

    async def _one_by_one(self, bodies: Sequence[bytes], seconds: float) -> tuple[list[bytes], list[float]]:
        answers, spent = [], []
        until = time.perf_counter() + seconds
        for body in bodies:
            started = time.perf_counter()
            answer = await self._post(body, "echo")
            now = time.perf_counter()
            answers.append(answer)
            spent.append((now - started) * 1e3)
            if now > until:
                break
        return answers, spent

    def rate(self, count: int, seconds: float, window: int) -> float:
        """Keep `window` calls in flight, at most for this time; return calls per second."""
        answers: list[bytes] = []
        bodies = iter(self._echoes(count))
        started = time.perf_counter()
        self._runner.run(self._at_once(bodies, started + seconds, window, answers))
        spent = time.perf_counter() - started
        client.check_echoes(answers, range(1, len(answers) + 1), client.result_of)
        return len(answers) / spent

    async def _at_once(self, bodies: Iterator[bytes], until: float, window: int, answers: list[bytes]) -> None:
        async def call_repeatedly() -> None:
            while time.perf_counter() < until and (body := next(bodies, None)) is not None:
                answers.append(await self._post(body, "echo"))

        async with asyncio.TaskGroup() as tasks:
            for _ in range(window):
                tasks.create_task(call_repeatedly())

    def large_result(self, size: int) -> float:
        """Return the time for a result of `size` bytes, in milliseconds."""
        body = self._call(1, "bulk", {"size": size})

        async def timed() -> tuple[bytes, float]:
            started = time.perf_counter()
            answer = await self._post(body, "bulk")
            return answer, (time.perf_counter() - started) * 1e3

        answer, spent = self._runner.run(timed())
        client.check_text(answer, "x" * size, client.result_of)
        return spent
