"""A protected MCP server and its authorization server in one, on loopback: rotates refresh tokens, forgives no old one.

The server has one tool, `say`, which returns its `text`.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

SECONDS = 60.0
"""Until what must happen counts as not happening."""


class Authorization(ThreadingHTTPServer):
    """The state of the server: which tokens are valid."""

    handler: type[BaseHTTPRequestHandler]
    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), self.handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.login_page = f"{self.url}/authorization"
        """The authorization endpoint in its metadata."""
        self.names_issuer = True
        self.lifetime: float | None = 3600
        self.scopes = ""
        """Scopes that a call needs."""
        self.refused_streams: int | None = None
        """How often a stream for news was refused for lack of a login, whatever the token; `None`: there is none."""
        self.knows_client = True
        self.open_methods: set[str] = set()
        """Methods that need no login."""
        self.hold = threading.Event()
        """Set while answers of the token endpoint are sent at once."""
        self.hold.set()
        self.asked = threading.Event()
        """Set by a request to the token endpoint."""
        self.lock = threading.Lock()
        self.number = 0
        self.access: dict[str, str] = {}
        """Valid access tokens with their scopes."""
        self.refresh: str | None = None
        self.spent: set[str] = set()
        self.codes: dict[str, dict[str, str]] = {}
        self.calls: list[int] = []
        """Statuses of the answers to calls."""
        self.sent: list[str] = []
        """The codes that it was sent."""
        self.redeemed = 0
        self.logged_out: list[str] = []
        self.proofs: list[str] = []
        """The headers that proved who the client is when tokens were revoked."""
        self.revokes = True
        self.revoked = 0
        """How often a spent refresh token came back, after which all tokens are void."""

    def tokens(self, scope: str) -> dict[str, Any]:
        self.number += 1
        access, self.refresh = f"access-{self.number}", f"refresh-{self.number}"
        self.access[access] = scope
        lifetime = {} if self.lifetime is None else {"expires_in": self.lifetime}
        given = {"access_token": access, "token_type": "Bearer", "refresh_token": self.refresh, "scope": scope}
        return {**given, **lifetime}

    def token(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        with self.lock:
            if form["grant_type"] == "client_credentials":
                return 200, self.tokens(form.get("scope", ""))
            if form["grant_type"] == "authorization_code":
                self.sent.append(form["code"])
                asked = self.codes.pop(form["code"], None)
                return (200, self.tokens(asked.get("scope", ""))) if asked else (400, {"error": "invalid_grant"})
            if not self.knows_client:
                return 401, {"error": "invalid_client"}
            given = form["refresh_token"]
            if given in self.spent:
                self.revoked += 1
                self.access, self.refresh = {}, None
            if given != self.refresh:
                return 400, {"error": "invalid_grant", "error_description": "The refresh token was used before"}
            self.spent.add(given)
            self.redeemed += 1
            return 200, self.tokens("")

    def expire(self) -> None:
        """Make all access tokens void."""
        with self.lock:
            self.access.clear()


class Requests(BaseHTTPRequestHandler):
    server: Authorization

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # its name in the base class
        pass

    def reply(self, status: int, content: object = None, **headers: str) -> None:
        body = b"" if content is None else json.dumps(content).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        url, here = urlsplit(self.path), self.server.url
        if url.path.startswith("/.well-known/oauth-protected-resource"):
            self.reply(200, {"resource": f"{here}/mcp", "authorization_servers": [here]})
        elif url.path == "/.well-known/oauth-authorization-server":
            endpoints = {f"{name}_endpoint": f"{here}/{name}" for name in ("token", "registration", "revocation")}
            rest = {
                "authorization_endpoint": self.server.login_page,
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": self.server.names_issuer,
            }
            self.reply(200, {"issuer": here, **endpoints, **rest})
        elif url.path == "/authorization":
            asked = {name: value for name, (value,) in parse_qs(url.query).items()}
            code = f"code-{len(self.server.codes)}"
            self.server.codes[code] = asked
            issuer = {"iss": here} if self.server.names_issuer else {}
            answer = urlencode({"code": code, "state": asked["state"], **issuer})
            self.reply(302, Location=f"{asked['redirect_uri']}?{answer}")
        elif url.path == "/mcp" and self.server.refused_streams is not None:
            self.server.refused_streams += 1
            self.reply(401, {}, WWW_Authenticate="Bearer")
        else:
            self.reply(404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()
        if self.path == "/registration":
            self.reply(201, {"client_id": "registered", "redirect_uris": json.loads(body)["redirect_uris"]})
        elif self.path == "/revocation":
            self.server.logged_out += parse_qs(body)["token"]
            self.server.proofs += self.headers.get_all("Authorization") or []
            self.reply(200 if self.server.revokes else 503)
        elif self.path == "/token":
            status, content = self.server.token({name: value for name, (value,) in parse_qs(body).items()})
            self.server.asked.set()
            self.server.hold.wait(SECONDS)
            self.reply(status, content)
        else:
            self.call(json.loads(body))

    def call(self, message: dict[str, Any]) -> None:
        granted = (
            self.server.access.get(self.headers["Authorization"].removeprefix("Bearer "))
            if self.headers["Authorization"]
            else None
        )
        method = message.get("method", "")
        if method in self.server.open_methods:
            status, challenge = 200, ""
        elif granted is None:
            status, challenge = (
                401,
                f'Bearer resource_metadata="{self.server.url}/.well-known/oauth-protected-resource"',
            )
        elif not {*self.server.scopes.split()} <= {*granted.split()}:
            status, challenge = 403, f'Bearer error="insufficient_scope", scope="{self.server.scopes}"'
        else:
            status, challenge = 200, ""
        if method in ("tools/call", ""):
            self.server.calls.append(status)
        if challenge:
            self.reply(status, {}, WWW_Authenticate=challenge)
        elif "id" not in message:
            self.reply(202 if method else 200, None if method else {})
        else:
            self.reply(200, {"jsonrpc": "2.0", "id": message["id"], **answered(method, message.get("params", {}))})


def answered(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Answer a request of MCP."""
    match method:
        case "initialize":
            info = {"name": "protected", "version": "1"}
            version = params["protocolVersion"]
            return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
        case "tools/list":
            schema = {"type": "object", "properties": {"text": {"type": "string"}}}
            return {"result": {"tools": [{"name": "say", "description": "Say it", "inputSchema": schema}]}}
        case "tools/call":
            return {"result": {"content": [{"type": "text", "text": params["arguments"]["text"]}]}}
    return {"error": {"code": -32601, "message": "Method not found"}}


Authorization.handler = Requests


@contextmanager
def authorization(server: Authorization | None = None) -> Iterator[Authorization]:
    """Run a server in a thread, this one or a new one."""
    with server or Authorization() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.hold.set()
            server.shutdown()
            thread.join()
