"""Visits: a real client plays a script against a server, and the lines of both are recorded.

A client is a program in `clients/` (or the Inspector's command line). It gets the server's command and a list of
steps, and prints the events of its SDK as lines of JSON. A tap between client and server records the lines
themselves. This module starts processes and collects; the tests judge.

A step is `{"do": METHOD, "params": {...}}`, with `"progress": true` to ask for progress or `"cancel": true`
to abandon the request at its first progress, or `{"await": METHOD}` for a notification. `answers` maps the
requests a server may send to the client's answers; the client declares exactly these capabilities.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from fork_server import ForkServer, forked
from mcp_types import methods
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from wire_log import RESERVED, WireLog

from real import packages, processes
from real.conversation import Reply

HERE = Path(__file__).parent
SECONDS = 300  # one visit; the slowest takes about 5 s on two cores

Step = dict[str, Any]
Line = tuple[str, bytes]  # ">" from the client or "<" from the server, and the line without its newline


@dataclass(frozen=True)
class Client:
    """A real client: the program that plays the script, and its mode."""

    program: str
    mode: Any = None

    def command(self) -> list[str]:
        if self.program.startswith("typescript"):
            return [packages.node(), str(HERE / "clients" / f"{self.program}.mjs")]
        python = packages.python_1() if self.program == "python1" else sys.executable
        return [python, str(HERE / "clients" / f"{self.program}.py")]


CLIENTS = {
    "typescript-1": Client("typescript1"),
    "typescript-2": Client("typescript2"),
    "typescript-2-auto": Client("typescript2", "auto"),
    "typescript-2-modern": Client("typescript2", {"pin": "2026-07-28"}),
    "python-1": Client("python1"),
    "python-2": Client("python2"),
    "python-2-legacy": Client("python2", "legacy"),
    "python-2-modern": Client("python2", "2026-07-28"),
}


class Run:
    """A folder for all files of a visit, a home for its processes, and a mark on them.

    `forks` is a fork server for clients with the Python SDK, if there is one.
    """

    def __init__(self, folder: Path, forks: ForkServer | None = None) -> None:
        self.folder, self.forks = folder, forks
        self.mark = {processes.VARIABLE: folder.name}
        (folder / "home").mkdir()

    @property
    def environment(self) -> dict[str, str]:
        """Environment of this process, with an empty home."""
        dropped = ("XDG_C", "XDG_D", "XDG_S")  # all per-user folders but the one of engines
        kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
        homes = ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA")
        return kept | dict.fromkeys(homes, str(self.folder / "home")) | self.mark

    @property
    def passed_on(self) -> dict[str, str]:
        """Variables that a client has to pass on to its server, besides those that it does."""
        return {**self.mark, "XDG_RUNTIME_DIR": os.environ["XDG_RUNTIME_DIR"]}

    def tapped(self, server: list[str], name: str) -> list[str]:
        """Return the command line of a tap in front of a server."""
        log = self.folder / f"tap-{name}"
        log.mkdir(exist_ok=True)
        return [sys.executable, "-S", str(HERE / "tap.py"), str(log), *server]

    def conversations(self, name: str) -> list[list[Line]]:
        """Read the records of a tap: a conversation for each process it started, oldest first."""
        logs = sorted((self.folder / f"tap-{name}").glob("*.log"))
        return [[(line[:1].decode(), line[2:]) for line in log.read_bytes().split(b"\n") if line] for log in logs]

    def play(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        """Run a client until it exits."""
        options: dict[str, Any] = {"capture_output": True, "encoding": "utf-8", "errors": "replace"}
        try:
            return subprocess.run(command, env=self.environment, timeout=SECONDS, check=False, **options)
        except subprocess.TimeoutExpired as exc:
            visited = Visit([], self.conversations("front"), str(exc.stderr))
            raise AssertionError(f"still running after {SECONDS} s: {exc.stdout!r}\n{visited}") from exc


@dataclass(frozen=True)
class Exchange:
    """A request of a client, the server's progress reports about it, and its response if there is one."""

    method: str
    params: dict[str, Any]
    progress: list[float]
    cancelled: bool
    reply: Reply | None

    def fits(self, method: str, params: dict[str, Any]) -> bool:
        return self.method == method and params.items() <= self.params.items()


@dataclass(frozen=True)
class Visit:
    """The events that a client saw, and the recorded lines by server process, oldest first."""

    seen: list[dict[str, Any]]
    conversations: list[list[Line]]
    stderr: str

    def all(self, saw: str, **fields: Any) -> list[dict[str, Any]]:
        return [event for event in self.seen if event["saw"] == saw and fields.items() <= event.items()]

    def one(self, saw: str, **fields: Any) -> dict[str, Any]:
        found = self.all(saw, **fields)
        assert len(found) == 1, f"{len(found)} times {saw} {fields} in:\n{self}"
        return found[0]

    def result(self, step: str) -> Any:
        """Return the client's result of a step; fail if it was an error."""
        return self.one("result", step=step)["result"]

    def exchanges(self, method: str, **params: Any) -> list[Exchange]:
        """Return the requests with these parameters, and all messages of the server about each."""
        return [e for c in self.conversations for e in exchanges(c) if e.fits(method, params)]

    def __str__(self) -> str:
        events = "\n".join(json.dumps(event)[:500] for event in self.seen)
        lines = "\n\n".join("\n".join(f"{mark} {line[:500]!r}" for mark, line in c) for c in self.conversations)
        return f"--- seen\n{events}\n--- wire\n{lines}\n--- stderr\n{self.stderr[-4000:]}"


def as_asked(params: dict[str, Any], server: str) -> dict[str, Any]:
    """Return a server's question as search-mcp forwards it: with the server's name, without other servers' context."""
    named = {"message": f"[{server}] {params['message']}"} if "message" in params else {}
    return {**params, **named, **({"includeContext": "none"} if "includeContext" in params else {})}


def visit(client: Client, server: list[str], steps: dict[str, Step], run: Run, **more: Any) -> Visit:
    """Let the client play a script, given by the names of its steps; `more` are further keys of the script.

    Raises:
        AssertionError: the client failed or did not finish; the message has all recorded lines.
    """
    script = {"command": run.tapped(server, "front"), "steps": list(steps.values()), "env": run.passed_on, **more}
    if client.program.startswith("typescript"):
        script["modules"] = str(packages.modules())
    if client.mode is not None:
        script["mode"] = client.mode
    command = forked(run.forks, client.command()) if client.program == "python2" else client.command()
    done = run.play([*command, json.dumps(script)])
    seen = [json.loads(line) for line in done.stdout.split("\n") if line]
    names = list(steps)
    seen = [event | ({"step": names[event["step"]]} if "step" in event else {}) for event in seen]
    visited = Visit(seen, run.conversations("front"), done.stderr)
    assert done.returncode == 0, f"the client exited with code {done.returncode}\n{visited}"
    assert seen and seen[-1]["saw"] == "closed", f"the client did not finish\n{visited}"
    return visited


def inspect(server: list[str], arguments: list[str], run: Run) -> Visit:
    """Run one method with the Inspector's command line, which connects anew for each."""
    marks = [part for name, value in run.passed_on.items() for part in ("-e", f"{name}={value}")]
    target = ["--format", "json", *marks, "--", *run.tapped(server, "front")]
    done = run.play([*packages.inspector(), *arguments, *target])
    seen = [{"saw": "result", "step": "inspect", "result": json.loads(done.stdout)["result"]}] if done.stdout else []
    return Visit(seen, run.conversations("front"), done.stderr)


def judge(conversation: list[Line]) -> WireLog:
    """Replay a conversation through a WireLog, which fails at the first illegal message of the server.

    A message that crosses a cancellation is legal: the cancellation counts once the server has certainly read it, which
    is before its first response to a later request.
    """
    log = WireLog()
    pending: list[bytes] = []  # cancellations that the server may not have read yet
    later: set[object] = set()  # ids of the requests after them
    for direction, line in conversation:
        message = json.loads(line)
        if direction == ">" and message.get("method") == "notifications/cancelled":
            pending.append(line)
            later.clear()
            continue
        if direction == ">":
            later.add(message.get("id"))
            log.sent(line)
            continue
        if "method" not in message and message.get("id") in later:
            while pending:
                log.sent(pending.pop())
        log.received(line)
    for line in pending:
        log.sent(line)
    return log


def judge_client(conversation: list[Line]) -> None:
    """Check our messages to a server against the official types, and that no id is used twice."""
    revision, ids = None, set()
    for direction, line in conversation:
        message = json.loads(line)
        if direction == "<":
            revision = message.get("result", {}).get("protocolVersion", revision)
            continue
        params = message.get("params")
        spoken = (params or {}).get("_meta", {}).get(f"{RESERVED}protocolVersion") or revision
        if "method" not in message:
            assert message.keys() == {"jsonrpc", "id", "result"} or message.keys() == {"jsonrpc", "id", "error"}
        elif "id" in message:
            assert json.dumps(message["id"]) not in ids, f"an id used twice: {line!r}"
            ids.add(json.dumps(message["id"]))
            methods.validate_client_request(message["method"], spoken or LATEST_HANDSHAKE_VERSION, params)
        else:
            methods.validate_client_notification(message["method"], spoken or LATEST_HANDSHAKE_VERSION, params)


def exchanges(conversation: list[Line]) -> list[Exchange]:
    """Group a conversation by the client's requests."""
    said = [json.loads(line) for direction, line in conversation if direction == ">"]
    got = [msgspec.json.decode(line, type=Reply) for direction, line in conversation if direction == "<"]
    reports = [reply.params for reply in got if reply.method == "notifications/progress"]
    found = []
    for request in (message for message in said if "method" in message and "id" in message):
        params = request.get("params") or {}
        token = params.get("_meta", {}).get("progressToken")
        progress = [report["progress"] for report in reports if report["progressToken"] == token]
        cancels = {"method": "notifications/cancelled"}.items()
        cancelled = any(m["params"]["requestId"] == request["id"] for m in said if cancels <= m.items())
        reply = next((reply for reply in got if reply.method is None and reply.id == request["id"]), None)
        found.append(Exchange(request["method"], params, progress, cancelled, reply))
    return found
