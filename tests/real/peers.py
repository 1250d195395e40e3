"""Visits: one real client plays one script against one server, and everything either said is kept.

A client is a program in `clients/` (or the Inspector's command line) that is given the server's command and
a list of steps, and prints what its SDK showed it, one JSON object a line. A tap between the two keeps the
lines themselves. This module starts processes and collects; what is right is for the tests to say.

A step is `{"do": METHOD, "params": {...}}`, with `"progress": true` to ask for progress or `"cancel": true`
to abandon the request at its first progress, or `{"await": METHOD}` for a notification. `answers` maps the
requests a server may send to what the client answers; the client declares exactly these capabilities.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
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
    """One real client: which program plays the script, in which of its modes."""

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
    """A folder of its own for everything one visit makes, a home for its processes, and a mark on them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark = {processes.VARIABLE: folder.name}
        (folder / "home").mkdir()

    @property
    def environment(self) -> dict[str, str]:
        """This process's environment with a home where nothing is cached or configured yet."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
        homes = ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA")
        return kept | dict.fromkeys(homes, str(self.folder / "home")) | self.mark

    def tapped(self, server: list[str], name: str) -> list[str]:
        """Put a tap in front of a server: the command line to use in its place."""
        log = self.folder / f"tap-{name}"
        log.mkdir(exist_ok=True)
        return [sys.executable, "-S", str(HERE / "tap.py"), str(log), *server]

    def conversations(self, name: str) -> list[list[Line]]:
        """Read what a tap wrote down, one conversation for each process it started, oldest first."""
        logs = sorted((self.folder / f"tap-{name}").glob("*.log"))
        return [[(line[:1].decode(), line[2:]) for line in log.read_bytes().split(b"\n") if line] for log in logs]

    def play(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        """Run a client to its end."""
        options: dict[str, Any] = {"capture_output": True, "encoding": "utf-8", "errors": "replace"}
        try:
            return subprocess.run(command, env=self.environment, timeout=SECONDS, check=False, **options)
        except subprocess.TimeoutExpired as exc:
            visited = Visit([], self.conversations("front"), str(exc.stderr))
            raise AssertionError(f"still running after {SECONDS} s: {exc.stdout!r}\n{visited}") from exc


@dataclass(frozen=True)
class Exchange:
    """One request of a client, what the server reported on its progress, and the response if there was one."""

    method: str
    params: dict[str, Any]
    progress: list[float]
    cancelled: bool
    reply: Reply | None

    def fits(self, method: str, params: dict[str, Any]) -> bool:
        return self.method == method and params.items() <= self.params.items()


@dataclass(frozen=True)
class Visit:
    """What a client saw, and the lines that went by, by server process in the order of their start."""

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
        """What the client got for a step; fails if that was an error."""
        return self.one("result", step=step)["result"]

    def exchanges(self, method: str, **params: Any) -> list[Exchange]:
        """Find the requests with these parameters, and all that the server sent about each."""
        return [e for c in self.conversations for e in exchanges(c) if e.fits(method, params)]

    def __str__(self) -> str:
        events = "\n".join(json.dumps(event)[:500] for event in self.seen)
        lines = "\n\n".join("\n".join(f"{mark} {line[:500]!r}" for mark, line in c) for c in self.conversations)
        return f"--- seen\n{events}\n--- wire\n{lines}\n--- stderr\n{self.stderr[-4000:]}"


def as_asked(params: dict[str, Any], server: str) -> dict[str, Any]:
    """Write a server's question as search-mcp passes it on: it names who asks, and shares no context of others."""
    named = {"message": f"[{server}] {params['message']}"} if "message" in params else {}
    return {**params, **named, **({"includeContext": "none"} if "includeContext" in params else {})}


def visit(client: Client, server: list[str], steps: dict[str, Step], run: Run, **more: Any) -> Visit:
    """Let the client play its script, given by the names of its steps; `more` are further keys of it.

    Raises:
        AssertionError: the client failed or did not come to its end; shows all that was said.
    """
    script = {"command": run.tapped(server, "front"), "steps": list(steps.values()), "env": run.mark, **more}
    if client.program.startswith("typescript"):
        script["modules"] = str(packages.modules())
    if client.mode is not None:
        script["mode"] = client.mode
    done = run.play([*client.command(), json.dumps(script)])
    seen = [json.loads(line) for line in done.stdout.split("\n") if line]
    names = list(steps)
    seen = [event | ({"step": names[event["step"]]} if "step" in event else {}) for event in seen]
    visited = Visit(seen, run.conversations("front"), done.stderr)
    assert done.returncode == 0, f"the client ended with {done.returncode}\n{visited}"
    assert seen and seen[-1]["saw"] == "closed", f"the client did not come to its end\n{visited}"
    return visited


def inspect(server: list[str], arguments: list[str], run: Run) -> Visit:
    """Run one method with the Inspector's command line, which connects anew for each."""
    marks = [part for name, value in run.mark.items() for part in ("-e", f"{name}={value}")]
    target = ["--format", "json", *marks, "--", *run.tapped(server, "front")]
    done = run.play([*packages.inspector(), *arguments, *target])
    seen = [{"saw": "result", "step": "inspect", "result": json.loads(done.stdout)["result"]}] if done.stdout else []
    return Visit(seen, run.conversations("front"), done.stderr)


def judge(conversation: list[Line]) -> WireLog:
    """Replay a conversation through a WireLog, which fails at the first thing the server must not say.

    What crosses a cancellation on its way is no fault: the cancellation counts from where the server has read
    it for certain, which is before its first response to a later request.
    """
    log = WireLog()
    pending: list[bytes] = []  # cancellations the server may not have read yet
    later: set[object] = set()  # ids of the requests behind them
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
    """Check what we, as the client of a server, said to it: the official types, and no id used twice."""
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
    """Sort a conversation by the client's requests."""
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
