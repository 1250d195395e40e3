"""With `pinTools`, only first or accepted definitions are shown, and only calls of those are forwarded.

Any sequence of listings, revisions, failures, restarts, edits and other processes over one folder, with the real
catalogue, router and supervisor between a scripted client and a scripted server. Every text of a definition contains a
mark, which identifies the definition in any message to the client.
"""

import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conversations.back import Back, refuses
from conversations.pair import Pair
from conversations.transcript import Said
from conversations.words import LEGACY, MODERN, Json
from search_mcp.backends.pin_records import ABOUT, PROMPTS, TOOLS, Listed
from search_mcp.backends.pins import TrustStore
from search_mcp.background import run_in_place
from search_mcp.model.servers import Entry, ServerList
from search_mcp.wire import payload

MARK = re.compile(r"mark-\w+-\w+-\d")
UI = {"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}}
NAMES = {TOOLS: ("pay", "send"), PROMPTS: ("plan", "sum")}


def mark(section: str, name: str, version: int) -> str:
    return f"mark-{section}-{name}-{version}"


def definition(section: str, name: str, version: int, whole: bool) -> Json:
    """Return one version of a definition; if not `whole`, without harmless members."""
    own = mark(section, name, version)
    shared: Json = {"name": name, "description": f"Does {own}."}
    if whole:
        shared["title"] = f"Title {own}"
    if section == PROMPTS:
        return {**shared, "arguments": [{"name": "to", "description": f"Whom {own}"}]}
    schema = {"type": "object", "properties": {"to": {"type": "string", "description": f"Whom {own}"}}}
    return {**shared, "inputSchema": schema, "annotations": {"destructiveHint": True}}


async def slowly(act: Callable[[], Any], /) -> Any:
    await anyio.sleep(0.1)
    answer = act()
    await anyio.sleep(0.1)
    return answer


class World:
    """A user with one server, several clients and other processes."""

    def __init__(self, folder: Path, front: str, back: str, *, is_beside_a_busy_client: bool = False) -> None:
        self.pair = Pair(front, back, is_beside_a_busy_client=is_beside_a_busy_client)
        self.trust = folder / "trust"
        self.pair.distrusts_in(self.trust)
        self.pair.remembers_in(folder / "cache")
        self.server = self.pair.alpha
        self.server.config = {"pin_tools": True}
        self.server.completes = True
        self.known: set[str] = set()
        """All marks that were first or accepted."""
        self.begun: set[str] = set()
        """Sections with a baseline."""
        self.listed: dict[str, set[str]] = {}
        """By section: the marks of the last list in this process of the server."""
        self.fails = False
        self.faults: list[str] = []
        self.lists({"pay": 0}, {"plan": 0}, 0, True)
        for method, section in (("tools/list", TOOLS), ("prompts/list", PROMPTS)):
            self.server.on(method, self._listing(section))
        for method in ("initialize", "server/discover"):
            self.server.on(
                method, self._opening(getattr(Back, "initializes" if method == "initialize" else "discovers"))
            )
        for method, section in (("tools/call", TOOLS), ("prompts/get", PROMPTS), ("completion/complete", PROMPTS)):
            self.server.on(method, self._serving(section))
        self._hear, self.pair.front.hear = self.pair.front.hear, self._client_hears  # type: ignore[method-assign]

    @property
    def is_pinned(self) -> bool:
        return bool(self.server.config["pin_tools"])

    def __enter__(self) -> "World":
        self.pair.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._quiet()
        self.pair.__exit__(None, None, None)

    # The server

    def lists(self, tools: dict[str, int], prompts: dict[str, int], about: int, whole: bool) -> None:
        """List these definitions from now on."""
        self.server.tools = [definition(TOOLS, name, version, whole) for name, version in tools.items()]
        self.server.prompts = [definition(PROMPTS, name, version, whole) for name, version in prompts.items()]
        self.server.instructions = f"Use {mark(ABOUT, 'x', about)}." if about else ""

    def _begins(self, section: str, said: object) -> None:
        if section not in self.begun:
            self.begun.add(section)
            self.known |= set(MARK.findall(json.dumps(said)))

    def _opening(self, habit: Callable[[Back, Said], None]) -> Callable[[Back, Said], None]:
        def opens(back: Back, said: Said) -> None:
            self.listed.clear()
            habit(back, said)

        return opens

    def _listing(self, section: str) -> Callable[[Back, Said], None]:
        def answer(back: Back, said: Said) -> None:
            if self.fails:
                refuses(-32603, "no list today")(back, said)
                self.listed.pop(section, None)
                return
            entries = back.tools if section == TOOLS else back.prompts
            self._begins(section, entries)
            self.listed[section] = set(MARK.findall(json.dumps(entries)))
            back.lists(said)

        return answer

    def _serving(self, section: str) -> Callable[[Back, Said], None]:
        def answer(back: Back, said: Said) -> None:
            name = said.params["ref"]["name"] if said.method == "completion/complete" else said.params["name"]
            marks = {each for each in self.listed.get(section, ()) if each.startswith(f"mark-{section}-{name}-")}
            if self.is_pinned and not (marks and marks <= self.known):
                self.faults.append(f"{said.method} of {name} reaches the server, which listed {self.listed}")
            results: Json = {"tools/call": {"content": []}, "prompts/get": {"messages": []}}
            back.answer(said.id, results.get(said.method or "", {"completion": {"values": []}}))

        return answer

    # The client

    def _client_hears(self, line: bytes) -> None:
        unknown = set(MARK.findall(line.decode())) - self.known
        if self.is_pinned and unknown:
            self.faults.append(f"{unknown} is shown: {line!r}")
        self._hear(line)

    def _quiet(self) -> None:
        for said in (self.pair.front.inbox, self.pair.front._open, self.server.inbox):
            said.clear()

    def passes(self, seconds: float) -> None:
        self.pair.after(seconds)
        self._quiet()
        assert self.faults == []

    def looks(self) -> None:
        """Let the client request and use everything it can."""
        front = self.pair.front
        if self.pair.gateway is None:
            return
        front.asks("tools/list")
        front.asks("prompts/list")
        for name in ("list_servers", "search_tools"):
            front.calls(name)
        front.calls("describe_tools", names=["alpha.pay", "alpha.send"], detail="full")
        front.calls("search_tools", query="does pay whom", detail="full")
        self.uses()

    def uses(self) -> None:
        front = self.pair.front
        for name in NAMES[TOOLS]:
            for spelling in (f"alpha.{name}", f"alpha__{name}", name):
                front.calls(spelling)
            front.calls("call_tool", name=f"alpha.{name}", arguments={})
        for name in NAMES[PROMPTS]:
            front.asks("prompts/get", {"name": f"alpha.{name}"})
            ref = {"type": "ref/prompt", "name": f"alpha.{name}"}
            front.asks("completion/complete", {"ref": ref, "argument": {"name": "to", "value": ""}})

    def opens(self, revision: str, apps: bool) -> None:
        """End the connection of the client, if any, and open one for another client."""
        front = self.pair.front
        self._quiet()
        if self.pair.gateway is not None:
            self.pair.comes_back()
            self._quiet()
        front.becomes(revision, **(UI if apps else {}))
        front.starts_anew()
        self.listed.clear()
        if not front.is_modern:
            front.asks(
                "initialize",
                {"protocolVersion": revision, "capabilities": front.capabilities, "clientInfo": front.info},
                meta=None,
            )
            front.notifies("notifications/initialized")
        front.asks("tools/list")
        self.uses()

    def accepts(self) -> None:
        """Accept the definitions that are shown, as the user."""
        if self.pair.gateway is None:
            return
        (backend,) = self.pair.gateway.leases
        for each in backend.opened():
            self.known |= set(MARK.findall((each.now or b"").decode()))
        self.pair.accepts("alpha")

    def other_process(self, tools: dict[str, int], whole: bool) -> None:
        """Let another process of search-mcp compare this list, in the same folder."""
        entries = [definition(TOOLS, name, version, whole) for name, version in tools.items()]
        self._begins(TOOLS, entries)
        page = ServerList(tuple(Entry(each["name"], payload.fields(payload.encode(each))) for each in entries))
        (config,) = self.pair._config().servers
        TrustStore(self.trust).record(config, "another client", Listed(tools=page))
        if self.pair.gateway is not None:
            self.pair.looks_at_trust()

    def pins(self, pinned: bool) -> None:
        self.server.config = {**self.server.config, "pin_tools": pinned}
        if self.pair.gateway is not None:
            self.pair.edit()

    def starts(self, startup: str) -> None:
        self.server.config = {**self.server.config, "startup": startup}
        if self.pair.gateway is not None:
            self.pair.edit()

    def changes(self, what: str) -> None:
        if self.server.channels and not self.server.channel.has_ended():
            self.server.changes(what)

    def exits(self) -> None:
        if self.server.channels and not self.server.channel.has_ended():
            self.server.exits(1)


versions = st.integers(0, 2)
some_tools = st.dictionaries(st.sampled_from(NAMES[TOOLS]), versions)
some_prompts = st.dictionaries(st.sampled_from(NAMES[PROMPTS]), versions)


def step(name: str, *values: Any) -> st.SearchStrategy[tuple[str, tuple[Any, ...]]]:
    return st.tuples(st.just(name), st.tuples(*values))


STEPS = st.one_of(
    step("lists", some_tools, some_prompts, versions, st.booleans()),
    step("changes", st.sampled_from(["tools", "prompts"])),
    step("opens", st.sampled_from([LEGACY[0], LEGACY[-1], MODERN]), st.booleans()),
    step("looks"),
    step("uses"),
    step("accepts"),
    step("exits"),
    step("other_process", some_tools, st.booleans()),
    step("pins", st.booleans()),
    step("starts", st.sampled_from(["eager", "lazy"])),
    step("fails", st.booleans()),
    step("speaks", st.sampled_from([*LEGACY, MODERN])),
    step("passes", st.sampled_from([0.05, 0.3, 2.0, 30.0])),
)


def play(world: World, steps: list[tuple[str, tuple[Any, ...]]]) -> None:
    for name, values in steps:
        if name == "fails":
            (world.fails,) = values
        elif name == "speaks":
            if not world.server.channels or world.server.channel.has_ended():
                (world.server.revision,) = values
        else:
            getattr(world, name)(*values)
        assert world.faults == []
    world.passes(5)
    world.looks()
    world.passes(5)


@pytest.mark.parametrize("aside", [run_in_place, slowly], ids=["at once", "slowly"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from([LEGACY[-1], MODERN]), st.lists(STEPS, max_size=14))
def test_nothing_is_shown_or_called_that_was_not_first_seen_or_accepted(
    aside: Any, is_beside_a_busy_client: bool, back: str, steps: list[tuple[str, tuple[Any, ...]]]
) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        World(Path(folder), MODERN, back, is_beside_a_busy_client=is_beside_a_busy_client) as world,
    ):
        world.pair.run_blocking = aside
        play(world, [("opens", (MODERN, False)), ("passes", (2.0,)), *steps])


def test_the_test_sees_what_is_shown_and_called() -> None:
    """Without the pins it would fail."""
    with tempfile.TemporaryDirectory() as folder, World(Path(folder), MODERN, LEGACY[-1]) as world:
        world.pins(False)
        world.opens(MODERN, False)
        world.passes(2)
        world.lists({"pay": 1, "send": 0}, {"plan": 1}, 1, True)
        world.changes("tools")
        world.changes("prompts")
        world.passes(2)
        world.server.config["pin_tools"] = True  # of which search-mcp is not told
        world.looks()
        assert any("is shown" in fault for fault in world.faults)
        assert any("tools/call" in fault for fault in world.faults)
        assert any("completion/complete" in fault for fault in world.faults)
        world.faults.clear()
