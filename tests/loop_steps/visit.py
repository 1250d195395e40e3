"""A client's visit to search-mcp with one hostile and one quiet server behind it, on a measured loop.

The servers answer with prepared bytes, so that nothing but search-mcp's own work is measured.
"""

import gc
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import anyio

from loop_steps.loop import MeasuredLoop
from search_mcp.backends.cache import CatalogCache
from search_mcp.backends.dependencies import Dependencies, LastCall
from search_mcp.backends.last_uses import LastUses
from search_mcp.backends.process.child import LONG_READ_BYTES
from search_mcp.backends.process.launching import Command
from search_mcp.background import FileQueue
from search_mcp.collector import THRESHOLDS
from search_mcp.config.schema import Config, ServerConfig, Settings
from search_mcp.fronts.connection import Front
from search_mcp.gateway.gateway import Gateway
from search_mcp.pool.pool import Pool

Json = dict[str, Any]
REVISION = "2025-11-25"
MOST_BYTES = 64 << 20
LOADED_WHEN_NEEDED = ("search_mcp.own_tools.catalog_index", "rapidfuzz", "filelock")
"""What search-mcp imports once, whatever a server sends."""
LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "skills/list": "skills",
}
TOOL: Json = {"name": "calm", "description": "Do nothing.", "inputSchema": {"type": "object", "properties": {}}}


@dataclass(frozen=True)
class Hostile:
    """What a hostile server says."""

    tools: list[Json] = field(default_factory=lambda: [TOOL])
    prompts: list[Json] = field(default_factory=list)
    resources: list[Json] = field(default_factory=list)
    templates: list[Json] = field(default_factory=list)
    skills: list[Json] = field(default_factory=list)
    pages: int = 1
    """How many pages of a list there are: each is the same, but for a number behind each name."""
    call: Json = field(default_factory=lambda: {"result": {"content": []}})
    """The members of its answer to a call."""
    arguments: Json = field(default_factory=dict)
    """The arguments of the client's call."""
    instructions: str = ""
    title: str = ""
    notifications: list[Json] = field(default_factory=list)
    """What it says after a call."""
    lines: tuple[bytes, ...] = ()
    """What it writes after that."""
    uri: str = "nobody://has/this"
    """What the client reads."""
    raw: Mapping[str, bytes] = field(default_factory=dict)
    """Results by method, as bytes where no JSON library writes them."""
    errors: Mapping[str, str] = field(default_factory=dict)
    """Messages of errors by method, instead of results."""
    stderr_tail: str = ""
    """Its stderr; then it exits when it is called."""


class _Process:
    """A server's process, as its supervisor sees it."""

    pid = None

    def __init__(
        self,
        loop: MeasuredLoop,
        says: Hostile,
        answers: Mapping[tuple[str, int], bytes],
        on_stdout: Callable[[bytes], None],
        on_end: Callable[[], None],
    ) -> None:
        self._loop, self._says, self._on_stdout, self._on_end = loop, says, on_stdout, on_end
        self._answers, self._ended = answers, False

    def write(self, data: bytes) -> None:
        self._loop.call_unmeasured(self._hear, data)

    def _hear(self, data: bytes) -> None:
        request = json.loads(data)
        if "id" not in request or "method" not in request:
            return
        if request["method"] == "tools/call" and self._says.stderr_tail:
            self._ended = True
            self._loop.call_soon(self._on_end)
            return
        method = request["method"]
        page = int((request.get("params") or {}).get("cursor", "0"))
        members = self._answers.get((method, page), b'"result":{}')
        self._send(b'{"jsonrpc":"2.0","id":%d,%b}\n' % (request["id"], members))
        if method == "tools/call":
            for notification in self._says.notifications:
                self._send(json.dumps({"jsonrpc": "2.0", **notification}).encode() + b"\n")
            for line in self._says.lines:
                self._send(line + b"\n")

    def _send(self, line: bytes) -> None:
        for start in range(0, len(line), LONG_READ_BYTES):
            self._loop.call_soon(self._on_stdout, line[start : start + LONG_READ_BYTES])

    def is_congested(self) -> bool:
        return False

    def defer_reading(self) -> None: ...
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...
    def terminate(self) -> None: ...
    def kill(self) -> None: ...

    def stderr_tail(self) -> str:
        return self._says.stderr_tail

    def how_it_ended(self) -> str:
        return "it exited with code 1" if self._ended else "it closed its input or output"

    def has_session(self) -> bool:
        return True

    def describe(self) -> str:
        return "pid=1"

    def has_ended(self) -> bool:
        return self._ended

    async def stop(self) -> None: ...


def _answers(says: Hostile) -> dict[tuple[str, int], bytes]:
    """Encode what a server answers to each method, and to each page of a list."""
    opening = {
        "protocolVersion": REVISION,
        "capabilities": {
            "tools": {"listChanged": True},
            "prompts": {},
            "resources": {"subscribe": True},
            "extensions": {"io.modelcontextprotocol/skills": {"directoryRead": True}},
        },
        "serverInfo": {"name": "hostile", "title": says.title, "version": "1"},
        "instructions": says.instructions,
    }
    answers = {("initialize", 0): {"result": opening}, ("tools/call", 0): says.call}
    lists = {
        "tools": says.tools,
        "prompts": says.prompts,
        "resources": says.resources,
        "resourceTemplates": says.templates,
        "skills": says.skills,
    }
    for method, key in LISTS.items():
        for page in range(says.pages):
            more = {"nextCursor": str(page + 1)} if page + 1 < says.pages else {}
            entries = [{**each, "name": f"{each['name']}{page or ''}"} if page else each for each in lists[key]]
            answers[method, page] = {"result": {key: entries, **more}}
    encoded = {place: json.dumps(members).encode()[1:-1] for place, members in answers.items()}
    errors = {
        (method, 0): json.dumps({"error": {"code": -32000, "message": message}}).encode()[1:-1]
        for method, message in says.errors.items()
    }
    return {**encoded, **{(method, 0): b'"result":' + result for method, result in says.raw.items()}, **errors}


class Visit:
    """One client, search-mcp, a hostile server and a quiet one."""

    def __init__(self, says: Hostile, folder: Path, **settings: Any) -> None:
        self.loop = MeasuredLoop()
        self.answers: dict[int, bytes] = {}
        self._folder, self._settings = folder, settings
        self._servers = {name: (each, _answers(each)) for name, each in (("hostile", says), ("quiet", Hostile()))}
        self._says = says
        self._next = 0
        self._errands = FileQueue()
        self._ended = anyio.Event()

    def goes(self) -> None:
        """Do everything that a client does, and let the server say everything it has to say."""
        self.opens()
        self.calls("search_tools", label="search", query="calm thing")
        self.calls("search_tools", label="search again", query="calm thing that does much", limit=50)
        self.calls("search_tools", label="search all", query="", limit=50)
        self.calls("search_tools", label="search typo", query="qwertzuiop asdfghjkl")
        self.calls("search_tools", label="search full", query="calm", detail="full", limit=50)
        names = ["hostile.calm", "hostile.nothing", *(f"hostile.tool_{number}" for number in range(18))]
        self.calls("describe_tools", names=names)
        self.calls("list_servers")
        self.calls("hostile.calm", label="call", **self._says.arguments)
        self.calls("hostile.calmm", label="call typo")
        self.calls("calmest", label="call bare typo")
        self.asks("prompts/get", name="hostile.nothing")
        self.asks("resources/read", uri=self._says.uri)
        self.asks("resources/read", uri="file:///" + "a" * 4000)
        self.asks("skills/get", uri=self._says.uri)
        self.asks("skills/get", label="skills/get unlisted", uri="skill://nobody/has/this/SKILL.md")
        self.asks("resources/directory/read", uri=self._says.uri)
        for method in LISTS:
            self.asks(method, label="list again")
        self.calls("quiet.calm", label="call of another")
        self.ends()

    def opens(self) -> None:
        """Start, and read every list."""
        for module in LOADED_WHEN_NEEDED:
            import_module(module)
        gc.collect()
        gc.freeze()  # what earlier tests left is not collected within a step
        self._thresholds = gc.get_threshold()
        gc.set_threshold(*THRESHOLDS)  # as `serve` runs
        self._loop_runs("start", self._start)
        self.loop.let_pass(0)
        self._task = self.loop.create_task(self._live())
        self.asks("initialize", protocolVersion=REVISION, capabilities={}, clientInfo={"name": "c", "version": "1"})
        self.says("notifications/initialized")
        for method in LISTS:
            self.asks(method)

    def ends(self) -> None:
        """Let happen what is left, and end."""
        self.loop.let_pass(5)
        self._loop_runs("end", self._ended.set)
        self.loop.let_pass(60)
        gc.set_threshold(*self._thresholds)
        self._task.result()
        self._errands.finish()
        self.loop.close()

    def longest(self) -> tuple[str, float]:
        """The longest step and what the client did then."""
        return max(self.loop.longest.items(), key=lambda each: each[1])

    def calls(self, name: str, label: str = "", **arguments: Any) -> bytes:
        return self.asks("tools/call", label or name, name=name, arguments=arguments)

    def asks(self, method: str, label: str = "", **params: Any) -> bytes:
        """Send a request; the line it is answered with."""
        number = self.sends(method, label, **params)
        for _ in range(120):
            self.loop.let_pass(0.3)
            if number in self.answers:
                break
        return self.answers[number]

    def sends(self, method: str, label: str = "", **params: Any) -> int:
        """Send a request; its id."""
        return self.sends_together(label or method, (method, params))[0]

    def sends_together(self, label: str, *requests: tuple[str, Json]) -> list[int]:
        """Send requests in one chunk; their ids."""
        numbers = [self._next + position for position in range(1, len(requests) + 1)]
        self._next += len(requests)
        messages = zip(numbers, requests, strict=True)
        self._feed(label, *({"id": number, "method": each, "params": given} for number, (each, given) in messages))
        return numbers

    def says(self, method: str) -> None:
        self._feed(method, {"method": method})

    def _feed(self, label: str, *messages: Json) -> None:
        lines = [json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n" for message in messages]
        self._loop_runs(label, self._face.peer.feed, b"".join(lines))

    def _loop_runs(self, label: str, act: Callable[..., object], *args: Any) -> None:
        self.loop.label = label
        self.loop.call_soon(act, *args)

    def _start(self) -> None:
        world = Dependencies(
            spawn=self._spawn,
            clock=self.loop.time,
            last_call=LastCall(self.loop.time),
            jitter=lambda: 1.0,
            wall_clock=time.time,
            cache=CatalogCache(self._folder / "cache"),
            last_uses=LastUses(self._folder / "uses"),
            file_queue=self._errands,
            variables={},
            home="/home/test",
        )
        servers = tuple(ServerConfig(name=name, command=sys.executable, args=(name,)) for name in ("hostile", "quiet"))
        self._pool = Pool()
        self._gateway = Gateway(Config(servers, Settings(**self._settings), ()), world, self._pool)
        self._face = Front(self._gateway, self._hear, MOST_BYTES)

    async def _live(self) -> None:
        async with self._pool.running(), self._gateway.running():
            await self._ended.wait()
            self._face.peer.half_close()
            self._face.close()

    async def _spawn(
        self, command: Command, on_stdout: Callable[[bytes], None], on_end: Callable[[], None]
    ) -> _Process:
        return _Process(self.loop, *self._servers[command.args[0]], on_stdout, on_end)

    def _hear(self, data: bytes) -> None:
        # Not decoded within a step: a large answer would be counted as search-mcp's work.
        head = data[:60].split(b'"id":')
        if len(head) > 1 and b'"method"' not in data[:40]:
            self.answers[int(head[1].split(b",")[0])] = data
