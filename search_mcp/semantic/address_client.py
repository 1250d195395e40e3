"""The HTTP connections to an address that makes vectors: bounded in time and size, and only to the address itself.

An event loop in a thread of its own makes the requests, because a limit of time ends a request there at any point, and
threads can share the connections.
"""

import contextlib
import threading
from collections.abc import Mapping
from concurrent.futures import CancelledError
from queue import SimpleQueue
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
from anyio.from_thread import BlockingPortal

from search_mcp.http import client
from search_mcp.http.failures import FAILURES, why
from search_mcp.semantic.embeddings import Reply
from search_mcp.semantic.encoding import EncodingError

ANSWER_SECONDS = 60.0
"""Time for a whole answer. A service may load its model first, and Ollama ends the loading if nobody waits for it."""
IDLE_SECONDS = 120.0
"""Time that a connection stays open, because a search does not wait for a new one."""
MOST_BYTES = 16 << 20
"""Bytes of an answer: 30 vectors of 16,384 numbers."""


class AddressClient:
    """Sends requests to one address. Its methods may be called by several threads."""

    def __init__(self, url: str, key: str, ca_file: str = "", answer_seconds: float = ANSWER_SECONDS) -> None:
        """Prepare requests to the whole address, without contacting it; certificates of `ca_file` are trusted, too.

        Raises:
            ValueError: it is not an http or https address.
        """
        _ = urlsplit(url).port  # the library accepts ports that do not exist
        parsed = client.http_url(url)
        self._url = parsed.copy_with(userinfo=None) if key else parsed
        self._headers = _headers(url, key)
        self._answer_seconds, self._ca_file = answer_seconds, ca_file
        self._client: httpx2.AsyncClient | None = None
        started: SimpleQueue[BlockingPortal] = SimpleQueue()
        # A daemon: a process that ends does not wait for an answer. `start_blocking_portal` would.
        self._thread = threading.Thread(target=anyio.run, args=(self._run, started), name="HTTP", daemon=True)
        self._thread.start()
        self._portal = started.get()

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
            return self._portal.call(self._post, body)
        except (CancelledError, RuntimeError):  # `close` was called meanwhile, or before
            raise EncodingError("is no longer used") from None

    def close(self) -> None:
        """Close the connections; requests that are under way end without an answer."""
        with contextlib.suppress(RuntimeError):  # they are closed
            self._portal.call(self._portal.stop, True)
        self._thread.join()

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
        except FAILURES as exc:
            # Without the cause, which may show the address with its key.
            raise EncodingError(f"cannot be asked: {why(exc, str(self._url))}") from None

    async def _exchanged(self, body: bytes) -> Reply:
        if self._client is None:
            self._client = client.new_client(self._url, self._ca_file, httpx2.Limits(keepalive_expiry=IDLE_SECONDS))
        response = await client.send(self._client, "POST", self._url, self._headers, body)
        async with contextlib.aclosing(response):
            content = await client.whole(response, MOST_BYTES)
            return Reply(response.status_code, content, response.headers.get("retry-after", ""))


def endpoint(url: str) -> str:
    """Return the address of vectors under the address of a service, which may be the former itself."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    path = path if path.endswith("/embeddings") else f"{path}/embeddings"
    return parts._replace(path=path, fragment="").geturl()


def _headers(url: str, key: str) -> Mapping[str, str]:
    headers = {"user-agent": client.USER_AGENT, "content-type": "application/json", "accept": "application/json"}
    # Without compression, the bytes of an answer are its length.
    headers["accept-encoding"] = "identity"
    if key:
        headers["authorization"] = f"Bearer {key}"
        if "api-version" in parse_qs(urlsplit(url).query):
            headers["api-key"] = key  # Azure, with the address of a deployment
    return headers
