"""A service with the interface of OpenAI for embeddings, which behaves as a test says."""

import hashlib
import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

NUMBERS = 32
Answer = tuple[int, Mapping[str, str], bytes]


@dataclass(frozen=True)
class Asked:
    """A request as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def texts(self) -> Sequence[str]:
        return tuple(self.body["input"])


def vector(text: str, numbers: int = NUMBERS) -> list[float]:
    """Return a vector that depends on the text alone; two texts are unrelated."""
    digits = b"".join(hashlib.sha256(f"{part}{text}".encode()).digest() for part in range(numbers // 32 + 1))
    return [digit / 127.5 - 1.0 for digit in digits[:numbers]]


def answer(vectors: Sequence[object]) -> Answer:
    items = [{"object": "embedding", "index": index, "embedding": each} for index, each in enumerate(vectors)]
    return 200, {}, json.dumps({"object": "list", "data": items, "model": "m", "usage": {}}).encode()


def usual(asked: Asked) -> Answer:
    return answer([vector(each) for each in asked.texts])


def refusal(status: int, error: object, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, named, json.dumps({"error": error}).encode()


@dataclass
class Service:
    """What the service has been asked, and how it answers."""

    port: int
    asked: list[Asked] = field(default_factory=list)
    respond: Callable[[Asked], Answer | None] = usual
    """`None` if the connection is to be closed without an answer."""
    clients: set[Any] = field(default_factory=set)
    scheme: str = "http"

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/v1"

    @property
    def texts(self) -> list[str]:
        return [text for each in self.asked for text in each.texts]


@contextmanager
def serving(context: ssl.SSLContext | None = None) -> Iterator[Service]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name in the base class
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            service.clients.add(self.client_address)
            asked = Asked(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            service.asked.append(asked)
            found = service.respond(asked)
            if found is None:
                self.close_connection = True
                return
            status, headers, content = found
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, request: object, client_address: object) -> None:
            pass  # a client that went away

    with Server(("127.0.0.1", 0), Handler) as server:
        service = Service(server.server_address[1])
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
            service.scheme = "https"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()
