"""The HTTP client of one channel: TLS, proxies, redirects, time limits."""

import logging
import ssl
from collections.abc import Mapping
from http.cookiejar import Cookie, CookieJar, DefaultCookiePolicy
from urllib.request import Request

import httpx2

from search_mcp.backends.remote.reading import Paced
from search_mcp.backends.remote.trouble import CONNECT_SECONDS, QUOTED, RefusedError
from search_mcp.config.addresses import is_loopback
from search_mcp.config.schema import Remote

MOST_REDIRECTS = 5
WRITE_SECONDS = 60.0
"""Longest time in which a server reads nothing of a request, in seconds."""
IDLE_CONNECTIONS = 20
IDLE_SECONDS = 30.0
"""Number of idle connections that stay open for later requests, and their time limit."""
MOST_COOKIES, COOKIE_BYTES = 50, 4096
"""Cookies that are kept, and bytes of each: a browser keeps at least as many of one host (RFC 6265, 6.1)."""
_KEEPING_METHOD = frozenset({307, 308})
_REDIRECTS = frozenset({301, 302, 303, *_KEEPING_METHOD})


for _name in ("httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.WARNING)  # they log addresses and headers, which may contain secrets


def new_client(address: Remote) -> httpx2.AsyncClient:
    """Make the client; this loads certificates and may take 0.1 s.

    Raises:
        OSError: the file with certificates cannot be read.
        ValueError: it is not an HTTP address.
    """
    try:
        url = httpx2.URL(address.url)
    except httpx2.InvalidURL as exc:
        raise ValueError(str(exc)) from exc
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError("it begins with neither http:// nor https://")
    return httpx2.AsyncClient(
        headers=address.headers,
        cookies=_FewCookies().jar,
        verify=_certificates(address.ca_file) if url.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        # Without HTTP/2: httpcore2 does not reset a stream that is closed early, so nothing would be cancelled.
        http2=False,
        # Open streams must not keep calls from being sent, so connections are not counted here.
        limits=httpx2.Limits(
            max_connections=None, max_keepalive_connections=IDLE_CONNECTIONS, keepalive_expiry=IDLE_SECONDS
        ),
        timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS, write=WRITE_SECONDS),
        trust_env=not is_loopback(url.host),  # the variables for proxies
    )


class _FewCookies(DefaultCookiePolicy):
    """Takes cookies up to a limit: a server can set new ones with each response, and is sent them with each request."""

    def __init__(self) -> None:
        super().__init__()
        self.jar = CookieJar(self)

    def set_ok(self, cookie: Cookie, request: Request) -> bool:
        is_new = all(each.name != cookie.name for each in self.jar)
        is_small = len(cookie.name) + len(cookie.value or "") <= COOKIE_BYTES
        return is_small and not (is_new and len(self.jar) >= MOST_COOKIES) and super().set_ok(cookie, request)


def _certificates(ca_file: str | None) -> ssl.SSLContext:
    context = httpx2.create_ssl_context()
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context


async def send(
    client: httpx2.AsyncClient, method: str, url: httpx2.URL, headers: Mapping[str, str], body: bytes | None = None
) -> httpx2.Response:
    """Send a request, follow redirects to the same origin, and return the response; its body is not read yet.

    Raises:
        RefusedError: it is redirected elsewhere.
        httpx2.HTTPError, httpx2.InvalidURL: the exchange broke.
    """
    # The header `Last-Event-ID` is "the EventSource object's last event ID string, encoded as UTF-8" (the HTML
    # standard); all others are ASCII.
    encoded = httpx2.Headers(headers, encoding="utf-8")
    for _ in range(MOST_REDIRECTS):
        response = await client.send(client.build_request(method, url, headers=encoded, content=body), stream=True)
        location = response.headers.get("location")
        if response.status_code not in _REDIRECTS or location is None:
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = Paced(response.stream)
            return response
        await response.aclose()
        try:
            target = url.join(location)
        except httpx2.InvalidURL as exc:
            raise RefusedError("it redirects to what is no address") from exc
        if not is_same_origin(url, target):
            raise RefusedError(f"it redirects to another address, {_shown(target)}")
        if method == "POST" and response.status_code not in _KEEPING_METHOD:
            raise RefusedError(f"it redirects a POST with HTTP status {response.status_code}, which would lose it")
        url = target.copy_with(userinfo=url.userinfo)
    raise RefusedError(f"it redirects more than {MOST_REDIRECTS} times")


def _shown(target: httpx2.URL) -> str:
    """Write an address without its user and query, which may contain secrets; without its path if that is long."""
    text = str(target.copy_with(userinfo=None, query=None))
    return text if len(text) <= QUOTED else f"{str(target.copy_with(userinfo=None, path='/', query=None))[:QUOTED]}…"


def is_same_origin(url: httpx2.URL, target: httpx2.URL) -> bool:
    """Return whether an address that a server names may be given the same headers as the server's own."""
    return (url.scheme, url.host, url.port) == (target.scheme, target.host, target.port)
