"""The way to an address: redirects, certificates, proxies, and answers without an end."""

import contextlib
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trustme
from embeddings_service import Answer, Asked, Service, serving, usual

from search_mcp.semantic import address_client, calibration
from search_mcp.semantic.address_client import AddressClient, endpoint
from search_mcp.semantic.embeddings import request
from search_mcp.semantic.encoding import EncodingError

BODY = request("m", ["one"])
KEY = "sk-very-secret-0123456789"


@pytest.fixture
def service() -> Iterator[Service]:
    with serving() as running:
        yield running


def to(url: str, seconds: float = 20.0, ca_file: str = "") -> contextlib.closing[AddressClient]:
    return contextlib.closing(AddressClient(endpoint(url), KEY, ca_file, seconds))


def why(url: str, seconds: float = 20.0, ca_file: str = "") -> str:
    with to(url, seconds, ca_file) as client, pytest.raises(EncodingError) as raised:
        client.post(BODY)
    assert KEY not in repr(raised.value)
    return str(raised.value)


def redirect(status: int, location: str) -> Callable[[Asked], Answer]:
    return lambda asked: usual(asked) if asked.path == "/moved" else (status, {"Location": location}, b"")


def test_a_redirect_to_the_same_host_is_followed(service: Service) -> None:
    service.respond = redirect(307, "/moved")
    with to(service.url) as client:
        assert client.post(BODY).status == 200
    assert [each.path for each in service.asked] == ["/v1/embeddings", "/moved"]
    assert service.asked[1].headers["authorization"] == f"Bearer {KEY}"


def test_a_redirect_elsewhere_is_not_followed(service: Service) -> None:
    service.respond = redirect(308, "https://user:word@example.com/v1?key=abcd")
    assert why(service.url) == "cannot be asked: it redirects to another address, https://example.com/v1"


def test_a_redirect_without_a_location_is_an_answer(service: Service) -> None:
    service.respond = lambda _asked: (307, {}, b"")
    with to(service.url) as client:
        assert client.post(BODY).status == 307


def test_a_request_is_repeated_if_an_idle_connection_is_closed(service: Service) -> None:
    service.respond = lambda asked: None if len(service.asked) == 2 else usual(asked)
    with to(service.url) as client:
        assert [client.post(BODY).status for _ in range(2)] == [200, 200]
    assert len(service.asked) == 3


def test_addresses_of_ipv6_and_names_of_this_computer(service: Service) -> None:
    with to(f"http://localhost:{service.port}/v1") as client:
        assert (client.post(BODY).status, client.where) == (200, f"localhost:{service.port}")
    with to("http://[::1]:1/v1") as client:
        assert client.where == "[::1]:1"


# Answers without an end


@contextlib.contextmanager
def answering(write: Callable[[socket.socket, threading.Event], object]) -> Iterator[str]:
    """Yield the address of a server that writes something to each client."""
    is_over = threading.Event()

    def serve() -> None:
        while not is_over.is_set():
            with contextlib.suppress(OSError), listening.accept()[0] as connection:
                connection.recv(65536)
                write(connection, is_over)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        where = listening.getsockname()
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{where[1]}/v1"
        finally:
            is_over.set()
            with contextlib.suppress(OSError):  # so that the thread stops waiting for a client
                socket.create_connection(where).close()
            thread.join()


def silence(_connection: socket.socket, is_over: threading.Event) -> None:
    is_over.wait()


def drip(connection: socket.socket, is_over: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    while not is_over.wait(0.01):
        connection.sendall(b"x")


def drip_of_content(connection: socket.socket, is_over: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while not is_over.wait(0.01):
        connection.sendall(b" ")


def flood(connection: socket.socket, is_over: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
    while not is_over.is_set():
        connection.sendall(b" " * (1 << 20))


ENDLESS = [
    (silence, "gives no answer within 0.3 s"),
    (drip, "gives no answer within 0.3 s"),
    (drip_of_content, "gives no answer within 0.3 s"),
]


@pytest.mark.parametrize(("write", "reason"), ENDLESS)
def test_an_answer_that_takes_too_long(write: Callable[..., None], reason: str) -> None:
    with answering(write) as url:
        assert why(url, 0.3) == reason


def test_an_answer_that_is_too_long() -> None:
    with answering(flood) as url:
        assert why(url) == "cannot be asked: its answer has more than 16 MiB"


def test_an_answer_that_breaks_off() -> None:
    with answering(
        lambda connection, _is_over: connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{")
    ) as url:
        assert why(url) == "cannot be asked: it closed the connection before the end of its answer"


# The end


def test_closing_ends_a_request() -> None:
    asked = threading.Event()
    reasons: list[str] = []

    def ask() -> None:
        with pytest.raises(EncodingError) as raised:
            client.post(BODY)
        reasons.append(str(raised.value))

    def wait(_connection: socket.socket, is_over: threading.Event) -> None:
        asked.set()
        is_over.wait()

    with answering(wait) as url:
        client = AddressClient(endpoint(url), KEY)
        thread = threading.Thread(target=ask)
        thread.start()
        assert asked.wait(20)
        client.close()
        thread.join(20)
    ask()
    assert reasons == ["is no longer used"] * 2
    client.close()


def test_a_process_ends_with_open_connections(service: Service) -> None:
    code = f"""
from search_mcp.semantic.address_client import AddressClient
client = AddressClient({endpoint(service.url)!r}, "")
print(client.post({BODY!r}).status)
"""
    ended = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, timeout=60, check=True)
    assert (ended.stdout.split(), ended.stderr) == ([b"200"], b"")


# The way there


def test_nothing_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    assert why(f"http://127.0.0.1:{port}/v1").startswith(f"cannot be asked: no connection to 127.0.0.1:{port}: ")


def test_a_name_without_an_address() -> None:
    assert why("https://nowhere.invalid/v1").startswith("cannot be asked: the name nowhere.invalid cannot be")


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def secure(authority: trustme.CA) -> Iterator[Service]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with serving(context) as running:
        yield running


def test_the_certificate_of_a_private_authority(
    secure: Service, authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = why(secure.url)
    assert reason.startswith("cannot be asked: the certificate of 127.0.0.1 is not trusted (")
    assert reason.endswith('; if your own network made it, name the CA file in "caFile" or SSL_CERT_FILE')
    authority.cert_pem.write_to_path(str(tmp_path / "corp.pem"))
    with to(secure.url, ca_file=str(tmp_path / "corp.pem")) as client:
        assert client.post(BODY).status == 200
    (tmp_path / "text.pem").write_text("no certificate")
    for name in ("none.pem", "text.pem"):
        file = str(tmp_path / name)
        assert why(secure.url, ca_file=file).startswith(f'cannot be asked: "caFile" ({file}) cannot be read: ')
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "corp.pem"))
    with to(secure.url) as client:
        assert client.post(BODY).status == 200
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    assert why(secure.url).startswith("cannot be asked: the certificates cannot be read: ")


def test_https_to_a_service_without_it(service: Service) -> None:
    assert why(f"https://127.0.0.1:{service.port}/v1").startswith("cannot be asked: no TLS connection to 127.0.0.1: ")


def test_a_proxy_is_used_except_for_this_computer(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{service.port}")
    with to("http://vectors.example/v1") as client:
        assert client.post(BODY).status == 200
    assert service.asked[0].path == "http://vectors.example/v1/embeddings"
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with to(service.url) as client:
        assert client.post(BODY).status == 200


def test_the_longest_answer_has_room_for_the_largest_request() -> None:
    assert len(calibration.texts("", "")) * 16_384 * len("-0.0123456789012345678,") < address_client.MOST_BYTES
