"""Much of everything: connections, streams and bodies that never end, and servers with long or restless lists."""

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from loop_steps.test_steps import LIMIT, slowness
from processes.run import SECONDS, server

from page.conftest import NewHome
from page.routes import paths
from page.running import Guest, PageHome, waits_until
from page.views import VIEWS, address
from search_mcp.fronts.asgi import MOST_CONNECTIONS
from search_mcp.page.live import MOST_OF_A_BROWSER
from search_mcp.page.web import FORM_BYTES

ECHO = {"one": server("well_behaved")}
FORM = {"content-type": "application/x-www-form-urlencoded"}
NO_REQUESTS = {
    "zeros": b"\x00" * 100,
    "another version": b"GET / HTTP/9.9\r\n\r\n",
    "empty lines": b"\r\n" * 1000,
    "not ASCII": b"GET /\xff HTTP/1.1\r\n\r\n",
    "an upgrade": b"GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
}


@pytest.fixture(scope="module")
def home(new_lasting_home: NewHome) -> PageHome:
    return new_lasting_home(ECHO)


@pytest.fixture(scope="module")
def guest(home: PageHome) -> Iterator[Guest]:
    with home.visit() as guest:
        yield guest


@contextlib.contextmanager
def connections(port: int, number: int, data: bytes) -> Iterator[list[socket.socket]]:
    """Open connections that each send this and nothing more."""
    with contextlib.ExitStack() as stack:
        opened = []
        for _ in range(number):
            with contextlib.suppress(ConnectionError):
                opened.append(stack.enter_context(socket.create_connection(("127.0.0.1", port), SECONDS)))
                opened[-1].sendall(data)
        yield opened


def head(guest: Guest, path: str, method: str = "GET", **more: str) -> bytes:
    """Return the head of a request with a session; `more` are further headers."""
    headers = {"host": guest.authority, "origin": guest.origin, "cookie": guest.cookie, **more}
    lines = [f"{method} {guest.root}{path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


def serves(home: PageHome) -> None:
    """Fail if the engine does not answer a client and a new visitor."""
    with home.visit() as visitor:
        assert visitor.form_token
    with home.client() as client:
        client.opens()
        assert client.calls("one.echo", words="a") == "a"
        assert len(home.engine()["clients"]) == 1


@pytest.mark.parametrize("path", paths("POST"))
def test_a_long_form_is_refused(guest: Guest, path: str) -> None:
    long = f"form_token={guest.form_token}&token=x&server={'x' * FORM_BYTES}"
    assert guest.post(guest.root + path, content=long.encode(), headers=FORM).status_code == 413


def test_a_form_without_end_is_refused(guest: Guest) -> None:
    """Its length is not said before."""
    with connections(guest.port, 1, head(guest, "enter", "POST", **FORM, **{"transfer-encoding": "chunked"})) as (raw,):
        with contextlib.suppress(ConnectionError):
            for _ in range(100):
                raw.sendall(b"10000\r\n" + b"x" * 65_536 + b"\r\n")
        assert raw.recv(12) == b"HTTP/1.1 413"


def test_a_form_has_few_fields(guest: Guest) -> None:
    many = "&".join(f"f{number}=1" for number in range(10_000))
    assert guest.post(f"{guest.root}enter", content=many.encode(), headers=FORM).status_code == 400


def test_connections_that_send_nothing_or_half_a_request_keep_nobody_out(home: PageHome, guest: Guest) -> None:
    for data in (b"", b"GET / HT", head(guest, "servers")[:-2], b"G" * 10_000):
        with connections(guest.port, MOST_CONNECTIONS + 100, data):
            serves(home)


def test_forms_that_never_end_keep_nobody_out(home: PageHome, guest: Guest) -> None:
    with connections(guest.port, 100, head(guest, "enter", "POST", **FORM, **{"content-length": "1000"}) + b"token="):
        serves(home)


def test_answers_that_are_not_read_keep_nobody_out(home: PageHome, guest: Guest) -> None:
    """Each connection asks for much and reads nothing."""
    with connections(guest.port, MOST_CONNECTIONS + 100, head(guest, "page.css") * 200):
        serves(home)


def test_many_streams_end_the_oldest_ones(home: PageHome, guest: Guest) -> None:
    with connections(guest.port, 200, head(guest, "events?view=servers")) as streams:
        serves(home)
        living = set(streams)

        def are_few() -> bool:
            living.difference_update([each for each in living if has_ended(each)])
            return len(living) <= MOST_OF_A_BROWSER

        waits_until(are_few)
        assert guest.view("servers")
        assert not any(map(has_ended, living))


def has_ended(stream: socket.socket) -> bool:
    """Read what has come of a stream; return whether its end has."""
    stream.setblocking(False)
    read = b""
    with contextlib.suppress(BlockingIOError):
        while chunk := stream.recv(1 << 16):
            read += chunk
    return read.endswith(b"0\r\n\r\n")


def open_files(home: PageHome) -> int:
    return len(list(Path(f"/proc/{home.engine()['pid']}/fd").iterdir()))


def test_nothing_is_left_of_streams_and_connections_that_were_closed(home: PageHome, guest: Guest) -> None:
    assert guest.view("servers")
    before = open_files(home)
    for data in (head(guest, "events?view=servers"), b"GET / "):
        with connections(guest.port, 200, data):
            assert guest.view("servers")
    waits_until(lambda: open_files(home) <= before)


@pytest.mark.parametrize("data", NO_REQUESTS.values(), ids=NO_REQUESTS)
def test_what_is_no_request_is_no_line_of_the_log(home: PageHome, guest: Guest, data: bytes) -> None:
    """Any program could fill the log with them."""
    before = home.log.read_bytes()
    with connections(guest.port, 3, data):
        assert guest.view("servers")
    assert home.log.read_bytes() == before


@pytest.mark.figures
def test_servers_with_long_and_restless_lists_block_nothing(new_home: NewHome) -> None:
    """The page looks at them five times a second, for each view that is open."""
    limit = LIMIT * slowness()
    lists = {"restless": server("changes_endlessly"), "long": server("many_tools", "10000")}
    home = new_home({**ECHO, **lists, "loud": server("floods_stderr")})
    home.environment["STEPS"] = str(limit)
    with home.visit() as guest, contextlib.ExitStack() as stack:
        for name in (*lists, "loud", "one"):
            guest.sends("start", server=name)
        waits_until(lambda: "5000 tools" in guest.view("servers"))
        for view in VIEWS:
            view = address(view, "restless")
            stack.enter_context(connections(guest.port, 1, head(guest, f"events?view={view.replace('?', '&')}")))
        with home.client() as client:
            client.opens()
            for view in VIEWS:
                for name in lists:
                    assert guest.get(guest.root + address(view, name)).status_code == 200
                assert client.calls("one.echo", words="a") == "a"
    assert [line for line in home.log.read_text().splitlines() if "STEP of" in line] == []
