"""Requests of logins: to checked addresses only, bounded, and with a clear reason when there is no answer."""

import contextlib
import gzip
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import trustme

from search_mcp.auth.addresses import Reach
from search_mcp.auth.errors import AddressRefused, AuthError
from search_mcp.auth.fetching import Fetcher
from search_mcp.auth.steps import Response, Steps, get, post_form
from search_mcp.http import client


class Pages(BaseHTTPRequestHandler):
    """Answers by path, and shows the headers of the request."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name in the base class
        pass

    def do_POST(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/elsewhere")
            self.end_headers()
            return
        if self.path == "/trickle":
            with contextlib.suppress(ConnectionError):
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
                while True:
                    self.wfile.write(b"x")
                    time.sleep(0.001)
        if self.path == "/broken":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab")
            return
        self.send_response(200)
        body = f"{self.path} {self.headers['Host']}".encode()
        if self.path == "/long":
            body = b"x" * (client.MOST_BYTES + 1)
        if self.path == "/gzip":
            body = gzip.compress(b"packed")
            self.send_header("Content-Encoding", "gzip")
        self.send_header("WWW-Authenticate", "Basic")
        self.send_header("WWW-Authenticate", "Bearer")
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def port() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def fetch(url: str, of: str = "http://127.0.0.1/mcp") -> Response:
    return Fetcher(of).fetch(get("metadata", url))


def test_a_page_is_read_with_the_name_of_its_host(port: int) -> None:
    response = fetch(f"http://localhost:{port}/x?y=1")
    assert (response.status, response.body) == (200, f"/x?y=1 localhost:{port}".encode())
    assert response.headers["www-authenticate"] == "Basic, Bearer"
    assert fetch(f"http://127.0.0.1:{port}/gzip").body == b"packed"


def test_redirects_are_not_followed(port: int) -> None:
    response = fetch(f"http://127.0.0.1:{port}/moved")
    assert (response.status, response.headers["location"]) == (302, "/elsewhere")


def test_a_long_answer_is_not_read_to_its_end(port: int) -> None:
    assert "its answer has more than 1 MiB" in fetch(f"http://127.0.0.1:{port}/long").failure


def test_answers_that_trickle_end_together(port: int) -> None:
    fetcher = Fetcher("http://127.0.0.1/mcp", seconds=0.05)
    for path in ("trickle", ""):
        failure = fetcher.fetch(get("metadata", f"http://127.0.0.1:{port}/{path}")).failure
        assert failure == "all answers together take longer than 0.05 s"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("http://127.0.0.1:9/", "no connection to 127.0.0.1"),
        ("http://no.invalid/", "was not found"),
        (f"http://{'a' * 64}.invalid/", "was not found: it is not the name of a host"),
        ("http://no..invalid/", "was not found: it is not the name of a host"),
    ],
)
def test_without_an_answer_the_reason_is_told(path: str, why: str) -> None:
    response = fetch(path)
    assert response.is_temporary
    assert why in response.failure


def test_a_connection_that_breaks(port: int) -> None:
    assert "it closed the connection before the end of its answer" in fetch(f"http://127.0.0.1:{port}/broken").failure


def test_a_name_that_leads_into_the_network_of_the_user_is_not_used(port: int) -> None:
    """`localhost` stands for a name of an attacker: it is looked up, too."""
    fetcher = Fetcher("https://8.8.8.8/mcp")
    for request in (get("metadata", f"http://localhost:{port}/"), post_form("token", f"http://localhost:{port}/", {})):
        with pytest.raises(AddressRefused, match="it is on this computer, and the server is not"):
            fetcher.fetch(request)


def test_the_name_of_the_server_is_resolved_once(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else an attacker's server could claim to be on this computer at first, and then answer from elsewhere."""

    resolve = socket.getaddrinfo

    def found(address: str) -> None:
        def look_up(host: Any, *args: Any, **options: Any) -> Any:
            return resolve(address if host == "mcp.example.com" else host, *args, **options)

        monkeypatch.setattr(socket, "getaddrinfo", look_up)

    monkeypatch.setenv("no_proxy", "*")
    found("127.0.0.1")
    fetcher = Fetcher("https://mcp.example.com/mcp")
    assert fetcher.reach is Reach.LOOPBACK
    found("192.0.2.1")
    assert fetcher.fetch(get("metadata", f"http://mcp.example.com:{port}/x")).status == 200


def test_steps_can_go_on_after_an_address_that_is_refused(port: int) -> None:
    def steps() -> Steps[str]:
        with contextlib.suppress(AddressRefused):
            yield get("metadata", f"http://127.0.0.1:{port}/")
        return "went on"

    assert Fetcher("https://8.8.8.8/mcp").run(steps()) == "went on"


@pytest.mark.parametrize(
    ("url", "reach"),
    [
        ("http://127.0.0.1/mcp", Reach.LOOPBACK),
        ("http://localhost:8000/mcp", Reach.LOOPBACK),
        ("https://10.0.0.1/mcp", Reach.PRIVATE),
        ("https://no.invalid/mcp", Reach.PUBLIC),
    ],
)
def test_the_reach_of_a_server(url: str, reach: Reach) -> None:
    assert Fetcher(url).reach is reach


def test_the_farthest_address_of_a_server_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server of an attacker may have a private address beside its own."""
    found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (each, 443)) for each in ("10.0.0.1", "8.8.8.8")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_options: found)
    assert Fetcher("https://mcp.example.com/mcp").reach is Reach.PUBLIC


def test_a_proxy_is_used_except_for_this_computer(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
    # The proxy looks names up, and is asked for a whole URL; it may have any address itself.
    response = fetch("http://auth.invalid/x", of="https://8.8.8.8/mcp")
    assert response.body == b"http://auth.invalid/x auth.invalid"
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert fetch(f"http://127.0.0.1:{port}/x").status == 200


# Certificates


@pytest.mark.parametrize(("name", "is_accepted"), [("localhost", True), ("other.example.com", False)])
def test_the_certificate_is_that_of_the_name_and_not_of_its_address(
    tmp_path: Path, name: str, is_accepted: bool
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        request = get("metadata", f"https://localhost:{server.server_address[1]}/x")
        try:
            known = Fetcher("https://localhost/mcp", str(tmp_path / "ca.pem")).fetch(request)
            unknown = Fetcher("https://localhost/mcp").fetch(request)
        finally:
            server.shutdown()
            thread.join()
    assert (known.status == 200) is is_accepted
    assert is_accepted or "the certificate of localhost is not trusted" in known.failure
    assert "the certificate of localhost is not trusted" in unknown.failure


def test_a_file_of_certificates_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.pem", tmp_path):
        with pytest.raises(AuthError, match=r'"caFile" \(.*\) cannot be read'):
            Fetcher("https://127.0.0.1/mcp", str(path)).fetch(get("metadata", "https://127.0.0.1:9/"))


def test_a_server_without_tls(port: int) -> None:
    assert "127.0.0.1" in fetch(f"https://127.0.0.1:{port}/").failure
