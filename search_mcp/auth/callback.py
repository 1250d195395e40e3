"""The redirect URI of a login: an HTTP server on loopback that waits for one request.

RFC 8252, 7.3 and 8.3: the listener is on the loopback interface only, and open only while a login waits. Other users
of this computer can connect to it, too, and know the `state`: a browser is started with the address of the login, which
the list of processes shows to everybody. So their answers are refused where the system tells whose a connection is.
A file that leads to the login would hide the address (Jupyter has one), but browsers in a snap, or on Windows beside
WSL, cannot read it, and an editor may be the program for HTML files.
"""

import asyncio
import contextlib
import html
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

from search_mcp.auth.errors import AuthError
from search_mcp.background import run_in_thread

LONGEST_REQUEST = 64 * 1024
"""Bytes of a request's head that are read; browsers send all cookies of the host with it."""
REQUEST_SECONDS = 10.0
"""Time limit for a request to arrive, in seconds: a browser may open connections that it does not use."""

PAGE_SECONDS = 2.0
"""Time limit for the browser to read the page, in seconds."""

OK = "200 OK"
LOGGED_IN = ("You are logged in", "search-mcp can use {name} now. You can close this window.")
FAILED = ("The login failed", "The terminal says why. You can close this window.")

NOT_CURRENT = (
    "400 Bad Request",
    "This is not the current login",
    "Start the login again, and close older windows.",
)
NOT_YOURS = (
    "403 Forbidden",
    "This is the login of another user",
    "If it is yours: with --no-browser, the command takes the address of this page.",
)

Accepts = Callable[[str], bool]
"""Returns whether a query is the answer to the current login."""

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>search-mcp</title>
<body style="font-family: system-ui; margin: 4em auto; max-width: 40em"><h1>{title}</h1><p>{text}</p></body></html>"""


class Callback:
    """An open listener for one login."""

    def __init__(self, redirect_uri: str) -> None:
        self.redirect_uri = redirect_uri
        self._path = urlsplit(redirect_uri).path
        self._accepts: Accepts = lambda _query: False
        self._answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._unused: set[asyncio.StreamWriter] = set()  # connections on which no request arrived yet

    async def answer(self, accepts: Accepts) -> "Answer":
        """Wait for the browser with the answer of the authorization server."""
        self._accepts = accepts
        return await self._answer

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        status = ""
        self._unused.add(writer)
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            self._unused.discard(writer)
            status, title, text = await self._respond(head.split(b"\r\n", 1)[0].decode("latin-1"), writer)
            writer.write(_response(status, title, text))
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the browser closed the connection, or the client is not a browser
        finally:
            self._unused.discard(writer)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            if status == OK:
                (await self._answer).shown.set()

    def close_unused(self) -> None:
        """Close the connections on which no request arrived: the end would wait for them."""
        for writer in self._unused:
            writer.close()

    async def _respond(self, line: str, writer: asyncio.StreamWriter) -> tuple[str, str, str]:
        method, _, rest = line.partition(" ")
        try:
            target = urlsplit(rest.partition(" ")[0])
        except ValueError:
            return "400 Bad Request", "Bad request", ""
        if target.path != self._path or method != "GET":
            return "404 Not Found", "Not found", ""
        if not self._accepts(target.query):
            return NOT_CURRENT
        if await _is_of_another_user(writer):
            return NOT_YOURS
        if self._answer.done():
            return NOT_CURRENT
        answer = Answer(target.query)
        self._answer.set_result(answer)
        return (OK, *await answer.page)


class Answer:
    """The answer of the authorization server, and the page that its browser is shown."""

    def __init__(self, query: str) -> None:
        self.query = query
        self.page: asyncio.Future[tuple[str, str]] = asyncio.get_running_loop().create_future()
        self.shown = asyncio.Event()
        """Set when the browser has the page, or is gone."""

    async def show(self, title: str, text: str) -> None:
        """Show a page in the browser, unless it shows one already."""
        if not self.page.done():
            self.page.set_result((title, text))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PAGE_SECONDS):
                    await self.shown.wait()


@asynccontextmanager
async def callback(host: str, port: int, path: str) -> AsyncIterator[Callback]:
    """Listen on loopback while the block runs; port 0 chooses a free port. The browser returns to `path`.

    Raises:
        AuthError: the port is in use.
    """
    opened: list[Callback] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await opened[0].serve(reader, writer)

    try:
        server = await asyncio.start_server(serve, "127.0.0.1", port, limit=LONGEST_REQUEST)
    except OSError as exc:
        raise AuthError(f"port {port}, to which the browser returns, cannot be used: {exc.strerror or exc}") from exc
    async with server:
        port = server.sockets[0].getsockname()[1]
        opened.append(Callback(f"http://{host}:{port}{path}"))
        with contextlib.ExitStack() as closing:
            if host == "localhost":  # a browser may resolve it to `::1`
                with contextlib.suppress(OSError):
                    second = await asyncio.start_server(serve, "::1", port, limit=LONGEST_REQUEST)
                    closing.callback(second.close)
            closing.callback(opened[0].close_unused)
            yield opened[0]


async def is_of_another_user(theirs: int, ours: int) -> bool:
    """Return whether another user of this computer has opened the connection with these ports, as far as it is known.

    Root relays the connections of Windows to WSL.
    """
    if sys.platform != "linux":
        return False
    return not await run_in_thread(lambda: owners(_sockets(), theirs, ours)) <= {0, os.geteuid()}


async def _is_of_another_user(writer: asyncio.StreamWriter) -> bool:
    """Return whether another user of this computer has opened a connection."""
    if sys.platform != "linux":
        return False
    is_theirs = await is_of_another_user(writer.get_extra_info("peername")[1], writer.get_extra_info("sockname")[1])
    # Older kernels show root as the owner of a socket that its process has closed, so it must be open after the look.
    connection: socket.socket = writer.get_extra_info("socket")
    is_open = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == _TCP_ESTABLISHED
    return is_theirs or not is_open


_TCP_ESTABLISHED = 1  # of `tcp_states.h`


def _sockets() -> Iterable[str]:
    for name in ("tcp", "tcp6"):  # a browser may use an IPv6 socket for IPv4
        with contextlib.suppress(OSError):
            yield from Path("/proc/net", name).read_text("ascii").splitlines()


def owners(sockets: Iterable[str], local: int, remote: int) -> set[int]:
    """Return the users of the sockets with these ports, from the lines of `/proc/net/tcp`."""
    ends = f":{local:04X}", f":{remote:04X}"
    rows = (line.split() for line in sockets)
    return {int(row[7]) for row in rows if row[1].endswith(ends[0]) and row[2].endswith(ends[1])}


def pasted(text: str) -> str:
    """Return the query of the address that the user copied from the browser; the query alone is accepted, too.

    Raises:
        AuthError: the text is neither an address with a query nor a query.
    """
    text = text.strip()
    try:
        query = urlsplit(text).query if "://" in text else text.lstrip("?")
    except ValueError:
        query = ""
    if "=" not in query:
        raise AuthError("the text is not the address to which the browser was sent")
    return query


def _response(status: str, title: str, text: str) -> bytes:
    page = PAGE.format(title=html.escape(title), text=html.escape(text)).encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(page)}\r\n"
        "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n"
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + page
