"""The measured subjects: how each is started for given backends, and how a call to their tools is written.

A subject is started in a folder of its own that serves as the user's home: its next start in the same folder finds
the caches of the earlier one.
"""

import contextlib
import itertools
import json
import math
import os
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import client
import psutil
from client import Pipe, Read, WrongAnswerError, patience, request, result_of, result_within
from installed import interpreter, script

HERE = Path(__file__).resolve().parent
FASTMCP = "fastmcp==4.1.2"
MCPM = "mcpm==2.15.0"
MCP_GATEWAY = ("mcp-gateway==1.2.1", "mcp==1.30.0")  # it allows any release of the SDK, but fails with release 2
LAZY_MCP = "lazy-mcp==2.7.2"
MCP_HUB_MCP = "mcp-hub-mcp@1.3.1"
MCP_REMOTE = "mcp-remote@0.15.1"
START_SECONDS = 60.0
"""Time limit for a subject's first answers."""
END_SECONDS = 60.0
"""Time limit for the exit after stdin was closed."""
POLL_SECONDS = 0.002
"""Poll interval for the exit."""


class LeftRunningError(Exception):
    """A subject exited and left a process running that it had started."""


@dataclass(frozen=True, slots=True)
class Backend:
    """A server: its name, and the options of `backend.py`."""

    name: str
    options: tuple[str, ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        # Isolated and without `site`: the start of a backend is not measured.
        return (sys.executable, "-I", "-S", str(HERE / "backend.py"), *self.options)

    @property
    def entry(self) -> Mapping[str, object]:
        """Return its entry in a configuration."""
        return {"command": self.command[0], "args": self.command[1:]}


@dataclass(frozen=True, slots=True)
class RemoteBackend:
    """A server that listens at an address."""

    name: str
    url: str

    @property
    def entry(self) -> Mapping[str, object]:
        return {"url": self.url}


class SharedBackend(Backend):
    """A server that the clients of one engine may share."""

    @property
    def entry(self) -> Mapping[str, object]:
        return {**super().entry, "share": True}


Server = Backend | RemoteBackend


def backends(count: int, *options: str) -> list[Backend]:
    return [Backend(f"b{number}", options) for number in range(count)]


Arguments = Mapping[str, object]
Spell = Callable[[str, str, Arguments, int], Mapping[str, object]]
"""Function of a server, its tool, the arguments and the number of servers; returns the params of `tools/call`."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A program between the client and the backends.

    `command` is called with the path of a configuration in the clients' format and with the subject's folder.
    """

    name: str
    command: Callable[[Path, Path], Sequence[str]]
    spell: Spell
    read: Read = result_of
    imports: tuple[str, str] | None = None
    """Interpreter, and module that its start imports."""
    listings: Sequence[str] = ("full",)
    """Values of `settings.listing` that it supports; the first one is the default."""
    ends_with_stdin: bool = True
    """True if it exits when its stdin is closed."""
    largest_result: float = math.inf
    """Size in MB of the largest result that it relays."""
    reaches: Collection[type[Server]] = (Backend,)
    """Kinds of servers that it is measured with."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Settings of search-mcp in its configuration."""

    @property
    def lists_tools(self) -> bool:
        """Return whether its list has the servers' tools, instead of tools that find and call them."""
        return self.listings[0] != "search"

    @contextlib.contextmanager
    def running(
        self, servers: Sequence[Server], home: Path, variables: Mapping[str, str] | None = None
    ) -> "Iterator[Session]":
        """Start it with these servers; stop it as its client does, or kill it after an error.

        `variables` are added to its environment.

        Raises:
            LeftRunningError: some of its processes are still running.
        """
        session = self.start(servers, home, variables)
        try:
            yield session
            session.end()
        finally:
            session.kill()

    def start(self, servers: Sequence[Server], home: Path, variables: Mapping[str, str] | None = None) -> "Session":
        home.mkdir(parents=True, exist_ok=True)
        path = home / "mcp-servers.json"
        entries = {each.name: each.entry for each in servers}
        settings = {"listing": self.listings[0], **self.settings}
        path.write_text(json.dumps({"mcpServers": entries, "settings": settings}), "utf-8")
        pipe = Pipe(self.command(path, home), {**environment_below(home), **(variables or {})}, home)
        return Session(self, {each.name: pipe for each in servers})


class Direct(Subject):
    """The client alone, with a pipe to each server: the baseline for every proxy.

    The measures of remote servers make its calls with `http_client.py` instead.
    """

    def start(self, servers: Sequence[Backend], home: Path, _variables: Mapping[str, str] | None = None) -> "Session":
        home.mkdir(parents=True, exist_ok=True)
        pipes = {each.name: Pipe(each.command, environment_below(home), home) for each in servers}
        return Session(self, pipes)


class Session:
    """A running subject: its pipes (one, except for `direct`), and the pipe to each server."""

    def __init__(self, subject: Subject, pipe_of: Mapping[str, Pipe]) -> None:
        self._subject, self._pipe_of = subject, pipe_of
        self.pipes = list(dict.fromkeys(pipe_of.values()))
        self.read = subject.read

    def pipe_to(self, server: str) -> Pipe:
        return self._pipe_of[server]

    def call(self, message_id: int, server: str, tool: str, **arguments: object) -> bytes:
        """Return the request that calls a server's tool."""
        return request(message_id, "tools/call", self._spell(server, tool, arguments))

    def echo(self, message_id: int, server: str) -> bytes:
        return self.call(message_id, server, "echo", text=client.text_of(message_id))

    def listed_name(self, server: str, tool: str) -> object:
        """Return the name under which the list has this tool once it can be called."""
        return self._spell(server, tool, {})["name"]

    def _spell(self, server: str, tool: str, arguments: Arguments) -> Mapping[str, object]:
        return self._subject.spell(server, tool, arguments, len(self._pipe_of))

    def initialize(self) -> list[dict[str, object]]:
        """Initialize every connection; return the results."""
        for pipe in self.pipes:
            pipe.write(client.HELLO)
        results = [result_of(pipe.line()) for pipe in self.pipes]
        for pipe in self.pipes:
            pipe.write(client.INITIALIZED)
        return results

    def list_tools(self, message_id: int) -> list[bytes]:
        """Request the list on every connection; return the answers."""
        for pipe in self.pipes:
            pipe.write(request(message_id, "tools/list"))
        return [pipe.line() for pipe in self.pipes]

    def open(self, servers: Sequence[Server]) -> None:
        """Initialize every connection and wait until the tools of these servers can be called."""
        with patience(self.pipes, START_SECONDS):
            self.initialize()
            self.wait_for(servers)

    def wait_for(self, servers: Sequence[Server]) -> None:
        """Wait until the list has these servers' tools or, if it does not list them, until they answer."""
        if self._subject.lists_tools:
            self._wait_for_list(servers)
        else:
            self._wait_for_answers(servers)

    def _wait_for_list(self, servers: Sequence[Server]) -> None:
        expected = {self.listed_name(server.name, "echo") for server in servers}
        for message_id in itertools.count(1):
            if expected <= tools_in(self.list_tools(message_id)):
                return
            time.sleep(POLL_SECONDS)

    def _wait_for_answers(self, servers: Sequence[Server]) -> None:
        for number, server in enumerate(servers):
            pipe = self.pipe_to(server.name)
            pipe.write(self.echo(number, server.name))
            while result_of(line := pipe.line()).get("isError"):  # it is not connected to this server yet
                time.sleep(POLL_SECONDS)
                pipe.write(self.echo(number, server.name))
            client.check_echoes([line], [number], self.read)

    @property
    def processes(self) -> list[psutil.Process]:
        """Return the subject's processes and everything they have started."""
        found = []
        for pipe in self.pipes:
            with contextlib.suppress(psutil.NoSuchProcess):
                leader = psutil.Process(pipe.pid)
                found += [leader, *leader.children(recursive=True)]
        return found

    def end(self) -> None:
        """Close its stdin and wait until all its processes are gone.

        The specification allows a client to send SIGTERM if closing stdin is not enough.

        Raises:
            LeftRunningError: some of its processes are still running.
        """
        processes = self.processes
        for pipe in self.pipes:
            pipe.close()
            if not self._subject.ends_with_stdin:
                pipe.terminate()
        overdue = time.monotonic() + END_SECONDS
        while processes and time.monotonic() < overdue:
            time.sleep(POLL_SECONDS)
            for pipe in self.pipes:
                pipe.has_ended()
            processes = [process for process in processes if _is_alive(process)]
        if processes:
            left = ", ".join(f"{process.name()} {process.pid}" for process in processes if _is_alive(process))
            _kill(processes)
            raise LeftRunningError(f"still there {END_SECONDS:g} s after its stdin was closed: {left}")

    def kill(self) -> None:
        _kill(self.processes)
        for pipe in self.pipes:
            pipe.release()


def tools_in(answers: Sequence[bytes]) -> set[str]:
    """Return the names in answers to `tools/list`."""
    names: set[str] = set()
    for answer in answers:
        tools = result_of(answer)["tools"]
        assert isinstance(tools, list)
        listed = [tool["name"] for tool in tools]
        if len(set(listed)) != len(listed):
            raise WrongAnswerError("a tool is listed twice")
        names.update(listed)
    return names


def _kill(processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE  # an orphan is reaped by its new parent, at any time
    except psutil.NoSuchProcess:
        return False


def environment_below(home: Path) -> dict[str, str]:
    """Return an environment with every per-user folder below `home` and with bytecode caching enabled."""
    folders = {
        name: home / name.lower() for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
    }
    windows = {"APPDATA": home, "LOCALAPPDATA": home, "WIN_PD_OVERRIDE_LOCAL_APPDATA": home}
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, **{name: str(path) for name, path in ({"HOME": home} | folders | windows).items()}}


# The subjects


def direct() -> Subject:
    return Direct("direct", lambda _path, _home: (), _bare, reaches=(Backend, RemoteBackend, SharedBackend))


def floor() -> Subject:
    def command(path: Path, _home: Path) -> Sequence[str]:
        is_remote = any("url" in entry for entry in _servers(path).values())
        return sys.executable, str(HERE / ("remote_floor.py" if is_remote else "floor.py")), str(path)

    reaches = (Backend, RemoteBackend, SharedBackend)
    return Subject("floor", command, _with_dot, imports=(sys.executable, "asyncio"), reaches=reaches)


def search_mcp(name: str = "search-mcp", python: str = sys.executable) -> Subject:
    """Return search-mcp as installed for this interpreter, without an engine that clients share."""
    return Subject(
        name,
        lambda path, _home: (python, "-m", "search_mcp", "--config", str(path)),
        _with_dot,
        imports=(python, "search_mcp.fronts.serve"),
        listings=("light", "full", "search"),
        reaches=(Backend, RemoteBackend, SharedBackend),
        settings={"engine": "own"},
    )


def search_mcp_shared() -> Subject:
    """Return search-mcp with one engine for all clients in the same home, which is the default."""
    return replace(search_mcp("search-mcp-shared"), settings={}, reaches=(SharedBackend,))


def fastmcp() -> Subject:
    return _fastmcp("fastmcp")


def fastmcp_persistent() -> Subject:
    return _fastmcp("fastmcp-persistent", "persistent")


def _fastmcp(name: str, *options: str) -> Subject:
    python = str(interpreter("fastmcp", FASTMCP, [FASTMCP]))
    return Subject(
        name,
        lambda path, _home: (python, str(HERE / "fastmcp_proxy.py"), str(path), *options),
        _with_underscore_among_many,
        imports=(python, "fastmcp"),
        reaches=(Backend, RemoteBackend),
    )


def mcpm() -> Subject:
    python = interpreter("mcpm", MCPM, [MCPM])

    def command(path: Path, home: Path) -> Sequence[str]:
        profile = {name: {"name": name, "profile_tags": ["all"], **entry} for name, entry in _servers(path).items()}
        folder = home / ".config" / "mcpm"
        folder.mkdir(parents=True, exist_ok=True)
        _written(profile, folder / "servers.json")
        return str(python.with_name("mcpm")), "profile", "run", "all"

    return Subject("mcpm", command, _with_underscore_among_many, imports=(str(python), "mcpm.cli"))


def mcp_gateway() -> Subject:
    python = interpreter("mcp-gateway", " ".join(MCP_GATEWAY), MCP_GATEWAY)

    def command(path: Path, home: Path) -> Sequence[str]:
        # It looks for the servers inside its own entry of the client's configuration.
        own = {"mcpServers": {"mcp-gateway": {"servers": _servers(path)}}}
        return str(python.with_name("mcp-gateway")), "--mcp-json-path", _written(own, home / "mcp.json")

    return Subject("mcp-gateway", command, _with_underscore, imports=(str(python), "mcp_gateway.gateway"))


def lazy_mcp() -> Subject:
    python = interpreter("lazy-mcp", LAZY_MCP, [LAZY_MCP])

    def command(path: Path, home: Path) -> Sequence[str]:
        servers = [
            {"name": name, "description": name, "command": [entry["command"], *entry["args"]]}
            for name, entry in _servers(path).items()
        ]
        return str(python.with_name("lazy-mcp")), "--config", _written({"servers": servers}, home / "servers.json")

    def spell(server: str, tool: str, arguments: Arguments, _count: int) -> Mapping[str, object]:
        return {
            "name": "invoke_command",
            "arguments": {"server": server, "command_name": tool, "parameters": arguments},
        }

    # It waits 10 s for a result, and a larger one takes longer.
    return Subject("lazy-mcp", command, spell, read=result_within, listings=("search",), largest_result=10)


def mcp_hub_mcp() -> Subject:
    program = script(MCP_HUB_MCP)

    def spell(server: str, tool: str, arguments: Arguments, _count: int) -> Mapping[str, object]:
        return {
            "name": "call-tool",
            "arguments": {"serverName": server, "toolName": tool, "toolArgs": arguments},
        }

    return Subject(
        "mcp-hub-mcp",
        lambda path, _home: (*program, "--config-path", str(path)),
        spell,
        read=result_within,
        listings=("search",),
        ends_with_stdin=False,
        largest_result=10,  # its SDK reads messages of up to 10 MiB
    )


def mcp_remote() -> Subject:
    program = script(MCP_REMOTE)

    def command(path: Path, _home: Path) -> Sequence[str]:
        ((_, entry),) = _servers(path).items()
        return *program, entry["url"]

    return Subject("mcp-remote", command, _bare, reaches=(RemoteBackend,))


def _bare(_server: str, tool: str, arguments: Arguments, _count: int) -> Mapping[str, object]:
    return {"name": tool, "arguments": arguments}


def _with_dot(server: str, tool: str, arguments: Arguments, _count: int) -> Mapping[str, object]:
    return {"name": f"{server}.{tool}", "arguments": arguments}


def _with_underscore(server: str, tool: str, arguments: Arguments, _count: int) -> Mapping[str, object]:
    return {"name": f"{server}_{tool}", "arguments": arguments}


def _with_underscore_among_many(server: str, tool: str, arguments: Arguments, count: int) -> Mapping[str, object]:
    # FastMCP leaves a single server's names as they are.
    return (_bare if count == 1 else _with_underscore)(server, tool, arguments, count)


def _servers(path: Path) -> dict[str, Any]:
    """Return the servers of a configuration in the format of the clients."""
    servers: dict[str, Any] = json.loads(path.read_text("utf-8"))["mcpServers"]
    return servers


def _written(config: Mapping[str, object], path: Path) -> str:
    """Write a configuration; return its path."""
    path.write_text(json.dumps(config), "utf-8")
    return str(path)


SUBJECTS: Mapping[str, Callable[[], Subject]] = {
    "direct": direct,
    "floor": floor,
    "search-mcp": search_mcp,
    "search-mcp-shared": search_mcp_shared,
    "fastmcp": fastmcp,
    "fastmcp-persistent": fastmcp_persistent,
    "mcpm": mcpm,
    "mcp-gateway": mcp_gateway,
    "lazy-mcp": lazy_mcp,
    "mcp-hub-mcp": mcp_hub_mcp,
    "mcp-remote": mcp_remote,
}
"""Factories rather than subjects: some have to be installed first."""
