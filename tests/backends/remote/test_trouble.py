"""What went wrong, and whether the request may have run."""

import httpx2
import pytest

from search_mcp.auth.errors import Unauthorized
from search_mcp.backends.remote import trouble
from search_mcp.http.failures import RefusedError
from search_mcp.wire.inflight import Fate


@pytest.mark.parametrize(
    ("exc", "fate"),
    [
        (RefusedError("it redirects elsewhere"), Fate.REFUSED),
        (Unauthorized("its login has expired"), Fate.UNAUTHORIZED),
        (httpx2.ConnectError("All connection attempts failed"), Fate.REFUSED),
        (httpx2.ProxyError("407 Needed"), Fate.REFUSED),
        (httpx2.LocalProtocolError("bad header"), Fate.REFUSED),
        (httpx2.DecodingError("bad data"), Fate.LOST),
        (httpx2.ReadError(""), Fate.LOST),
        (httpx2.RemoteProtocolError("early end"), Fate.LOST),
    ],
)
def test_exchanges_that_broke(exc: Exception, fate: Fate) -> None:
    failure = trouble.of_exception(exc, "https://mcp.example/mcp")
    assert (failure.fate, failure.is_unknown_request) == (fate, False)


@pytest.mark.parametrize(
    ("status", "reason", "fate", "is_unknown"),
    [
        (200, "it gave no MCP answer (HTTP status 200)", Fate.LOST, False),
        (302, "it gave no MCP answer (HTTP status 302)", Fate.REFUSED, False),
        (400, "it refused the request (HTTP status 400)", Fate.REFUSED, True),
        (404, "it refused the request (HTTP status 404)", Fate.REFUSED, True),
        (405, "it refused the request (HTTP status 405)", Fate.REFUSED, True),
        (401, "it needs a login (HTTP status 401)", Fate.REFUSED, False),
        (403, "it refuses access (HTTP status 403)", Fate.REFUSED, False),
        (407, "the proxy needs a password (HTTP status 407)", Fate.REFUSED, False),
        (500, "it failed (HTTP status 500)", Fate.LOST, False),
        (503, "it is not available now (HTTP status 503)", Fate.LOST, False),
    ],
)
def test_statuses(status: int, reason: str, fate: Fate, is_unknown: bool) -> None:
    failure = trouble.of_status(status, {}, b"")
    assert (failure.reason, failure.fate, failure.is_unknown_request) == (reason, fate, is_unknown)


@pytest.mark.parametrize(
    ("value", "seconds", "words"),
    [
        ("7", 7.0, "; try again in 7 s"),
        ("100000", 300.0, "; try again in 100,000 s"),
        ("9" * 500, 300.0, "; try again in 999,999,999 s"),
        ("Fri, 31 Dec 2199 23:59:59 GMT", 300.0, "; try again in "),
        ("Fri, 31 Dec 1999 23:59:59 GMT", 0.0, ""),
        ("Fri, 31 Dec 99999999 23:59:59 GMT", 0.0, ""),
        ("soon", 0.0, ""),
        ("-7", 0.0, ""),
        ("²", 0.0, ""),
    ],
)
def test_retry_after(value: str, seconds: float, words: str) -> None:
    failure = trouble.of_status(429, {"retry-after": value}, b"")
    assert failure.retry_after_seconds == seconds
    assert failure.reason.startswith(f"it takes no more requests now (HTTP status 429){words}")
