"""The requests of logins over HTTP: one at a time, blocking, to checked addresses only.

A name is resolved here and the connection goes to the address that was checked, because a name may lead elsewhere the
next time. Where a proxy is configured, it resolves the names, and only literal addresses are checked.
"""

import logging
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

from search_mcp.auth.addresses import Reach, check_reach, reach_of_address, reach_of_host
from search_mcp.auth.errors import AuthError
from search_mcp.auth.steps import Request, Response, Steps
from search_mcp.causes import causes

log = logging.getLogger(__name__)

CONNECT_SECONDS = 10.0
"""Time to connect, and for each part of an answer to arrive."""
TOTAL_SECONDS = 30.0
"""Time for one answer, so that a slow trickle ends."""
ALL_SECONDS = 60.0
"""Time for all requests of one `Fetcher`: a server can name 70 addresses of metadata, while a login's lock is held."""
MOST_BYTES = 1 << 20
"""Bytes of an answer that are read; metadata has a few kilobytes."""
_TOO_SLOW = f"the answer takes longer than {TOTAL_SECONDS:g} s"
USER_AGENT = "search-mcp"

T = TypeVar("T")


class Fetcher:
    """Makes the requests of the login of one server."""

    def __init__(self, url: str, ca_file: str | None = None) -> None:
        """Prepare requests; `url` is the address of the MCP server.

        Raises:
            AuthError: the file with certificates cannot be read.
        """
        self._host = urlsplit(url).hostname or ""
        # Resolved once: its reach is that of the addresses that are used. Its owner decides what its name leads to, and
        # a server on the Internet would otherwise be taken for one of the user's network, whose addresses it may name.
        self._addresses = _addresses_of_server(self._host)
        self.reach = _reach_of_server(self._host, self._addresses)
        self._ends = time.monotonic() + ALL_SECONDS
        self._ca_file = ca_file
        self._context: ssl.SSLContext | None = None

    def run(self, steps: Steps[T]) -> T:
        """Make the requests of some steps, and return their result."""
        try:
            request = next(steps)
            while True:
                try:
                    response = self.fetch(request)
                except AuthError as exc:
                    request = steps.throw(exc)
                else:
                    request = steps.send(response)
        except StopIteration as end:
            result: T = end.value
            return result

    def fetch(self, request: Request) -> Response:
        """Make one request.

        Raises:
            AddressRefused: its host is at an address that the server may not name.
        """
        parts = urlsplit(request.url)
        host = parts.hostname or ""
        proxy = _proxy(parts.scheme, host)
        if proxy is not None:
            return self._send(request, request.url, {}, proxy)
        try:
            port = parts.port or (443 if parts.scheme == "https" else 80)
            addresses = self._addresses if host == self._host and self._addresses else _resolved(host, port)
        except OSError as exc:
            return Response(failure=f"the host {host} was not found: {exc.strerror or exc}")
        for address in addresses:
            check_reach(request.purpose, request.url, reach_of_address(address), self.reach)
        response = Response(failure=f"the host {host} has no address")
        for address in addresses:
            literal = f"[{address}]" if ":" in address else address
            pinned = parts._replace(netloc=literal + (f":{parts.port}" if parts.port else "")).geturl()
            response = self._send(request, pinned, {"sni_hostname": host}, None)
            if response.status or request.method == "POST":  # a POST may have arrived; it is not repeated
                return response
        return response

    def _send(self, request: Request, url: str, extensions: dict[str, str], proxy: str | None) -> Response:
        left = self._ends - time.monotonic()
        if left <= 0:
            return Response(failure=f"all answers together take longer than {ALL_SECONDS:g} s")
        headers = {"user-agent": USER_AGENT, **request.headers, "host": urlsplit(request.url).netloc}
        deadline = _Deadline(min(TOTAL_SECONDS, left))
        try:
            with ExitStack() as open_:
                open_.enter_context(deadline)
                client = open_.enter_context(
                    httpx2.Client(verify=self._certificates(url), trust_env=False, proxy=proxy, timeout=CONNECT_SECONDS)
                )
                found = open_.enter_context(
                    client.stream(
                        request.method,
                        url,
                        content=request.body,
                        headers=headers,
                        extensions={**extensions, "trace": deadline.trace},
                    )
                )
                body = bytearray()
                for part in found.iter_bytes():
                    body += part
                    if len(body) > MOST_BYTES:
                        return Response(failure=f"the answer is longer than {MOST_BYTES} bytes")
                    if deadline.is_over:
                        return Response(failure=_TOO_SLOW)
                names = {name.lower(): ", ".join(found.headers.get_list(name)) for name in found.headers}
                return Response(found.status_code, names, bytes(body))
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as exc:
            log.debug("! %s: %s", request.purpose, type(exc).__name__)
            if deadline.is_over:
                return Response(failure=_TOO_SLOW)
            return Response(failure=_reason(exc, urlsplit(request.url).hostname or ""))

    def _certificates(self, url: str) -> ssl.SSLContext | bool:
        if urlsplit(url).scheme != "https":
            return False  # loading the certificates takes longer than a request
        if self._context is None:
            self._context = httpx2.create_ssl_context()
            if self._ca_file is not None:
                try:
                    self._context.load_verify_locations(self._ca_file)
                except OSError as exc:  # `ssl.SSLError` is one
                    raise AuthError(f'"caFile" cannot be read: {exc.strerror or exc}') from exc
        return self._context


class _Deadline:
    """Ends a request that takes too long: a server may send the head of its answer byte by byte for ever."""

    def __init__(self, seconds: float) -> None:
        self.is_over = False
        self._socket: socket.socket | None = None
        self._timer = threading.Timer(max(seconds, 0), self._end)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_exc: object) -> None:
        self._timer.cancel()

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Keep the socket of the connection; called by the HTTP library at each step."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._socket = info["return_value"].get_extra_info("socket")

    def _end(self) -> None:
        self.is_over = True
        if self._socket is not None:
            with suppress(OSError):  # it is closed
                # Not the method of a TLS socket, which the other thread reads from.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


def reach_of_server(url: str) -> Reach:
    """Return from how far away an MCP server can be contacted; of several addresses, the farthest counts."""
    host = urlsplit(url).hostname or ""
    return _reach_of_server(host, _addresses_of_server(host))


def _addresses_of_server(host: str) -> list[str]:
    """Return the addresses of a name; none for an address, or if they cannot be found."""
    if reach_of_host(host) is not None:
        return []
    try:
        return _resolved(host, 443)
    except OSError:
        return []


def _reach_of_server(host: str, addresses: list[str]) -> Reach:
    reach = reach_of_host(host)
    return min(map(reach_of_address, addresses), default=Reach.PUBLIC) if reach is None else reach


def _resolved(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as exc:
        raise OSError("it is not the name of a host") from exc
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def _proxy(scheme: str, host: str) -> str | None:
    """Return the proxy for a host from the variables or settings of the system."""
    if reach_of_host(host) is Reach.LOOPBACK:
        return None
    proxies = getproxies()
    found = proxies.get(scheme) or proxies.get("all")
    if not found or proxy_bypass(host):
        return None
    return found if "://" in found else f"http://{found}"


def _reason(exc: Exception, host: str) -> str:
    """Explain a request without an answer, without its address, which may contain secrets."""
    for cause in causes(exc):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"the certificate of {host} is not accepted: {cause.verify_message}"
        if isinstance(cause, OSError) and cause.strerror:
            return f"no connection to {host}: {cause.strerror}"
    if isinstance(exc, httpx2.TimeoutException):
        return f"{host} did not answer in {CONNECT_SECONDS:g} s"
    if isinstance(exc, httpx2.ProxyError):
        return f"the proxy does not connect to {host}: {exc}"
    return f"the connection to {host} broke ({type(exc).__name__})"
