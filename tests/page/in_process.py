"""A page inside the process of the test: no engine, no socket and no browser, so a test takes milliseconds."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
from processes.run import SECONDS, Json

from search_mcp.engine import hello
from search_mcp.engine.host import Host, open_configuration
from search_mcp.gateway.reloading import LogSettings
from search_mcp.page.app import application
from search_mcp.page.door import Door
from search_mcp.page.facts import Facts, PageGateway
from search_mcp.page.opening import OpenPage
from search_mcp.page.standings import Standings
from search_mcp.page.web import read_files

AUTHORITY = "127.0.0.1:1"


class Inside:
    """A page and a browser that was let in."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.door = facts, Door(AUTHORITY, lambda: 0.0)
        self.app = application(facts, self.door, read_files())
        self.headers = {"origin": self.door.origin, "sec-fetch-site": "same-origin"}
        self.headers["cookie"] = (self.door.enter(self.door.new_token()) or "").partition(";")[0]
        (self.session,) = self.door._sessions.values()

    def _client(self) -> httpx2.AsyncClient:
        transport = httpx2.ASGITransport(self.app, raise_app_exceptions=False)
        return httpx2.AsyncClient(transport=transport, base_url=self.door.address, headers=self.headers)

    async def gets(self, path: str) -> httpx2.Response:
        async with self._client() as client:
            return await client.get(path)

    async def sends(self, path: str, **fields: str) -> httpx2.Response:
        """Send a form of the page."""
        async with self._client() as client:
            return await client.post(path, data={"form_token": self.session.form_token, **fields})

    async def events(self, query: str, until: Callable[[dict[str, str]], bool]) -> dict[str, str]:
        """Return the first event of a stream whose parts are as wanted, then close it."""
        found: list[dict[str, str]] = []
        seen = anyio.Event()

        async def receive() -> Json:
            await seen.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            text = message.get("body", b"").decode()
            parts = json.loads(text.removeprefix("data: "))["parts"] if text.startswith("data: ") else {}
            if until(parts):
                found.append(parts)
                seen.set()

        headers = [(name.encode(), value.encode()) for name, value in {**self.headers, "host": AUTHORITY}.items()]
        scope = {"type": "http", "method": "GET", "path": f"{self.door.root}events", "headers": headers}
        with anyio.fail_after(SECONDS):
            await self.app({**scope, "query_string": query.encode()}, receive, send)
        return found[0]


@asynccontextmanager
async def page_inside(folder: Path, servers: dict[str, Json], **settings: Any) -> AsyncIterator[Inside]:
    """Provide a page for these servers, which does not follow edits of their file."""
    path = folder / "servers.json"
    path.write_text(json.dumps({**settings, "mcpServers": servers}), "utf-8")
    first = {**hello.introduction({"--config": str(path)}), "program": ["search-mcp"]}
    opened = open_configuration(first, first["variables"])
    host = Host(float("inf"), LogSettings("warning"), OpenPage())
    gateway = PageGateway(opened.config, host.dependencies_for(opened.config, first), host.pool)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(host.run)
        async with gateway.running(), anyio.create_task_group() as of_page:
            facts = Facts(host, gateway, Standings(host, gateway), path, first, of_page)
            yield Inside(facts)
            of_page.cancel_scope.cancel()
        host.stop()
    host.finish()
