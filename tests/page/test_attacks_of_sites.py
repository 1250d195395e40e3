"""Requests that another site, another program or a file makes: each is refused before anything is looked at."""

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from processes.run import SECONDS, server

from page.conftest import NewHome
from page.routes import OPEN, paths
from page.running import Guest, PageHome

ECHO = {"one": server("well_behaved")}
CHANGES = [path for path in paths("POST") if path != "enter"]
"""The paths of all forms that need a session."""


@pytest.fixture(scope="module")
def home(new_lasting_home: NewHome) -> PageHome:
    return new_lasting_home(ECHO)


@pytest.fixture(scope="module")
def guest(home: PageHome) -> Iterator[Guest]:
    """Someone with a session, whose requests are right except for what the attack changes."""
    with home.visit() as guest:
        assert guest.form_token
        yield guest


def is_enabled(home: PageHome) -> bool:
    return bool(json.loads(home.config.read_text())["mcpServers"]["one"].get("enabled", True))


@pytest.mark.parametrize("host", ["evil.example", "localhost:{port}", "127.0.0.1", "127.0.0.1:1", "[::1]:{port}", ""])
def test_no_route_answers_to_a_name_that_resolves_to_this_machine(guest: Guest, host: str) -> None:
    """DNS rebinding: the browser believes that the page belongs to the attacker's site."""
    headers = {"host": host.format(port=guest.port)}
    for path in paths("GET"):
        assert guest.get(guest.root + path, headers=headers).status_code == 421, path
    for path in paths("POST"):
        assert guest.post(guest.root + path, headers=headers).status_code == 421, path
    assert guest.get("/", headers=headers).status_code == 421


def test_a_request_with_two_hosts_is_refused(guest: Guest) -> None:
    head = f"GET {guest.root} HTTP/1.1\r\nHost: {guest.authority}\r\nHost: evil.example\r\n\r\n"
    with socket.create_connection(("127.0.0.1", guest.port), SECONDS) as raw:
        raw.sendall(head.encode())
        assert raw.recv(1000).startswith(b"HTTP/1.1 400 ")


ELSEWHERE = {
    "another site": {"origin": "https://evil.example", "sec-fetch-site": "cross-site"},
    "another site in an old browser": {"origin": "https://evil.example"},
    "a file": {"origin": "null", "sec-fetch-site": "cross-site"},
    "a file in an old browser": {"origin": "null"},
    "a program on another port": {"origin": "http://127.0.0.1:1", "sec-fetch-site": "same-site"},
    "a program on another port in an old browser": {"origin": "http://127.0.0.1:1"},
    "localhost": {"origin": "http://localhost:{port}", "sec-fetch-site": "cross-site"},
    "another scheme": {"origin": "https://127.0.0.1:{port}", "sec-fetch-site": "cross-site"},
    "a sandboxed frame of another port": {"origin": "null", "sec-fetch-site": "same-site"},
    "a form in another window": {
        "origin": "https://evil.example",
        "sec-fetch-site": "cross-site",
        "sec-fetch-mode": "navigate",
    },
    "nowhere": {},
    "the address bar": {"sec-fetch-site": "none"},
    "two places": {"origin": "{origin}, https://evil.example", "sec-fetch-site": "same-origin"},
}


@pytest.mark.parametrize("place", ELSEWHERE)
def test_no_form_is_accepted_from_elsewhere(home: PageHome, guest: Guest, place: str) -> None:
    """Cross-site request forgery: the browser would add the cookie."""
    headers = {name: value.format(port=guest.port, origin=guest.origin) for name, value in ELSEWHERE[place].items()}
    with httpx2.Client(base_url=guest.origin, cookies=guest.cookies, headers=headers, trust_env=False) as attacker:
        for path in [*CHANGES, "enter"]:
            fields = {"form_token": guest.form_token, "server": "one", "to": "off", "token": guest.token}
            assert attacker.post(guest.root + path, data=fields).status_code == 403, path
    assert is_enabled(home)


@pytest.mark.parametrize("mode", ["no-cors", "cors", "same-origin", "websocket"])
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_nothing_is_embedded_elsewhere(guest: Guest, site: str, mode: str) -> None:
    """An image, a script or a style of the page in another site shows whether this site knows the address."""
    headers = {"sec-fetch-site": site, "sec-fetch-mode": mode}
    for path in paths("GET"):
        assert guest.get(guest.root + path, headers=headers).status_code == 403, path


@pytest.mark.parametrize("token", ["", "x", "of another session"])
def test_no_form_is_accepted_without_its_token(home: PageHome, guest: Guest, token: str) -> None:
    if token:
        with home.visit() as other:
            token = other.form_token
            assert token != guest.form_token
    for path in CHANGES:
        answer = guest.post(guest.root + path, data={"form_token": token, "server": "one", "to": "off"})
        assert answer.status_code == 403, path
    assert is_enabled(home)


def test_no_other_body_is_a_form(home: PageHome, guest: Guest) -> None:
    """A form of another site can be sent as `text/plain`, a script sends JSON."""
    fields = f"form_token={guest.form_token}&server=one&to=off"
    for kind in ("text/plain", "application/json", "multipart/form-data; boundary=x", ""):
        for path in paths("POST"):
            answer = guest.post(guest.root + path, content=fields, headers={"content-type": kind})
            assert answer.status_code == 415, (path, kind)
    assert is_enabled(home)


def test_nothing_changes_by_a_link(home: PageHome, guest: Guest) -> None:
    query = f"?form_token={guest.form_token}&server=one&to=off&token={guest.token}"
    for path in {*paths("POST")} - {*paths("GET")}:
        assert guest.get(guest.root + path + query).status_code == 405, path
        assert guest.head(guest.root + path + query).status_code == 405, path
    assert is_enabled(home)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "X"])
def test_no_other_method_is_known(guest: Guest, method: str) -> None:
    for path in {*paths("GET"), *paths("POST")}:
        assert guest.request(method, guest.root + path).status_code == 405, path


def test_nothing_is_shown_without_a_session(guest: Guest) -> None:
    """The address of a page is in the history of the browser, and lets nobody in."""
    headers = {"origin": guest.origin, "sec-fetch-site": "same-origin"}
    with httpx2.Client(base_url=guest.origin, headers=headers, trust_env=False) as stranger:
        for path in paths("GET"):
            answer = stranger.get(guest.root + path)
            if path in OPEN:
                assert answer.status_code == 200, path
                assert "one" not in re.findall(r"\w+", answer.text) or path != ""
            else:
                assert answer.status_code in (303, 401), path
                assert answer.headers.get("location", guest.root) == guest.root, path
        for path in CHANGES:
            assert stranger.post(guest.root + path, data={"server": "one", "to": "off"}).status_code == 401, path


@pytest.mark.parametrize("key", ["", "x", '"', "{key}x", "{token}"])
def test_no_invented_cookie_lets_in(guest: Guest, key: str) -> None:
    ((name, value),) = guest.cookies.items()
    made = f"{name}={key.format(key=value, token=guest.token)}"
    with httpx2.Client(base_url=guest.origin, headers={"cookie": made}, trust_env=False) as stranger:
        assert stranger.get(f"{guest.root}servers").status_code == 303


def test_no_page_is_found_without_its_root(guest: Guest) -> None:
    """Another program of this machine scans the ports, or has the cookie of another start."""
    for path in ("/", "/servers", "/favicon.ico", "/page.css", "//servers", guest.root[:-1], f"/x{guest.root}"):
        assert guest.get(path).status_code == 404, path
        assert guest.post(path, data={"token": guest.token}).status_code == 404, path


def test_the_cookie_goes_to_this_page_only(home: PageHome) -> None:
    """Cookies are the same for all ports, so it has a path that no other program knows; no script can read it."""
    with Guest(home.invites()) as guest:
        cookie = guest.enters().headers["set-cookie"]
    name, *attributes = cookie.split("; ")
    assert name.startswith("search-mcp-")
    assert set(attributes) == {"HttpOnly", "SameSite=Strict", f"Path={guest.root}", "Max-Age=43200"}
    assert len(guest.root) > 16


def test_no_cookie_of_another_program_hides_the_session(guest: Guest) -> None:
    """A program on another port sets a cookie for all ports and paths; only the names are compared then."""
    ((name, value),) = guest.cookies.items()
    for other in ("search-mcp=x", 'search-mcp="; x', "x", "=x", f"{name[:-1]}=x", f"{name.upper()}=x"):
        for cookies in (f"{name}={value}; {other}", f"{other}; {name}={value}"):
            with httpx2.Client(base_url=guest.origin, headers={"cookie": cookies}, trust_env=False) as browser:
                assert browser.get(f"{guest.root}servers").status_code == 200, cookies


def test_a_token_is_for_one_browser(home: PageHome) -> None:
    with Guest(home.invites()) as first, Guest(f"{first.address}#{first.token}") as second:
        assert first.enters().status_code == 303
        answer = second.enters()
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers
        assert second.get(f"{second.root}servers").status_code == 303


def test_a_foreign_token_lets_nobody_in_and_keeps_the_session(guest: Guest) -> None:
    """A link in a mail: it neither shows another page nor logs the user out."""
    with Guest(f"{guest.address}#foreign") as stranger:
        assert stranger.enters().status_code == 403
    assert "Servers" in guest.view("servers")


EXPECTED_HEADERS = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


def test_every_response_has_the_headers_that_protect_it(guest: Guest) -> None:
    """Also one to a wrong path or from elsewhere: no site can frame it, and no cache keeps it."""
    shown = [guest.root + path for path in [*paths("GET"), "nothing"] if path != "events"]
    for path, host in [*((path, guest.authority) for path in shown), ("/", guest.authority), (guest.root, "x")]:
        answer = guest.get(path, headers={"host": host})
        assert {name: answer.headers.get(name) for name in EXPECTED_HEADERS} == EXPECTED_HEADERS, path
        policy = answer.headers["content-security-policy"].split("; ")
        assert {"default-src 'self'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"} <= {*policy}
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert "access-control-allow-origin" not in answer.headers
        assert "server" not in answer.headers


def test_the_page_listens_on_the_loopback_address_only(home: PageHome, guest: Guest) -> None:
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    listening = [row[1] for row in rows if row[3] == "0A" and row[1].endswith(f":{guest.port:04X}")]
    assert listening == [f"0100007F:{guest.port:04X}"]
