"""One request over HTTP, as ASGI has it: its headers, its body within limits, and its response.

Source: https://asgi.readthedocs.io/en/latest/specs/www.html.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, MutableMapping, Sequence
from functools import cached_property
from typing import Any

from search_mcp.wire import messages
from search_mcp.wire.errors import SERVER_ERROR
from search_mcp.wire.structs import ErrorObject

log = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Pairs = Iterable[tuple[str, str]]

BODY_BYTES = 4 << 20
"""The longest body, in bytes."""
READ_BYTES = 16 << 20
"""A longer body is read up to here, and dropped: many clients read no response before they have sent everything."""
BODY_SECONDS = 30.0
"""Time in which a body has to arrive."""
CLOSE = ("connection", "close")
"""Header of a response after which the connection is closed."""
UNREAD_SECONDS = 60.0
"""Time in which a client has to read what is sent, before it counts as gone."""


class ClientGoneError(Exception):
    """The client has closed the connection, or does not read."""


class RefusedError(Exception):
    """A request that is refused for a reason of HTTP, with its status."""

    def __init__(self, status: int, reason: str, *headers: tuple[str, str]) -> None:
        super().__init__(reason)
        self.status, self.reason, self.headers = status, reason, headers


class HttpRequest:
    """A request and its response."""

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, on_status: Callable[[int], None] = lambda _status: None
    ) -> None:
        """`on_status` is told the status of the response when it begins."""
        self._on_status = on_status
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self._raw, self._receive, self._send = scope["headers"], receive, send
        self.sharing: Sequence[tuple[str, str]] = ()
        """CORS headers of the response."""

    @cached_property
    def headers(self) -> dict[str, str]:
        """The headers by names in lower case; one that came twice has both values, which no single one of ours has."""
        found: dict[str, str] = {}
        for name, value in self._raw:
            key, text = name.decode("latin-1").lower(), value.decode("latin-1")
            found[key] = f"{found[key]}, {text}" if key in found else text
        return found

    @property
    def origin(self) -> str:
        """The scheme and the host by which the client calls: a host without a port is that of a proxy with TLS."""
        host = self.headers.get("host", "")
        return f"{'http' if host.rpartition(':')[2].isdecimal() else 'https'}://{host}"

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def has_two_lengths(self) -> bool:
        """Whether Content-Length and Transfer-Encoding are both given: a proxy may go by the other one."""
        return "content-length" in self.headers and "transfer-encoding" in self.headers

    def accepts(self, kind: str) -> bool:
        """Return whether the client takes a response of this media type."""
        wanted = {each.partition(";")[0].strip().lower() for each in self.headers.get("accept", "*/*").split(",")}
        return not wanted.isdisjoint((kind, f"{kind.partition('/')[0]}/*", "*/*"))

    async def body(self) -> bytes:
        """Read the body.

        Raises:
            RefusedError: it is too long, or does not arrive in time.
            ClientGoneError: the client is gone.
        """
        length = self.headers.get("content-length", "")
        too_long = RefusedError(413, f"the body has more than {BODY_BYTES:,} bytes", CLOSE)
        if length.isdecimal() and (len(length) > 18 or int(length) > READ_BYTES):
            raise too_long
        body, size = bytearray(), 0
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while True:
                    message = await self._receive()
                    if message["type"] == "http.disconnect":
                        raise ClientGoneError
                    size += len(part := message.get("body", b""))
                    is_last = not message.get("more_body", False)
                    if size > READ_BYTES or (size > BODY_BYTES and is_last):
                        raise too_long
                    body += part if size <= BODY_BYTES else b""
                    if is_last:
                        return bytes(body)
        except TimeoutError:
            raise RefusedError(408, f"the body did not arrive within {BODY_SECONDS:g} s", CLOSE) from None

    async def disconnected(self) -> None:
        """Wait until the client has closed the connection."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def begin(self, status: int, headers: Pairs = ()) -> None:
        """Send the head of the response."""
        self._on_status(status)
        log.debug("= %s %s: %d", self.method, self.path, status)
        encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in (*headers, *self.sharing)]
        await self._send({"type": "http.response.start", "status": status, "headers": encoded})

    async def send(self, data: bytes, *, is_last: bool = False) -> None:
        """Send a part of the body.

        Raises:
            ClientGoneError: the client does not read.
        """
        try:
            async with asyncio.timeout(UNREAD_SECONDS):
                await self._send({"type": "http.response.body", "body": data, "more_body": not is_last})
        except TimeoutError:
            raise ClientGoneError from None

    async def respond(
        self, status: int, body: bytes = b"", headers: Pairs = (), content_type: str = "application/json"
    ) -> None:
        """Send a whole response; `content_type` is that of its body, if there is any."""
        kind = (("content-type", content_type),) if body else ()
        length = () if status in (204, 304) else (("content-length", str(len(body))),)  # RFC 9110, 8.6
        await self.begin(status, (*kind, *length, *headers))
        await self.send(body, is_last=True)

    async def refuse(self, refused: RefusedError) -> None:
        """Send an error. "The HTTP response body MAY comprise a JSON-RPC error response that has no `id`"."""
        line = messages.failure(None, ErrorObject(SERVER_ERROR, f"{refused.reason}"))
        await self.respond(refused.status, line, refused.headers)
