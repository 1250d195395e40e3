"""The sentences about exchanges that broke."""

import socket
import ssl

import httpx2
import pytest

from search_mcp.http import failures

URL = "https://user:secret@mcp.example:8443/mcp?key=secret"


def caused(cause: Exception) -> httpx2.ConnectError:
    error = httpx2.ConnectError("it failed")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("exc", "reason"),
    [
        (httpx2.ConnectTimeout(""), "no connection to mcp.example:8443 within 10 s"),
        (
            caused(socket.gaierror(-2, "Name or service not known")),
            "the name mcp.example cannot be resolved: Name or service not known",
        ),
        (caused(ssl.SSLError(1, "wrong version number")), "no TLS connection to mcp.example: "),
        (httpx2.ConnectError("All connection attempts failed"), "no connection to mcp.example:8443: All"),
        (
            caused(ExceptionGroup("several", [ConnectionRefusedError(111, "Connect call failed")])),
            "no connection to mcp.example:8443: Connection refused",
        ),
        (httpx2.ProxyError("407 Needed"), "the proxy needs a password: 407 Needed"),
        (httpx2.ProxyError("502 Bad"), "the proxy refused the connection: 502 Bad"),
        (httpx2.LocalProtocolError("bad header"), "the request cannot be sent: bad header"),
        (httpx2.DecodingError("bad data"), "its answer cannot be decompressed: bad data"),
        (httpx2.ReadError(""), "the connection broke: ReadError"),
        (
            httpx2.RemoteProtocolError("Server disconnected without sending a response."),
            "it closed the connection before the end of its answer",
        ),
        (httpx2.RemoteProtocolError("early end"), "the connection broke: early end"),
    ],
)
def test_exchanges_that_broke(exc: Exception, reason: str) -> None:
    found = failures.why(exc, URL)
    assert found.startswith(reason)
    assert "secret" not in found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ""),
        ("plain\n text\x1b[0m\ufffd", "plain text [0m�"),
        ("<!doctype html><head><style>a{b}</style><script>c()</script></head><h1>Sign in</h1><p>now", "Sign in now"),
        ("a word " * 100, "a word " * 28 + "a…"),  # a part of a secret would not be recognised as one
        ("x" * 1000, "…"),
        ("日" * 1000, "日" * 200 + "…"),
    ],
)
def test_quotations(text: str, words: str) -> None:
    assert failures.quoted(text) == words
