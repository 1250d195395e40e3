"""What is measured: how each subject is started in front of given backends, and what it calls their tools.

A subject is started in a folder of its own, which stands for the user's home: what it caches there is found by
its next start in the same folder.
"""

import contextlib
import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
from client import HELLO, INITIALIZED, Pipe, WrongAnswerError, patience, request, result_of
from installed import interpreter

HERE = Path(__file__).resolve().parent
FASTMCP = "fastmcp==4.1.2"
MCPM = "mcpm==2.15.0"
START_SECONDS = 60.0
"""How long a subject may take for its first answers."""
END_SECONDS = 60.0
"""How long it may take to end once its stdin is closed."""
POLL_SECONDS = 0.002
"""How often it is looked whether it has."""


class LeftRunningError(Exception):
    """A subject ended, and something it started did not."""


@dataclass(frozen=True, slots=True)
class Backend:
    """One server: its name, and the options of `backend.py`."""

    name: str
    options: tuple[str, ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        # Isolated and without `site`: the backends' own start is not what is measured.
        return (sys.executable, "-I", "-S", str(HERE / "backend.py"), *self.options)


def backends(count: int, *options: str) -> list[Backend]:
    return [Backend(f"b{number}", options) for number in range(count)]


@dataclass(frozen=True, slots=True)
class Subject:
    """A way from the client to the backends.

    `command` gets the path of a configuration in the format of the clients, and the subject's folder. `spell` gets
    a server, a tool and how many servers there are.
    """

    name: str
    command: Callable[[Path, Path], Sequence[str]]
    spell: Callable[[str, str, int], str]
    imports: tuple[str, str] | None = None
    """The interpreter and the module that its start has to import."""
    listings: Sequence[str] = ("full",)
    """The ways it can show tools, as `settings.listing` names them; the first one is used where it does not matter."""

    @contextlib.contextmanager
    def running(self, servers: Sequence[Backend], home: Path) -> "Iterator[Session]":
        """Start it in front of these servers; end it as its client does, or by force if something went wrong.

        Raises:
            LeftRunningError: some of its processes outlived it.
        """
        session = self.start(servers, home)
        try:
            yield session
            session.end()
        finally:
            session.kill()

    def start(self, servers: Sequence[Backend], home: Path) -> "Session":
        home.mkdir(parents=True, exist_ok=True)
        path = home / "mcp-servers.json"
        entries = {each.name: {"command": each.command[0], "args": each.command[1:]} for each in servers}
        path.write_text(json.dumps({"mcpServers": entries, "settings": {"listing": self.listings[0]}}), "utf-8")
        pipe = Pipe(self.command(path, home), _environment(home), home)
        return Session([pipe], lambda server, tool: (pipe, self.spell(server, tool, len(servers))))


class Direct(Subject):
    """The client alone, with a pipe to each server: what every proxy is compared with."""

    def start(self, servers: Sequence[Backend], home: Path) -> "Session":
        home.mkdir(parents=True, exist_ok=True)
        pipes = {each.name: Pipe(each.command, _environment(home), home) for each in servers}
        return Session(list(pipes.values()), lambda server, tool: (pipes[server], tool))


class Session:
    """A running subject: its pipes (one, but for `direct`), and how to reach a tool."""

    def __init__(self, pipes: Sequence[Pipe], route: Callable[[str, str], tuple[Pipe, str]]) -> None:
        self.pipes, self.route = pipes, route

    def initialize(self) -> list[dict[str, object]]:
        """Open every connection; return the results."""
        for pipe in self.pipes:
            pipe.write(HELLO)
        results = [result_of(pipe.line()) for pipe in self.pipes]
        for pipe in self.pipes:
            pipe.write(INITIALIZED)
        return results

    def list_tools(self, message_id: int) -> list[bytes]:
        """Ask every connection for its list; return the answers."""
        for pipe in self.pipes:
            pipe.write(request(message_id, "tools/list"))
        return [pipe.line() for pipe in self.pipes]

    def open(self, servers: Sequence[Backend]) -> None:
        """Initialize it and wait until it lists the tools of these servers."""
        with patience(self.pipes, START_SECONDS):
            self.initialize()
            self.wait_for_list(servers)

    def wait_for_list(self, servers: Sequence[Backend]) -> None:
        """Ask for the list until the tools of these servers are in it."""
        expected = {self.route(server.name, "echo")[1] for server in servers}
        for message_id in itertools.count(1):
            if expected <= tools_in(self.list_tools(message_id)):
                return
            time.sleep(POLL_SECONDS)

    @property
    def processes(self) -> list[psutil.Process]:
        """Every process there is on account of it."""
        found = []
        for pipe in self.pipes:
            with contextlib.suppress(psutil.NoSuchProcess):
                leader = psutil.Process(pipe.pid)
                found += [leader, *leader.children(recursive=True)]
        return found

    def end(self) -> None:
        """Close its stdin and wait until all its processes are gone.

        Raises:
            LeftRunningError: they are not.
        """
        processes = self.processes
        for pipe in self.pipes:
            pipe.close()
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
        return process.status() != psutil.STATUS_ZOMBIE  # an orphan is its new parent's to bury, whenever it likes
    except psutil.NoSuchProcess:
        return False


def _environment(home: Path) -> dict[str, str]:
    """Return the environment, with every per-user folder below `home`."""
    folders = {
        name: home / name.lower() for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
    }
    windows = {"APPDATA": home, "LOCALAPPDATA": home, "WIN_PD_OVERRIDE_LOCAL_APPDATA": home}
    return {**os.environ, **{name: str(path) for name, path in ({"HOME": home} | folders | windows).items()}}


# The subjects


def direct() -> Subject:
    return Direct("direct", lambda _path, _home: (), lambda _server, tool, _count: tool)


def floor() -> Subject:
    return Subject(
        "floor",
        lambda path, _home: (sys.executable, str(HERE / "floor.py"), str(path)),
        lambda server, tool, _count: f"{server}.{tool}",
        imports=(sys.executable, "asyncio"),
    )


def search_mcp(name: str = "search-mcp", python: str = sys.executable) -> Subject:
    """Return search-mcp as this interpreter has it."""
    return Subject(
        name,
        lambda path, _home: (python, "-m", "search_mcp", "--config", str(path)),
        lambda server, tool, _count: f"{server}.{tool}",
        imports=(python, "search_mcp.server"),
        listings=("light", "full", "search"),
    )


def fastmcp() -> Subject:
    return _fastmcp("fastmcp")


def fastmcp_persistent() -> Subject:
    return _fastmcp("fastmcp-persistent", "persistent")


def _fastmcp(name: str, *options: str) -> Subject:
    python = str(interpreter("fastmcp", FASTMCP, [FASTMCP]))
    return Subject(
        name,
        lambda path, _home: (python, str(HERE / "fastmcp_proxy.py"), str(path), *options),
        _spelt_with_underscores,
        imports=(python, "fastmcp"),
    )


def mcpm() -> Subject:
    python = interpreter("mcpm", MCPM, [MCPM])

    def command(path: Path, home: Path) -> Sequence[str]:
        servers = json.loads(path.read_text("utf-8"))["mcpServers"]
        profile = {name: {"name": name, "profile_tags": ["all"], **entry} for name, entry in servers.items()}
        folder = home / ".config" / "mcpm"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "servers.json").write_text(json.dumps(profile), "utf-8")
        return str(python.with_name("mcpm")), "profile", "run", "all"

    return Subject("mcpm", command, _spelt_with_underscores, imports=(str(python), "mcpm.cli"))


def _spelt_with_underscores(server: str, tool: str, count: int) -> str:
    return tool if count == 1 else f"{server}_{tool}"  # FastMCP leaves a single server's names as they are


SUBJECTS: Mapping[str, Callable[[], Subject]] = {
    "direct": direct,
    "floor": floor,
    "search-mcp": search_mcp,
    "fastmcp": fastmcp,
    "fastmcp-persistent": fastmcp_persistent,
    "mcpm": mcpm,
}
"""Made when they are wanted: some have to be installed first."""
