"""Real servers behind search-mcp: their results arrive byte for byte.

The same requests go to a server directly and through search-mcp, without any SDK, and every line of both
conversations is judged by the official types. All five servers are in one configuration, like a user's.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fork_server import ForkServer, forked
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from own_tools.first_calls import FIRST_CALLS, FOLDER

from real import packages
from real.conftest import Aggregator
from real.conversation import Conversation, Era, Reply
from real.peers import Run
from real.processes import wait_until_gone

LEGACY, MODERN = Era("2025-11-25", {}), Era("2026-07-28", {})
DUAL = ("git", "time")  # built on the Python SDK 2.x; the npm servers speak the legacy era only


@dataclass(frozen=True)
class Place:
    """The servers, and the files they serve."""

    files: Path
    servers: dict[str, dict[str, Any]]

    def command(self, server: str) -> list[str]:
        return [self.servers[server]["command"], *self.servers[server]["args"]]


@pytest.fixture(scope="module")
def run(new_run: Callable[[], Run]) -> Run:
    return new_run()


@pytest.fixture(scope="module")
def place(run: Run, server_fork_server: ForkServer | None) -> Place:
    """Make a folder with files, a git repository and a memory, and the entries of servers for them."""
    files = run.folder / "files"
    files.mkdir()
    (files / "text.txt").write_text("first\nsecond ✓ 日本語\n", encoding="utf-8", newline="\n")
    (files / "picture.bin").write_bytes(bytes(range(256)))
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "text.txt"], ["commit", "-q", "-m", "One ✓"]):
        subprocess.run([*git, *arguments], cwd=files, check=True, env=run.environment)
    entity = {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["wrote ✓"]}
    memory = run.folder / "memory.jsonl"
    memory.write_text(json.dumps(entity, ensure_ascii=False) + "\n", encoding="utf-8")

    def npm(name: str, *arguments: str, **env: str) -> dict[str, Any]:
        command, *args = packages.server(name)
        return {"command": command, "args": [*args, *arguments], "env": env}

    def python(*arguments: str) -> dict[str, Any]:
        command, *args = forked(server_fork_server, [sys.executable, *arguments])
        return {"command": command, "args": args}

    servers = {
        "time": python("-m", "mcp_server_time", "--local-timezone", "UTC"),
        "git": python("-m", "mcp_server_git", "--repository", str(files)),
        "everything": npm("everything", OWN="mine"),
        "filesystem": npm("filesystem", str(files)),
        "memory": npm("memory", MEMORY_FILE_PATH=str(memory)),
    }
    return Place(files, servers)


@pytest.fixture(scope="module", params=[LEGACY, MODERN], ids=["legacy", "modern"])
def through(
    request: pytest.FixtureRequest, place: Place, run: Run, aggregator: Aggregator
) -> Iterator[tuple[Era, Conversation]]:
    """Connect to search-mcp in each era, for all tests that use the conversation."""
    environment = run.environment | {"A_SECRET_OF_THE_CLIENT": "s3cret"}
    with Conversation(aggregator(place.servers), request.param, environment) as conversation:
        yield request.param, conversation


@pytest.fixture(scope="module")
def direct(place: Place, run: Run) -> Iterator[Callable[[str, Era], Conversation]]:
    """Connect to a server directly, in the client's era if the server speaks it."""
    open_ones: dict[tuple[str, str], Conversation] = {}

    def talk(server: str, era: Era) -> Conversation:
        era = era if server in DUAL else LEGACY
        key = server, era.revision
        if key not in open_ones:
            environment = run.environment | place.servers[server].get("env", {})
            open_ones[key] = Conversation(place.command(server), era, environment).__enter__()
        return open_ones[key]

    yield talk
    for conversation in open_ones.values():
        conversation.__exit__(None, None, None)


FILES = "{files}"  # the folder of the files, which has another name in every run
CALLS: list[tuple[str, str, dict[str, Any]]] = [
    ("time", "convert_time", {"source_timezone": "Asia/Tokyo", "time": "12:30", "target_timezone": "Asia/Kolkata"}),
    ("time", "convert_time", {"source_timezone": "Nowhere", "time": "12:30", "target_timezone": "UTC"}),
    ("git", "git_log", {"repo_path": FILES}),
    ("git", "git_status", {"repo_path": FILES}),
    ("git", "git_show", {"repo_path": FILES, "revision": "HEAD"}),
    ("git", "git_show", {"repo_path": FILES, "revision": "no-such-revision"}),
    ("everything", "echo", {"message": 'quotes " and \\ and \u0000 and \U0001f600'}),
    ("everything", "get-sum", {"a": 0.1, "b": 1e300}),
    ("everything", "get-structured-content", {"location": "Chicago"}),
    ("everything", "get-tiny-image", {}),
    ("everything", "get-resource-links", {"count": 2}),
    ("everything", "get-annotated-message", {"messageType": "success", "includeImage": True}),
    ("filesystem", "list_directory", {"path": FILES}),
    ("filesystem", "read_text_file", {"path": FILES + "/text.txt", "tail": 1}),
    ("filesystem", "read_media_file", {"path": FILES + "/picture.bin"}),
    ("filesystem", "read_text_file", {"path": FILES + "/missing.txt"}),
    ("filesystem", "directory_tree", {"path": FILES, "excludePatterns": [".git"]}),
    ("memory", "read_graph", {}),
    ("memory", "search_nodes", {"query": "✓"}),
]


TOOLS_CALLED_FIRST = (
    "time.convert_time",
    "git.git_branch",
    "git.git_log",
    "filesystem.edit_file",
    "filesystem.search_files",
    "memory.create_entities",
    "everything.get-annotated-message",
)


@pytest.mark.parametrize("tool", TOOLS_CALLED_FIRST)
def test_a_first_call_is_made_right_from_a_search_alone(
    tool: str, through: tuple[Era, Conversation], place: Place
) -> None:
    (call,) = (each for each in FIRST_CALLS if each.tool == tool)
    (place.files / "a.txt").write_text("teh", encoding="utf-8")
    _, front = through
    (block,) = front.ask("tools/call", name="search_tools", arguments={"query": call.query}).value["content"]
    assert call.answer in block["text"], block["text"]
    given = json.loads(json.dumps(call.arguments).replace(FOLDER, place.files.as_posix()))
    result = front.ask("tools/call", name=tool, arguments=given).value
    assert not result.get("isError"), result
    for wrong, error in call.wrong:
        refused = front.ask("tools/call", name=tool, arguments=wrong).value
        assert refused["isError"] and refused["content"][-1] == {"type": "text", "text": error}


@pytest.mark.parametrize(("server", "tool", "arguments"), CALLS, ids=[f"{s}.{t}-{a}"[:60] for s, t, a in CALLS])
def test_a_call_returns_the_bytes_of_the_server(
    server: str,
    tool: str,
    arguments: dict[str, Any],
    through: tuple[Era, Conversation],
    direct: Callable[[str, Era], Conversation],
    place: Place,
) -> None:
    era, front = through
    filled = json.loads(json.dumps(arguments).replace(FILES, place.files.as_posix()))
    here = front.ask("tools/call", name=f"{server}.{tool}", arguments=filled)
    there = direct(server, era).ask("tools/call", name=tool, arguments=filled)
    if there.error is not None:
        expected = {"server": server, "tool": tool, **there.error}
        assert here.error["code"] == -32000
        assert here.error["message"].startswith(f"Backend MCP server error: {there.error['message']}")
        assert expected.items() <= here.error["data"].items()
    elif era == LEGACY:
        assert raw(here) == raw(there)
    else:
        assert here.payload == there.payload


UNFIT: list[tuple[str, dict[str, Any], str]] = [
    (
        "time.convert_time",
        {},
        "(source_timezone: string<IANA name>, time: string<HH:MM>, target_timezone: string<IANA name>)",
    ),
    ("everything.get-sum", {"a": "one"}, "(a: number, b: number)"),
    ("memory.delete_entities", {"entityNames": "not a list"}, "(entityNames: string[])"),
    (
        "filesystem.edit_file",
        {"path": FILES + "/text.txt", "edits": [{"old": "first", "new": "1st"}]},
        "(path: string, edits: {oldText: string, newText: string}[], dryRun?: boolean)",
    ),
]


@pytest.mark.parametrize(("name", "arguments", "then"), UNFIT, ids=[name for name, _, _ in UNFIT])
def test_a_refusal_of_unfit_arguments_brings_the_signature(
    name: str,
    arguments: dict[str, Any],
    then: str,
    through: tuple[Era, Conversation],
    direct: Callable[[str, Era], Conversation],
) -> None:
    era, front = through
    here = front.ask("tools/call", name=name, arguments=arguments).value
    server, _, tool = name.partition(".")
    there = direct(server, era).ask("tools/call", name=tool, arguments=arguments).value
    assert here["isError"] is there["isError"] is True
    assert here["content"][:-1] == there["content"]
    assert here["content"][-1]["text"].endswith(f". Call it as {name}{then}")


def raw(reply: Reply) -> bytes:
    assert isinstance(reply.result, msgspec.Raw)
    return bytes(reply.result)


@pytest.mark.parametrize("server", ["time", "git", "everything", "filesystem", "memory"])
def test_a_full_list_holds_the_definitions_of_the_server(
    server: str,
    run: Run,
    place: Place,
    direct: Callable[[str, Era], Conversation],
    full: list[dict[str, msgspec.Raw]],
) -> None:
    listed = msgspec.json.decode(raw(direct(server, LEGACY).ask("tools/list")), type=dict[str, msgspec.Raw])
    expected = msgspec.json.decode(listed["tools"], type=list[dict[str, msgspec.Raw]])
    for definition in expected:
        definition["name"] = msgspec.Raw(json.dumps(f"{server}.{json.loads(bytes(definition['name']))}").encode())
    prefix = f'"{server}.'.encode()
    found = [definition for definition in full if bytes(definition["name"]).startswith(prefix)]
    assert [as_bytes(definition) for definition in found] == [as_bytes(definition) for definition in expected]


def as_bytes(definition: dict[str, msgspec.Raw]) -> dict[str, bytes]:
    return {key: bytes(value) for key, value in definition.items()}


@pytest.fixture(scope="module")
def full(run: Run, place: Place, aggregator: Aggregator) -> list[dict[str, msgspec.Raw]]:
    """List all tools of all servers with their complete definitions."""
    with Conversation(aggregator(place.servers, listing="full"), LEGACY, run.environment) as conversation:
        listed = msgspec.json.decode(raw(conversation.ask("tools/list")), type=dict[str, msgspec.Raw])
    return msgspec.json.decode(listed["tools"], type=list[dict[str, msgspec.Raw]])


def test_a_call_has_its_effect(through: tuple[Era, Conversation], place: Place) -> None:
    era, front = through
    path = place.files / f"written in {era.revision} ✓.txt"
    arguments = {"path": str(path), "content": "written ✓\n"}
    assert not front.ask("tools/call", name="filesystem.write_file", arguments=arguments).value.get("isError")
    assert path.read_bytes() == "written ✓\n".encode()
    path.unlink()


def test_a_backend_sees_its_own_environment_and_not_the_clients(through: tuple[Era, Conversation]) -> None:
    _, front = through
    (content,) = front.ask("tools/call", name="everything.get-env", arguments={}).value["content"]
    environment = json.loads(content["text"])
    assert environment["OWN"] == "mine"
    assert environment["PATH"]
    assert "A_SECRET_OF_THE_CLIENT" not in environment
    assert "MEMORY_FILE_PATH" not in environment


def test_calls_in_flight_do_not_wait_for_each_other(through: tuple[Era, Conversation]) -> None:
    _, front = through
    slow = {"name": "everything.trigger-long-running-operation", "arguments": {"duration": 1, "steps": 1}}
    first = front.begin("tools/call", **slow)
    others = [front.begin("tools/call", name="everything.echo", arguments={"message": str(n)}) for n in range(20)]
    order: list[int | str | None] = []
    while len(order) < 21:
        reply = front.next()
        if reply.method is None:
            order.append(reply.id)
    assert order[-1] == first
    assert sorted(order[:-1], key=str) == sorted(others, key=str)


def test_resources_are_read_as_the_server_gives_them(
    through: tuple[Era, Conversation], direct: Callable[[str, Era], Conversation]
) -> None:
    era, front = through
    everything = direct("everything", era)
    uri = "demo://resource/static/document/architecture.md"
    for method, params in [("resources/templates/list", {}), ("resources/read", {"uri": uri})]:
        assert front.ask(method, **params).payload == everything.ask(method, **params).payload
    expected = everything.ask("resources/list").payload["resources"]
    assert front.ask("resources/list").payload["resources"].startswith(expected[:-1])  # server-memory has one too


@pytest.mark.parametrize("revision", HANDSHAKE_PROTOCOL_VERSIONS)
def test_every_legacy_revision_is_spoken(revision: str, run: Run, place: Place, aggregator: Aggregator) -> None:
    only = {"time": place.servers["time"]}
    with Conversation(aggregator(only), Era(revision, {}), run.environment) as conversation:  # it checks the revision
        names = [tool["name"] for tool in conversation.ask("tools/list").value["tools"]]
        assert names[:2] == ["time.get_current_time", "time.convert_time"]
        assert conversation.ask("ping").value == {}


def test_search_mcp_exits_at_the_end_of_its_input(place: Place, run: Run, aggregator_to_end: Aggregator) -> None:
    with Conversation(aggregator_to_end(place.servers), LEGACY, run.environment) as conversation:
        conversation.ask("tools/list")  # all five are running
        assert conversation.leave() == 0


ENDINGS = [signal.SIGTERM] if sys.platform == "win32" else [signal.SIGTERM, signal.SIGINT, signal.SIGKILL]


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.name)
def test_no_process_is_left_after_a_signal(
    ending: signal.Signals, new_run: Callable[[], Run], aggregator_to_end: Aggregator
) -> None:
    run = new_run()
    (command, *args), env = packages.server("everything"), run.mark
    only = {"everything": {"command": command, "args": args, "env": env}}
    with Conversation(aggregator_to_end(only), LEGACY, run.environment) as conversation:
        busy = {"duration": 600, "steps": 6000}  # its timers keep server-everything running after EOF on its stdin
        name = "everything.trigger-long-running-operation"
        conversation.begin("tools/call", name=name, arguments=busy, _meta={"progressToken": 1})
        while conversation.next().method != "notifications/progress":
            pass
        conversation.end(ending)
    assert wait_until_gone(run.folder.name) == set()
