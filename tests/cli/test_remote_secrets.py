"""Secrets of remote servers: those of the configuration and those of a login are in no output, log, cache or record.

The server and its authorization server quote whatever they are sent, as careless ones do.
"""

import json
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from auth.authorization import SECONDS, Authorization, Requests, authorization

from cli.conftest import COMMAND, SERVERS, Place

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permissions and process lists of POSIX")

FAULTS: dict[str, Callable[["Quoting", dict[str, Any], str], None]] = {
    "a failure": lambda server, _message, said: server.reply(500, {"detail": said}),
    "a page": lambda server, _message, said: server.page(502, f"<html><h1>Bad gateway</h1>{said}</html>"),
    "a refusal": lambda server, _message, said: server.reply(
        403, {"detail": said}, WWW_Authenticate='Bearer error="insufficient_scope", scope="more"'
    ),
    "a redirect": lambda server, _message, said: server.reply(307, None, Location=f"http://localhost:1/{quote(said)}"),
    "no message": lambda server, _message, said: server.reply(200, {"said": said}),
    "an error": lambda server, message, said: server.reply(
        200, {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32000, "message": said}}
    ),
    "an error of HTTP": lambda server, message, said: server.reply(
        400, {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32000, "message": said}}
    ),
}


class Quoting(Requests):
    """Requests to a server that quotes them."""

    server: "Careless"

    def page(self, status: int, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def call(self, message: dict[str, Any]) -> None:
        self.server.saw(*(value for value in [self.headers["Authorization"]] if value))
        fault = FAULTS.get(message.get("params", {}).get("arguments", {}).get("text", ""))
        if fault is None:
            super().call(message)
        else:
            fault(self, message, " ".join([self.headers["Authorization"] or "", self.path, *self.headers.values()]))


class Careless(Authorization):
    """Remembers all secrets that it gave or was sent."""

    handler = Quoting

    def __init__(self) -> None:
        super().__init__()
        self.secrets: set[str] = set()
        self.processes = ""
        """The command lines of all processes while a token is asked for."""
        self.refuses = False
        """Whether it refuses to renew tokens."""

    def saw(self, *values: str) -> None:
        self.secrets |= {value.removeprefix("Bearer ") for value in values}

    def tokens(self, scope: str) -> dict[str, Any]:
        given = super().tokens(scope)
        access, self.refresh = (f"{each}-{secrets.token_hex(12)}" for each in ("access", "refresh"))
        self.access[access] = self.access.pop(given["access_token"])
        self.saw(access, self.refresh)
        return {**given, "access_token": access, "refresh_token": self.refresh}

    def token(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        self.saw(*(value for name, value in form.items() if name in ("code_verifier", "refresh_token")))
        self.processes += subprocess.run(["ps", "-axww", "-o", "args"], capture_output=True, text=True).stdout
        if self.refuses:
            return 400, {"error": "invalid_grant", "error_description": f"no such token: {json.dumps(form)}"}
        return super().token(form)


CLIENT_SECRET = "client+secret/0f9e8d7c6b5a4321=="
PASSWORD = "pass:word-77aa88bb99"
KEY = "key-in-query-1234567890abcdef"
PATH_KEY = "9f8e7d6c5b4a39281706f5e4d3c2b1a0"
HEADER = "header-value-aaaabbbbcccc1111"
CONFIGURED = {CLIENT_SECRET, PASSWORD, KEY, PATH_KEY, HEADER}


@pytest.fixture
def server() -> Iterator[Careless]:
    careless = Careless()
    with authorization(careless):
        yield careless


def entries(server: Careless) -> dict[str, Any]:
    login = {"clientId": "me", "clientSecret": CLIENT_SECRET}
    with_password = server.url.replace("://", f"://user:{quote(PASSWORD, safe='')}@")
    return {
        "files": {"url": f"{server.url}/mcp", "oauth": login, "headers": {"X-Key": HEADER}},
        "keyed": {"url": f"{with_password}/s/{PATH_KEY}/mcp?api_key={KEY}", "headers": {"X-Key": HEADER}},
        "bearer": {"url": f"{server.url}/b", "headers": {"Authorization": f"Bearer {HEADER}"}},
    }


def spelt(values: set[str]) -> set[str]:
    return {each for value in values for each in (value, quote(value), quote(value, safe=""), quote_plus(value))}


def found_in(text: str, values: set[str]) -> list[str]:
    """Return the lines with a secret."""
    return [line for line in text.splitlines() if any(value in line for value in spelt(values))]


def serve(place: Place, *messages: dict[str, Any]) -> tuple[str, str]:
    """Send messages to `serve` one after another; return all of its stdout and stderr."""
    pipe = subprocess.PIPE
    command = [*COMMAND, "serve", "--log-level", "debug"]
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=place.variables, cwd=place.folder
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        said = ""
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            process.stdin.flush()
            while "id" in message:
                line = process.stdout.readline()
                assert line, said
                said += line
                if json.loads(line).get("id") == message["id"]:
                    break
        rest, errors = process.communicate(timeout=SECONDS)
        return said + rest, errors


def session(servers: list[str], texts: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the messages of a client that calls each server, with every fault."""
    info = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    yield {"id": 0, "method": "initialize", "params": info}
    yield {"method": "notifications/initialized"}
    for number, (server, text) in enumerate(product(servers, texts), 1):
        params = {"name": f"{server}.say", "arguments": {"text": text}}
        yield {"id": number, "method": "tools/call", "params": params}
    for number, name in enumerate(["list_servers", "search_tools"], 1000):
        yield {"id": number, "method": "tools/call", "params": {"name": name, "arguments": {"query": "say"}}}


def written(place: Place) -> Iterator[Path]:
    """Yield the files under the home, except the configuration."""
    for path in place.folder.rglob("*"):
        if path.is_file() and place.config.parent not in path.parents and path != place.config:
            yield path


def test_no_secret_is_shown_or_written(place: Place, server: Careless) -> None:
    place.configure(entries(server))
    opener = f"{sys.executable} {SERVERS / 'opener.py'} %s"
    commands = [
        ("check", "--debug"),
        ("auth", "login", "files", "--debug"),
        ("auth", "status", "--json"),
        ("check", "--debug"),
        ("list", "--json"),
        ("servers", "--debug"),
        ("describe", "files.say", "--json"),
        ("call", "files.say", "text=a failure", "--debug"),
        ("add", "other", f"{server.url}/mcp?api_key={KEY}", "--header", f"X-Key: {HEADER}", "--dry-run"),
        ("disable", "keyed", "--dry-run"),
        ("disable", "keyed"),
        ("enable", "keyed"),
    ]
    problems: list[str] = []

    def look(where: str, text: str) -> None:
        problems.extend(f"{where}: {line[:300]}" for line in found_in(text, CONFIGURED | server.secrets))

    for words in commands:
        done = place.run(*words, BROWSER=opener)
        look(" ".join(words[:3]), done.out + done.err)
    for texts in (["hello", *FAULTS], ["hello"]):
        out, errors = serve(place, *session([*entries(server)], texts))
        look("answers of serve", out)
        look("log of serve", errors)
        server.expire()
        server.refuses = True
    look("the list of processes", server.processes)
    for path in written(place):
        if path.suffix == ".json" and path.parent.name == "logins":
            problems.extend(found_in(path.read_text(), CONFIGURED))
            assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        else:
            look(str(path.relative_to(place.folder)), path.read_bytes().decode(errors="replace"))
    assert found_in(place.config.read_text(), {CLIENT_SECRET}), "this test can find secrets"
    for path in place.config.parent.iterdir():
        assert path == place.config or path.stat().st_mode & 0o077 == 0, path
    for words in [("auth", "status"), ("auth", "logout", "files", "--debug")]:
        done = place.run(*words)
        look(" ".join(words), done.out + done.err)
    assert not problems, "\n".join(problems)
    assert len(server.secrets) >= 5
