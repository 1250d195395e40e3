"""A running `search-mcp serve --http`, and clients of it that send what a test wants."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self
from uuid import uuid4

import httpx2
from processes.run import SECONDS, Json
from real.processes import VARIABLE, command_line, wait_until_gone

BOTH = "application/json, text/event-stream"
LEGACY, MODERN = "2025-11-25", "2026-07-28"
NONE: Mapping[str, str] = MappingProxyType({})
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "a client", "version": "1"},
}


def get(url: str, **headers: str) -> httpx2.Response:
    """Send a GET request without TLS; to load the certificates for it would take most of the time."""
    return httpx2.get(url, headers=headers, trust_env=False, verify=False)


class HttpServer:
    """The process; leaving the `with` ends it by SIGTERM and fails if a process of it is left."""

    def __init__(self, folder: Path, servers: dict[str, Json], *options: str, **settings: Any) -> None:
        self.folder, self._options = folder, options
        self._runtime = tempfile.TemporaryDirectory(prefix="search-mcp-")
        self._mark = uuid4().hex
        self.config = folder / "servers.json"
        self.config.write_text(
            json.dumps({"mcpServers": servers, "settings": {"firstListSeconds": 60, **settings}}), "utf-8"
        )
        self.more_environment: dict[str, str] = {}
        self.stderr: list[str] = []
        self.url = ""
        self._code = 0

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "SEARCH_MCP_"))}
        home = {"HOME": str(self.folder), "XDG_RUNTIME_DIR": self._runtime.name, VARIABLE: self._mark}
        return {**kept, **home, **self.more_environment}

    def types(self, *words: str, stdin: str = "") -> str:
        """Run a command in the same home; return what it prints."""
        done = subprocess.run(
            [sys.executable, "-m", "search_mcp", *words],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env=self.environment,
            cwd=self.folder,
            check=True,
        )
        return done.stdout.strip()

    def token(self, name: str, *options: str) -> str:
        """Make a token."""
        return self.types("token", "add", name, *options)

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "search_mcp", "serve", "--http", "127.0.0.1:0", "--config", str(self.config)]
        self.process = subprocess.Popen(
            [*command, *self._options], stderr=subprocess.PIPE, text=True, env=self.environment, cwd=self.folder
        )
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.stderr.append(line)
            if found := re.search(r'listening at (http[^\s"]+)', line):
                self.url = found[1]
                break
        assert self.url, "".join(self.stderr)
        self._rest = threading.Thread(target=self.stderr.extend, args=(self.process.stderr,))
        self._rest.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.process.terminate()
        code = self.process.wait(SECONDS)
        self._rest.join()
        assert self.process.stderr is not None
        self.process.stderr.close()
        print("".join(self.stderr)[-20_000:], file=sys.stderr)
        left = wait_until_gone(self._mark)
        self._runtime.cleanup()
        if kind is None:
            assert code == self._code
            assert not left, [command_line(each) for each in left]

    def kill(self) -> None:
        """End the process without a chance to do anything."""
        self.process.kill()
        self._code = -signal.SIGKILL

    @property
    def health(self) -> str:
        """The address for health and metrics, once it is logged."""
        while not (found := re.search(r'health at (http[^\s"]+)', "".join(self.stderr))):
            time.sleep(0.01)
        return found[1]

    def client(self, token: str = "", timeout: float = SECONDS) -> "HttpClient":
        return HttpClient(self.url, token, timeout)


class HttpClient(httpx2.Client):
    """A client of MCP over HTTP, without TLS, that checks nothing by itself."""

    def __init__(self, url: str, token: str = "", timeout: float = SECONDS) -> None:
        self.address = url
        authorization = {"authorization": f"Bearer {token}"} if token else {}
        headers = {"accept": BOTH, **authorization}
        super().__init__(timeout=timeout, trust_env=False, verify=False, headers=headers)
        self.session: dict[str, str] = {}
        self._id = 0

    # Legacy

    def opens(self, revision: str = LEGACY, **capabilities: Any) -> httpx2.Response:
        """Initialize a legacy session."""
        info = {"name": "a client", "version": "1"}
        answer = self.sends("initialize", protocolVersion=revision, capabilities=capabilities, clientInfo=info)
        if answer.status_code == 200:
            self.session = {"mcp-session-id": answer.headers["mcp-session-id"], "mcp-protocol-version": revision}
            assert self.posts({"jsonrpc": "2.0", "method": "notifications/initialized"}).status_code == 202
        return answer

    def sends(self, method: str, **params: Any) -> httpx2.Response:
        """Send a legacy request."""
        return self.posts(self.request_of(method, params))

    def request_of(self, method: str, params: Json) -> Json:
        self._id += 1
        return {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}

    # Modern

    def asks(self, method: str, *, headers: Mapping[str, str] = NONE, **params: Any) -> httpx2.Response:
        """Send a modern request, with the headers that it has to have."""
        return self.posts(self.modern_of(method, params), headers={**self.headers_of(method, params), **headers})

    def modern_of(self, method: str, params: Json) -> Json:
        return self.request_of(method, {**params, "_meta": {**META, **params.get("_meta", {})}})

    def headers_of(self, method: str, params: Json) -> dict[str, str]:
        named = params.get("name") or params.get("uri")
        return {
            "mcp-protocol-version": MODERN,
            "mcp-method": method,
            **({"mcp-name": named} if named is not None else {}),
        }

    # Either

    def posts(self, message: object, *, headers: Mapping[str, str] = NONE) -> httpx2.Response:
        content = message if isinstance(message, bytes) else json.dumps(message).encode()
        kind = {"content-type": "application/json"}
        return self.post(self.address, content=content, headers={**kind, **self.session, **headers})

    @contextmanager
    def posting(self, message: object, *, headers: Mapping[str, str] = NONE) -> Iterator[Iterator[Json]]:
        """Send a message; yield the messages of the response as they come."""
        kind = {"content-type": "application/json"}
        content = json.dumps(message).encode()
        whole = {**kind, **self.session, **headers}
        with self.stream("POST", self.address, content=content, headers=whole) as response:
            yield events(response)

    @contextmanager
    def listening(self, last_event: str = "") -> Iterator[Iterator[Json]]:
        """Open the stream of messages that belong to no request."""
        resumed = {"last-event-id": last_event} if last_event else {}
        with self.stream("GET", self.address, headers={**self.session, **resumed}) as response:
            assert response.status_code == 200, response.status_code
            yield events(response)


def events(response: httpx2.Response) -> Iterator[Json]:
    """Yield the messages of a stream of events, each with its `event_id`."""
    event_id = ""
    for line in response.iter_lines():
        if line.startswith("id: "):
            event_id = line[4:]
        if line.startswith("data: ") and len(line) > 6:
            yield {**json.loads(line[6:]), "event_id": event_id}


def result(response: httpx2.Response) -> Json:
    """Return the result in a response, as JSON or as the last event."""
    assert response.status_code == 200, response.text
    if response.headers["content-type"] == "application/json":
        found: Json = response.json()
    else:
        found = [json.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data: {")][-1]
    assert "result" in found, found
    answer: Json = found["result"]
    return answer


def text(response: httpx2.Response) -> str:
    """Return the text of the result of a tool."""
    words: str = result(response)["content"][0]["text"]
    return words
