"""HTTP clients: certificates, proxies, redirects to the same origin, bodies up to a size.

Loaded when an address is first used, because the library takes longer to load than `serve` takes to start.
"""

import logging
import ssl
from collections.abc import Mapping
from http.cookiejar import CookieJar

import httpx2

from search_mcp.config.addresses import is_loopback
from search_mcp.http.failures import CONNECT_SECONDS, MOST_REDIRECTS, QUOTED, RefusedError, TooLongError

USER_AGENT = "search-mcp"
_KEEPING_METHOD = frozenset({307, 308})
_REDIRECTS = frozenset({301, 302, 303, *_KEEPING_METHOD})
MOST_BYTES = 1 << 20
"""Most bytes that are read of metadata (usually a few kilobytes) or of an error."""


for _name in ("httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.WARNING)  # they log addresses and headers, which may contain secrets


def http_url(text: str) -> httpx2.URL:
    """Read an http or https address.

    Raises:
        ValueError: the text is no such address.
    """
    try:
        found = httpx2.URL(text)
    except httpx2.InvalidURL as exc:
        raise ValueError(str(exc)) from exc
    if found.scheme not in ("http", "https") or not found.host:
        raise ValueError("it begins with neither http:// nor https://")
    return found


def new_client(
    url: httpx2.URL,
    ca_file: str | None,
    limits: httpx2.Limits,
    *,
    write_seconds: float | None = None,
    headers: Mapping[str, str] | None = None,
    cookies: CookieJar | None = None,
) -> httpx2.AsyncClient:
    """Make a client for one address, without a time limit for answers.

    Raises:
        RefusedError: the certificates cannot be read.
    """
    return httpx2.AsyncClient(
        verify=certificates(url.scheme, ca_file),
        # Without HTTP/2: httpcore2 does not reset a stream that is closed early, so nothing would be cancelled.
        http2=False,
        limits=limits,
        timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS, write=write_seconds),
        trust_env=not is_loopback(url.host),  # the variables for proxies
        headers=headers,
        cookies=cookies,
    )


def certificates(scheme: str, ca_file: str | None) -> ssl.SSLContext:
    """Load the certificates of the system and those of a file, which may take 0.1 s; none for addresses without TLS.

    Raises:
        RefusedError: they cannot be read.
    """
    if scheme != "https":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context = httpx2.create_ssl_context()
    except OSError as exc:
        raise RefusedError(f"the certificates cannot be read: {exc}") from exc
    if ca_file:
        try:
            context.load_verify_locations(ca_file)
        except OSError as exc:  # `ssl.SSLError` is one
            raise RefusedError(f'"caFile" ({ca_file}) cannot be read: {exc.strerror or exc}') from exc
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
            return response
        await response.aclose()
        try:
            target = url.join(location)
        except httpx2.InvalidURL as exc:
            raise RefusedError("it redirects to an invalid address") from exc
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


async def beginning(response: httpx2.Response, most_bytes: int = MOST_BYTES) -> bytes:
    """Read a body up to a limit."""
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > most_bytes:
            break
    return bytes(body[:most_bytes])


async def whole(response: httpx2.Response, most_bytes: int = MOST_BYTES) -> bytes:
    """Read a body.

    Raises:
        TooLongError: it is longer than the limit.
    """
    body = await beginning(response, most_bytes + 1)
    if len(body) > most_bytes:
        raise TooLongError(f"its answer has more than {most_bytes >> 20} MiB")
    return body
