"""Real AI clients at the command line with a scripted model: their installation, configuration and start.

A client has a home of its own, with only the files that `search-mcp install` writes and the settings that let it run
without a person. This module knows the clients and runs their conversations; the tests judge the results.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from real import packages
from real.peers import Run
from real.scripted_model import Answer, Call, Json, Say, ScriptedModel, Turn

SECONDS = 180.0
"""Time limit for a client's conversation; the slowest needs about 30 s on two busy cores."""
OFFER_SECONDS = 60.0
"""Time limit for a tool to be offered."""

INHERITED = ("PATH", "LANG", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "COMSPEC", "PATHEXT", "XDG_RUNTIME_DIR")


@dataclass(frozen=True)
class Client:
    """A real client. `shell` is the call of the client's own tool that runs a command: a model waits with it."""

    program: Callable[[], list[str]]
    arguments: Callable[[str], list[str]]
    variables: Callable[[str], dict[str, str]]
    shell: Callable[[str], tuple[str, Json]]
    honours_news: bool
    """True if it lists tools again after `notifications/tools/list_changed`."""
    files: Mapping[str, Json] = field(default_factory=dict)
    """Settings that are in its home before `search-mcp install`, by path."""
    interruption: signal.Signals = signal.SIGTERM if os.name == "nt" else signal.SIGINT
    """Signal that makes it abandon a call and exit."""


def _codex_arguments(url: str) -> list[str]:
    provider = f'model_providers.scripted={{name="scripted", base_url="{url}/v1", wire_api="responses"}}'
    settings = ["-c", 'model_provider="scripted"', "-c", provider, "-m", "gpt-5"]
    return ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", *settings, "go"]


def _opencode_variables(url: str) -> dict[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": {"model": {}},
    }
    models = {"model": "scripted/model", "small_model": "scripted/model"}
    settings: Json = {"autoupdate": False, "share": "disabled", "provider": {"scripted": provider}, **models}
    return {
        "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "npm_config_offline": "true",
    }


CLIENTS = {
    "claude-code": Client(
        program=packages.claude_code,
        arguments=lambda url: ["-p", "go", "--allowedTools", "mcp__search-mcp", "Bash"],
        variables=lambda url: {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        },
        shell=lambda command: ("Bash", {"command": command}),
        honours_news=True,
    ),
    "codex": Client(
        program=packages.codex,
        arguments=_codex_arguments,
        variables=lambda url: {},
        shell=lambda command: ("exec_command", {"cmd": command}),
        honours_news=False,
    ),
    "gemini-cli": Client(
        program=packages.gemini_cli,
        arguments=lambda url: ["--skip-trust", "--yolo", "-m", "gemini-2.5-flash", "-p", "go"],
        variables=lambda url: {
            "GOOGLE_GEMINI_BASE_URL": url,
            "GEMINI_API_KEY": "none",
            "GEMINI_CLI_NO_RELAUNCH": "true",  # otherwise it would start itself a second time
        },
        shell=lambda command: ("run_shell_command", {"command": command}),
        honours_news=True,
        files={
            ".gemini/settings.json": {
                "general": {"enableAutoUpdate": False},
                "privacy": {"usageStatisticsEnabled": False},
                "security": {"auth": {"selectedType": "gemini-api-key"}},
            }
        },
    ),
    "opencode": Client(
        program=packages.opencode,
        arguments=lambda url: ["run", "--auto", "--title", "a test", "go"],
        variables=_opencode_variables,
        interruption=signal.SIGTERM,  # it ignores Ctrl-C while a tool runs
        shell=lambda command: ("bash", {"command": command, "description": "wait"}),
        honours_news=True,
    ),
}


class Home:
    """A user's computer: an empty home, a configuration of search-mcp, and a client with search-mcp installed."""

    def __init__(self, name: str, run: Run) -> None:
        self.client, self.run = CLIENTS[name], run
        self._name = name
        self._home, self._work = run.folder / "home", run.folder / "work"
        self._config = run.folder / "mcp-servers.json"
        self._work.mkdir()
        self.environment = {variable: os.environ[variable] for variable in INHERITED if variable in os.environ}
        self.environment |= dict.fromkeys(("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"), str(self._home))
        self.environment |= {"TERM": "dumb", **run.mark}
        for path, settings in self.client.files.items():
            self._write(self._home / path, settings)

    def configure(self, servers: Json) -> None:
        """Write the user's own configuration of search-mcp."""
        self._write(self._config, {"mcpServers": servers})

    def install(self) -> None:
        """Register search-mcp with the client."""
        command = [sys.executable, "-m", "search_mcp", "install", self._name, "--config", str(self._config)]
        subprocess.run(command, env=self.environment, cwd=self._work, timeout=SECONDS, check=True)

    def _write(self, file: Path, value: Json) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(value), encoding="utf-8")

    def converse(self, steps: "dict[str, Step]", interrupt: "Interruption | None" = None) -> "Conversation":
        """Start the client and let its model take the steps, until the client exits or is interrupted."""
        conversation = Conversation(self.client, steps)
        output = self.run.folder / f"output-{time.time_ns()}"
        with ScriptedModel(conversation) as model, output.open("wb") as file:
            command = [*self.client.program(), *self.client.arguments(model.url)]
            environment = self.environment | self.client.variables(model.url)
            process = subprocess.Popen(
                command,
                env=environment,
                cwd=self._work,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
            try:
                if interrupt is not None:
                    interrupt.wait_and_send(process, self.client.interruption)
                process.wait(SECONDS)
            except (subprocess.TimeoutExpired, TimeoutError) as exc:
                raise AssertionError(f"still running after {SECONDS:g} s\n{conversation}\n{_tail(output)}") from exc
            finally:
                process.kill()
                process.wait()
        conversation.output = _tail(output)
        return conversation


def _tail(output: Path) -> str:
    return output.read_text(encoding="utf-8", errors="replace")[-4000:]


class Interruption:
    """Signal to a client in the middle of a call, sent once a server has connected to `port`."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(SECONDS)
        self.port: int = self._listener.getsockname()[1]
        self.heard = b""

    def wait_and_send(self, process: "subprocess.Popen[Any]", number: signal.Signals) -> None:
        """Wait until the server reports its call, send the signal, and read until the server's process exits."""
        threading.Thread(target=self._wake_after, args=(process,), daemon=True).start()
        server, _ = self._listener.accept()
        with self._listener, server:
            server.settimeout(SECONDS)
            self.heard = server.recv(100)
            process.send_signal(number)
            self.heard += b"".join(iter(lambda: server.recv(100), b""))

    def _wake_after(self, process: "subprocess.Popen[Any]") -> None:
        """Connect instead of a server if the client exits before it has called one."""
        process.wait()
        with contextlib.suppress(OSError):  # the listener is closed: a server was called
            socket.create_connection(("127.0.0.1", self.port)).close()


@dataclass(frozen=True)
class Step:
    """A call that the model makes. `tool` is its canonical name; `reads` are texts that the answer must contain."""

    tool: str
    arguments: Json
    reads: tuple[str, ...] = ()


class Conversation:
    """Script of a model that takes steps in order, each once its tool is offered; and the record of it.

    `turns` are the client's requests, `taken` are those that were answered with a step, and `read` is the text that the
    model read after each step.
    """

    def __init__(self, client: Client, steps: dict[str, Step]) -> None:
        self.turns: list[Turn] = []
        self.taken: dict[str, Turn] = {}
        self.read: dict[str, str] = {}
        self.output = ""
        self._client = client
        self._steps = list(steps.items())
        self._asked: str | None = None
        self._give_up = time.monotonic() + OFFER_SECONDS

    def __call__(self, turn: Turn) -> Answer:
        self.turns.append(turn)
        if self._asked is not None:
            self.read[self._asked] = turn.results[-1]
            self._asked = None
        while self._steps:
            name, step = self._steps[0]
            tool = turn.find(step.tool)
            if tool is None and self._may_come(turn, step):
                # The comment makes each call different: clients stop a model that repeats itself.
                return self._own(turn, *self._client.shell(f"sleep 1 # {len(self.turns)}"))
            if tool is not None and tool.deferred:
                return self._own(turn, "ToolSearch", {"query": f"select:{tool.name}", "max_results": 5})
            self._steps.pop(0)
            if tool is not None:
                self._asked = name
                self.taken[name] = turn
                return Call(tool, step.arguments)
        return Say()

    def _may_come(self, turn: Turn, step: Step) -> bool:
        """Return whether to wait for a tool: our tools are listed with the first server's tools, or not at all."""
        return time.monotonic() < self._give_up and not ("." not in step.tool and turn.find("fast.echo"))

    def _own(self, turn: Turn, name: str, arguments: Json) -> Answer:
        tool = turn.find(name)
        return Call(tool, arguments) if tool else Say(f"{name} is not offered")

    @property
    def first_offer(self) -> Turn | None:
        """First request that offers any of our tools."""
        return next((turn for turn in self.turns if turn.find("search_tools")), None)

    def __str__(self) -> str:
        offered = [[tool.name for tool in turn.tools] for turn in self.turns]
        changes = [names for before, names in zip([[], *offered], offered, strict=False) if names != before]
        read = "\n".join(f"{step}: {text[:1000]}" for step, text in self.read.items())
        return f"--- offered\n{changes}\n--- read\n{read}\n--- output\n{self.output}"
