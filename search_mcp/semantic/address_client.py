"""The HTTP connections to an address that makes vectors: bounded in time and size, and only to the address itself.

Certificates and proxies are those of remote servers. An event loop in a thread of its own makes the requests, because a
limit of time ends a request there at any point, and threads can share the connections.
"""

import logging
import os
import socket
import ssl
import threading
from collections.abc import Mapping
from concurrent.futures import CancelledError
from queue import SimpleQueue
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
from anyio.from_thread import BlockingPortal

from search_mcp.causes import causes
from search_mcp.config.addresses import is_loopback
from search_mcp.semantic.embeddings import Reply
from search_mcp.semantic.encoding import EncodingError

USER_AGENT = "search-mcp"
CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 60.0
"""Time for a whole answer. A service may load its model first, and Ollama ends the loading if nobody waits for it."""
IDLE_SECONDS = 120.0
"""Time that a connection stays open, because a search does not wait for a new one."""
MOST_BYTES = 32 << 20
"""Bytes of an answer: 64 vectors of 16,384 numbers."""
MOST_REDIRECTS = 5
_KEEP_METHOD = frozenset({307, 308})
_REDIRECTS = frozenset({301, 302, 303, *_KEEP_METHOD})

for _name in ("httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.WARNING)  # they log addresses and headers, which may contain secrets


class AddressClient:
    """Sends requests to one address. Its methods may be called by several threads."""

    def __init__(self, url: str, key: str, answer_seconds: float = ANSWER_SECONDS, ca_file: str = "") -> None:
        """Prepare requests to the whole address, without contacting it; certificates of `ca_file` are trusted, too.

        Raises:
            ValueError: it is not an http or https address.
        """
        _ = urlsplit(url).port  # the library accepts ports that do not exist
        try:
            parsed = httpx2.URL(url)
        except httpx2.InvalidURL as exc:
            raise ValueError(str(exc)) from exc
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise ValueError("it begins with neither http:// nor https://")
        self._url = parsed.copy_with(userinfo=None) if key else parsed
        self._headers = _headers(url, key)
        self._answer_seconds, self._ca_file = answer_seconds, ca_file
        self._opening = threading.Lock()
        self._portal: BlockingPortal | None = None
        self._thread: threading.Thread | None = None
        self._client: httpx2.AsyncClient | None = None

    @property
    def where(self) -> str:
        """The host and the port, for messages."""
        return self._url.netloc.decode("ascii")

    def post(self, body: bytes) -> Reply:
        """Send a request and return the whole answer.

        Raises:
            EncodingError: there is none. The reason is the predicate of a sentence about the address.
        """
        try:
            return self._opened().call(self._post, body)
        except CancelledError:
            raise EncodingError("is no longer used") from None  # `close` was called

    def close(self) -> None:
        """Close the connections; requests that are under way end without an answer."""
        with self._opening:
            if self._portal is not None and self._thread is not None:
                self._portal.call(self._portal.stop, True)
                self._thread.join()
            self._portal = self._thread = self._client = None

    def _opened(self) -> BlockingPortal:
        """Return the way into the event loop; the first call starts its thread."""
        with self._opening:
            if self._portal is None:
                started: SimpleQueue[BlockingPortal] = SimpleQueue()
                # A daemon: a process that ends does not wait for an answer. `start_blocking_portal` would.
                self._thread = threading.Thread(target=anyio.run, args=(self._run, started), name="HTTP", daemon=True)
                self._thread.start()
                self._portal = started.get()
            return self._portal

    async def _run(self, started: "SimpleQueue[BlockingPortal]") -> None:
        async with BlockingPortal() as portal:
            started.put(portal)
            try:
                await portal.sleep_until_stopped()
            finally:
                if self._client is not None:
                    with anyio.CancelScope(shield=True):
                        await self._client.aclose()

    async def _post(self, body: bytes) -> Reply:
        try:
            with anyio.fail_after(self._answer_seconds):
                try:
                    return await self._exchanged(body)
                except (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError) as exc:
                    if isinstance(exc, httpx2.RemoteProtocolError) and "disconnected" not in str(exc):
                        raise
                    # A connection that was idle may be closed just now. Vectors can be asked for twice.
                    return await self._exchanged(body)
        except TimeoutError:
            raise EncodingError(f"gives no answer within {self._answer_seconds:g} s") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as exc:
            raise EncodingError(_why(exc)) from None  # the cause may show the address with its key

    async def _exchanged(self, body: bytes) -> Reply:
        if self._client is None:
            self._client = _new_client(self._url, self._ca_file)
        url = self._url
        for _ in range(MOST_REDIRECTS):
            async with self._client.stream("POST", url, content=body, headers=self._headers) as response:
                location = response.headers.get("location")
                if response.status_code not in _REDIRECTS or location is None:
                    retry_after = response.headers.get("retry-after", "")
                    return Reply(response.status_code, await _content(response), retry_after)
            url = _redirected(url, location, response.status_code)
        raise EncodingError(f"redirects more than {MOST_REDIRECTS} times")


def endpoint(url: str) -> str:
    """Return the address of vectors under the address of a service, which may be the former itself."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    path = path if path.endswith("/embeddings") else f"{path}/embeddings"
    return parts._replace(path=path, fragment="").geturl()


def _headers(url: str, key: str) -> Mapping[str, str]:
    headers = {"user-agent": USER_AGENT, "content-type": "application/json", "accept": "application/json"}
    # Without compression, the bytes of an answer are its length.
    headers["accept-encoding"] = "identity"
    if key:
        headers["authorization"] = f"Bearer {key}"
        if "api-version" in parse_qs(urlsplit(url).query):
            headers["api-key"] = key  # Azure, with the address of a deployment
    return headers


def _new_client(url: httpx2.URL, ca_file: str) -> httpx2.AsyncClient:
    verify = _certificates(ca_file) if url.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx2.AsyncClient(
        verify=verify,
        http2=False,
        limits=httpx2.Limits(keepalive_expiry=IDLE_SECONDS),
        timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
        trust_env=not is_loopback(url.host),  # the variables for proxies
    )


def _certificates(ca_file: str) -> ssl.SSLContext:
    try:
        context = httpx2.create_ssl_context()
    except OSError as exc:
        raise EncodingError(f"cannot be asked, because the certificates cannot be read: {exc}") from exc
    if ca_file:
        try:
            context.load_verify_locations(ca_file)
        except OSError as exc:
            raise EncodingError(f'cannot be asked, because "caFile" ({ca_file}) cannot be read: {exc}') from exc
    return context


async def _content(response: httpx2.Response) -> bytes:
    parts, length = [], 0
    async for part in response.aiter_bytes():
        parts.append(part)
        length += len(part)
        if length > MOST_BYTES:
            raise EncodingError(f"gives an answer of more than {MOST_BYTES >> 20} MiB")
    return b"".join(parts)


def _redirected(url: httpx2.URL, location: str, status: int) -> httpx2.URL:
    """Return the address of a redirect, if it may be given the key and the texts.

    Raises:
        EncodingError: it must not.
    """
    try:
        target = url.join(location)
    except httpx2.InvalidURL:
        raise EncodingError("redirects to a text that is no address") from None
    if (target.scheme, target.host, target.port) != (url.scheme, url.host, url.port):
        shown = target.copy_with(userinfo=None, query=None, fragment=None, path="/")
        raise EncodingError(f"redirects to another address, {shown}")
    if status not in _KEEP_METHOD:
        raise EncodingError(f"redirects a POST with HTTP status {status}, which would lose it")
    return target.copy_with(userinfo=url.userinfo)


def _why(exc: Exception) -> str:
    match exc:
        case httpx2.ConnectTimeout():
            reason = f"cannot be connected to within {CONNECT_SECONDS:g} s"
        case httpx2.ProxyError():
            reason = f"is behind a proxy that {'needs a password' if '407' in str(exc) else 'refuses the connection'}"
        case httpx2.ConnectError():
            reason = _why_unconnected(exc)
        case httpx2.RemoteProtocolError() if not any(each in str(exc) for each in ("disconnected", "peer closed")):
            reason = "does not answer as an HTTP server"
        case httpx2.RemoteProtocolError() | httpx2.ReadError() | httpx2.WriteError():
            reason = "closes the connection before the end of its answer"
        case httpx2.DecodingError():
            reason = "gives an answer that cannot be decompressed"
        case _:
            reason = f"cannot be asked ({type(exc).__name__})"
    return reason


def _why_unconnected(exc: BaseException) -> str:
    for cause in causes(exc):
        if isinstance(cause, socket.gaierror):
            return f"cannot be found: {cause.strerror}"
        if isinstance(cause, ssl.SSLCertVerificationError):
            remedy = 'if it is of your own network, name the file of its authority in "caFile"'
            return f"has a certificate that is not trusted ({cause.verify_message}); {remedy}"
        if isinstance(cause, ssl.SSLError):
            return f"makes no TLS connection: {getattr(cause, 'reason', None) or cause}"
        if isinstance(cause, OSError) and cause.errno:
            return f"cannot be connected to: {os.strerror(cause.errno)}"
    return f"cannot be connected to ({type(exc).__name__})"
