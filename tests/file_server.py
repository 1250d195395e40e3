"""A server of files on this machine, that can break off, redirect and give wrong bytes."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext
from threading import Event, Thread
from typing import Any


class FileServer(ThreadingHTTPServer):
    """Serves files from memory, with ranges."""

    daemon_threads = True

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files, self.scheme = files, "http"
        self.requests: list[tuple[str, str | None]] = []
        """Path and `Range` of each request."""
        self.hosts: list[str] = []
        """The `Host` of each request."""
        self.has_ranges = True
        self.most_bytes: int | None = None
        """After so many bytes of an answer, the connection is closed."""
        self.holds = False
        """Whether the connection stays open then, without a further byte."""
        self.is_held = Event()
        self.redirects: dict[str, str] = {}

    @property
    def address(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_port}/"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FileServer

    def do_GET(self) -> None:
        path, wanted = self.path.rpartition("//")[2].partition("/")[2], self.headers.get("range")
        path = path if self.path.startswith("http") else self.path[1:]  # a proxy is asked for whole addresses
        self.server.requests.append((path, wanted))
        self.server.hosts.append(self.headers["host"])
        self.close_connection = True
        if path in self.server.redirects:
            self._answer(302, b"", {"location": self.server.redirects[path]})
        elif path not in self.server.files:
            self._answer(404, b"no such file", {})
        elif wanted is None or not self.server.has_ranges:
            self._answer(200, self.server.files[path], {})
        else:
            whole, start = self.server.files[path], int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(whole):
                self._answer(416, b"", {})
            else:
                self._answer(206, whole[start:], {"content-range": f"bytes {start}-{len(whole) - 1}/{len(whole)}"})

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(body)), "connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: self.server.most_bytes])
        if self.server.holds and self.server.most_bytes is not None:
            self.wfile.flush()
            self.server.is_held.set()
            self.rfile.read(1)  # until the client closes the connection

    def log_message(self, *_: Any) -> None:
        """Write nothing."""


@contextmanager
def serving(files: dict[str, bytes], context: SSLContext | None = None) -> Iterator[FileServer]:
    with FileServer(files) as server:
        if context is not None:
            server.socket, server.scheme = context.wrap_socket(server.socket, server_side=True), "https"
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
