"""`demo`: the steps of an AI client, done by the official client over real pipes.

Decides which result makes a step successful. Nothing is simulated: `search-mcp serve` runs as under a client, with the
servers of a configuration. Needs the extra `demo`.
"""

import json
import os
import re
import sys
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TextIO

import anyio
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.types import Implementation, TextContent, Tool

from search_mcp import __version__, installer
from search_mcp.catalog.signature import signature
from search_mcp.cli.interruption import interruptible, unwrapped
from search_mcp.cli.problem import FINE, Misuse, Problem
from search_mcp.cli.terminal import Terminal
from search_mcp.clients.command import SAFELY
from search_mcp.config import location
from search_mcp.model.names import State
from search_mcp.own_tools.definitions import DESCRIBE, LIST_SERVERS, MOST_RESULTS, NAMES, SEARCH
from search_mcp.usage.ended_calls import DEMO
from search_mcp.wire.messages import INVALID_PARAMS

TIME: Final = "time.get_current_time"
ZONE: Final = {"timezone": "Asia/Tokyo"}
ANSWER_SECONDS = 60.0
"""Time limit for one answer; the first one includes the start of the servers."""
START_SECONDS = 60.0
"""Longest wait for the servers to start and list their tools."""
POLL_SECONDS = 0.2
NAMES_SHOWN = 5


def run(explicit: str | None, terminal: Terminal) -> int:
    """Run the demonstration; returns the exit code.

    Raises:
        ConfigError: the configuration cannot be read.
        Problem: a step failed.
    """
    if explicit is None and find_spec("mcp_server_time") is None:
        raise Misuse("the demo's servers are not installed", *installer.add("demo"))
    _, path = location.load(explicit or str(location.shipped()), os.environ)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        try:
            return unwrapped(lambda: anyio.run(_play, path, terminal, log))
        except (MCPError, OSError, TimeoutError) as exc:
            raise Problem(
                f"the demo was interrupted: {exc}", "run it again with --debug to see the server's log"
            ) from exc
        finally:
            log.seek(0)
            terminal.detail(log.read())


async def _play(path: Path, terminal: Terminal, log: TextIO) -> int:
    command = StdioServerParameters(
        command=sys.executable, args=[*SAFELY, "search_mcp", "serve", "--config", str(path)], env=dict(os.environ)
    )
    client = Client(
        stdio_client(command, log),
        client_info=Implementation(name=DEMO, version=__version__),
        read_timeout_seconds=ANSWER_SECONDS,
        cache=None,
    )

    async def work() -> None:
        async with AsyncExitStack() as stack:
            with terminal.progress(lambda: "starting search-mcp"):
                await stack.enter_async_context(client)
            await _Tour(client, terminal).take()

    await interruptible(work)  # the client stops its server
    terminal.note("Every step succeeded. Next: search-mcp import copies the servers of your AI clients.")
    return FINE


@dataclass
class _Tour:
    """The steps in their order; each records what the next one needs."""

    client: Client
    terminal: Terminal
    names: list[str] = field(default_factory=list)
    """Names of the servers' tools, without our own."""

    @property
    def target(self) -> str:
        """The tool that most steps are about."""
        return TIME if TIME in self.names else self.names[0]

    async def take(self) -> None:
        for step in (self._connect, self._list, self._search, self._describe, self._call, self._mistype):
            await step()

    async def _connect(self) -> None:
        version, server = self.client.protocol_version, self.client.server_info
        name = f"{server.name} {server.version}" if server is not None else "a server without a name"
        self.terminal.step("connect", f"{name}, protocol {version}")

    async def _list(self) -> None:
        with self.terminal.progress(lambda: "tools/list"):
            listed, states = await self._settled_list()
        theirs = [tool for tool in listed if tool.name not in NAMES]
        self._expect(any(tool.name == SEARCH for tool in listed), "search-mcp's own tools are missing from the list")
        self.names = [tool.name for tool in theirs] or await self._unlisted_names()
        failed = [f"{name} is {state}" for name, state in states.items() if state in (State.FAILED, State.BACKING_OFF)]
        self._expect(self.names != [], f"no server has any tools ({', '.join(failed) or 'none is enabled'})")
        light = (
            ", each a name and a sentence," if not any(tool.input_schema.get("properties") for tool in theirs) else ""
        )
        rows = [f"{tool.name}: {tool.description or ''}" for tool in theirs]
        rest = [f"... and {len(rows) - NAMES_SHOWN} more"] if len(rows) > NAMES_SHOWN else []
        summary = f"{len(theirs)} tools{light} and {len(listed) - len(theirs)} of search-mcp itself"
        self.terminal.step("tools/list", summary, [*rows[:NAMES_SHOWN], *rest, *failed])

    async def _unlisted_names(self) -> list[str]:
        """Return the names of tools for a configuration whose list holds none."""
        found = await self._ask(SEARCH, {"query": "", "limit": MOST_RESULTS, "detail": "name"})
        names: list[str] = found["results"]
        return names

    async def _settled_list(self) -> tuple[list[Tool], dict[str, str]]:
        """Ask for the list until no server is starting, and the target's server has listed its tools."""
        deadline = anyio.current_time() + START_SECONDS
        while True:
            listed = (await self.client.list_tools()).tools  # the first answer waits for servers
            answer = await self._ask(LIST_SERVERS, {})
            states = {server["name"]: server["state"] for server in answer["servers"]}
            is_listed = TIME in [tool.name for tool in listed]
            is_awaited = states.get(TIME.partition(".")[0]) == State.READY and not is_listed
            if not (is_awaited or State.STARTING in states.values()) or anyio.current_time() > deadline:
                return (await self.client.list_tools()).tools, states
            await anyio.sleep(POLL_SECONDS)

    async def _search(self) -> None:
        query = "what time is it in Tokyo" if self.target == TIME else " ".join(re.findall(r"\w+", self.target))
        with self.terminal.progress(lambda: SEARCH):
            found = (await self._ask(SEARCH, {"query": query, "limit": 3}))["results"]
        self._expect(
            self.target in [each.partition("(")[0] for each in found],
            f"a search for {query!r} does not find {self.target}",
        )
        self.terminal.step(SEARCH, repr(query), found)

    async def _describe(self) -> None:
        with self.terminal.progress(lambda: DESCRIBE):
            described = (await self._ask(DESCRIBE, {"names": [self.target]}))["tools"]
        self._expect([tool["name"] for tool in described] == [self.target], f"{self.target} is not described")
        parameters = described[0]["inputSchema"].get("properties", {})
        lines = [f"{name}: {_about(schema)}" for name, schema in parameters.items()]
        self.terminal.step(DESCRIBE, signature(self.target, described[0]["inputSchema"]), lines)

    async def _call(self) -> None:
        # Of the user's own servers no tool is called, because its effect is not known.
        name, arguments = (TIME, ZONE) if self.target == TIME else (LIST_SERVERS, {})
        with self.terminal.progress(lambda: name):
            result = await self.client.call_tool(name, arguments)
        text = "\n".join(part.text for part in result.content if isinstance(part, TextContent))
        self._expect(not result.is_error and text != "", f"{name} answered {text or 'nothing'}")
        self.terminal.step("tools/call", f"{name} {json.dumps(arguments)}", [text])

    async def _mistype(self) -> None:
        wrong = _mistyped(self.target)
        try:
            await self.client.call_tool(wrong, {})
        except MCPError as error:
            data = error.data if isinstance(error.data, dict) else {}
            near = data.get("suggestions", [])
            self._expect(error.code == INVALID_PARAMS and self.target in near, f"{wrong} is answered {error}")
            self.terminal.step("an error", f"{error.code} {error.message}", [f"suggestions: {', '.join(near)}"])
        else:
            raise Problem(f"a call of {wrong} succeeded, although there is no such tool")

    async def _ask(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        result = await self.client.call_tool(tool, arguments)
        self._expect(isinstance(result.structured_content, dict), f"{tool} gave no structured result")
        structured: dict[str, Any] = result.structured_content or {}
        return structured

    def _expect(self, holds: bool, otherwise: str) -> None:
        if not holds:
            raise Problem(f"the demo failed: {otherwise}", "`search-mcp check` shows the state of the servers")


def _about(schema: Any) -> str:
    description = schema.get("description") if isinstance(schema, dict) else None
    return str(description or "")


def _mistyped(name: str) -> str:
    """Leave out a letter near the end, a common mistake."""
    return name[:-3] + name[-2:] if len(name) > 5 else f"{name}x"
