"""The real command, run as from a shell, with a home folder of its own."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fork_server import ForkServer, forked

from search_mcp.cli.terminal import Terminal

SERVERS = Path(__file__).parent / "servers"
SECONDS = 120  # reached only by a failure, even on a busy machine
COMMAND = (sys.executable, "-m", "search_mcp")
_NOT_INHERITED = {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "SEARCH_MCP_CONFIG", "PYTHONIOENCODING", "TERM"}


def server(name: str, *args: str, **entry: Any) -> dict[str, Any]:
    """Return the entry of one of the servers in the folder `servers`."""
    return {"command": sys.executable, "args": [str(SERVERS / f"{name}.py"), *args], **entry}


TIME: dict[str, Any] = {"command": sys.executable, "args": ["-m", "mcp_server_time"]}


@dataclass(frozen=True)
class Ended:
    """The result of a run of the command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Place:
    """A folder to run in, which is also the home: the environment identifies the processes of a run."""

    folder: Path
    variables: dict[str, str]
    fork_server: ForkServer | None

    def run(self, *words: str, stdin: str = "", command: tuple[str, ...] | None = None, **variables: str) -> Ended:
        """Run search-mcp until it exits, in a forked process if that makes no difference, or another command."""
        environment = {**self.variables, **variables}
        if command is None and (forks := self.fork_server_for(environment)) is not None:
            done = forks.run(
                ["-m", "search_mcp", *words],
                stdin=stdin.encode(),
                folder=self.folder,
                environment=environment,
                seconds=SECONDS,
            )
        else:
            done = subprocess.run(
                [*(command or COMMAND), *words],
                input=stdin.encode(),
                capture_output=True,
                timeout=SECONDS,
                check=False,
                cwd=self.folder,
                env=environment,
            )
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())

    def fork_server_for(self, environment: dict[str, str]) -> ForkServer | None:
        """Return the fork server if its children behave like a new process in this environment."""
        return self.fork_server if self.fork_server is not None and self.fork_server.fits(environment) else None

    @property
    def config(self) -> Path:
        """Path of the configuration in the user's own folder."""
        folder = {"darwin": self.folder / "Library" / "Application Support", "win32": self.folder / "AppData" / "Local"}
        return folder.get(sys.platform, Path(self.variables["XDG_CONFIG_HOME"])) / "search-mcp" / "mcp-servers.json"

    def configure(self, servers: dict[str, Any], **settings: Any) -> None:
        """Write the configuration; without an engine by default, so that a `serve` leaves none."""
        self.config.parent.mkdir(parents=True, exist_ok=True)
        whole = {"mcpServers": servers, "settings": {"engine": "own", **settings}}
        self.config.write_text(json.dumps(whole), encoding="utf-8")

    def processes(self) -> set[int]:
        """Return the running processes of this place, on systems with /proc."""
        mark = f"HOME={self.folder}".encode()
        return {int(entry.name) for entry in Path("/proc").glob("[0-9]*") if mark in _environment(entry)}

    def leaves_no_process(self) -> bool:
        """Wait until none is left: the shell that would end the servers of a killed command ends a moment after it."""
        deadline = time.monotonic() + SECONDS
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.01)
        return not self.processes()


class Asked(Terminal):
    """A terminal with a person who answers questions; without an answer, none is expected."""

    is_interactive = True

    def __init__(self, answer: bool | None) -> None:
        super().__init__()
        self.answer, self.questions = answer, list[str]()

    def confirm(self, question: str) -> bool:
        self.questions.append(question)
        assert self.answer is not None, "no question is expected"
        return self.answer


def completed(place: Place, line: str) -> list[str]:
    """Return the words with which a shell completes a command line."""
    ended = place.run(_SEARCH_MCP_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(line.count(" ")))
    assert (ended.code, ended.err) == (0, "")
    return ended.out.split()


@pytest.fixture(params=[80, 140])
def columns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Two widths of output."""
    monkeypatch.setenv("COLUMNS", str(request.param))
    return int(request.param)


def log(place: Place, name: str) -> Path:
    """Return the path of a server's log file on this platform."""
    script = "from search_mcp.folders import log_folder; print(log_folder())"
    folder = Path(place.run(command=(sys.executable, "-c", script)).out.strip())
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name}.log"


def _environment(process: Path) -> list[bytes]:
    try:
        return (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


@pytest.fixture
def place(tmp_path: Path, fork_server: ForkServer | None) -> Place:
    inherited = {key: value for key, value in os.environ.items() if key not in _NOT_INHERITED}
    folders = {
        name: str(tmp_path / name) for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
    }
    no_network = dict.fromkeys(("HTTPS_PROXY", "https_proxy"), "http://127.0.0.1:9")  # no network, on every machine
    return Place(
        tmp_path, {**inherited, **folders, **no_network, "HOME": str(tmp_path), "PYTHONUTF8": "1"}, fork_server
    )


@pytest.fixture
def configured(place: Place) -> Callable[..., Place]:
    """Return a function that makes a place with these servers."""

    def configure(**servers: dict[str, Any]) -> Place:
        place.configure(servers)
        return place

    return configure


@pytest.fixture
def time_server(server_fork_server: ForkServer | None) -> dict[str, Any]:
    """The entry of a server with the Python SDK, whose import takes a second."""
    command, *args = forked(server_fork_server, [TIME["command"], *TIME["args"]])
    return {"command": command, "args": args}


@pytest.fixture
def toolbox(place: Place) -> Place:
    """A place with a good server, and another one that fails."""
    place.configure({"toolbox": server("toolbox"), "dying": server("dying")})
    return place
