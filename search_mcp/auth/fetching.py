"""The requests of logins over HTTP: one at a time, blocking, to checked addresses only.

A name is resolved here and the connection goes to the address that was checked, because a name may lead elsewhere the
next time. Where a proxy is configured, it resolves the names, and only literal addresses are checked.
"""

import logging
import socket
import ssl
import time
from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import anyio
import httpx2

from search_mcp.auth.addresses import Reach, check_reach, reach_of_address, reach_of_host
from search_mcp.auth.errors import AuthError
from search_mcp.auth.steps import Request, Response, Steps
from search_mcp.http.client import USER_AGENT, certificates, whole
from search_mcp.http.failures import CONNECT_SECONDS, FAILURES, RefusedError, why

log = logging.getLogger(__name__)

ALL_SECONDS = 60.0
"""Time for all requests of one `Fetcher`, while a login's lock is held. A server can name 70 addresses of metadata, and
send an answer byte by byte."""

T = TypeVar("T")


class Fetcher:
    """Makes the requests of the login of one server."""

    def __init__(self, url: str, ca_file: str | None = None, *, seconds: float = ALL_SECONDS) -> None:
        """Prepare requests; `url` is the address of the MCP server, `seconds` the time for all of them.

        Raises:
            AuthError: the file with certificates cannot be read.
        """
        self._host = urlsplit(url).hostname or ""
        # Resolved once: its reach is that of the addresses that are used. Its owner decides what its name leads to, and
        # a server on the Internet would otherwise be taken for one of the user's network, whose addresses it may name.
        self._addresses = _addresses_of_server(self._host)
        self.reach = _reach_of_server(self._host, self._addresses)
        self._ends = time.monotonic() + seconds
        self._too_slow = f"all answers together take longer than {seconds:g} s"
        self._ca_file = ca_file
        self._contexts: dict[str, ssl.SSLContext] = {}

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
            return Response(failure=self._too_slow)
        verify = self._certificates(urlsplit(url).scheme)
        try:
            client = httpx2.AsyncClient(verify=verify, trust_env=False, proxy=proxy, timeout=CONNECT_SECONDS)
            # In an event loop, a limit of time also ends a request whose answer arrives byte by byte.
            return anyio.run(_exchanged, client, request, url, extensions, left)
        except TimeoutError:
            return Response(failure=self._too_slow)
        except (*FAILURES, OSError) as exc:
            log.debug("! %s: %s", request.purpose, type(exc).__name__)
            return Response(failure=why(exc, request.url))

    def _certificates(self, scheme: str) -> ssl.SSLContext:
        if scheme not in self._contexts:
            try:
                self._contexts[scheme] = certificates(scheme, self._ca_file)
            except RefusedError as exc:
                raise AuthError(str(exc)) from exc
        return self._contexts[scheme]


async def _exchanged(
    client: httpx2.AsyncClient, request: Request, url: str, extensions: Mapping[str, str], seconds: float
) -> Response:
    headers = {"user-agent": USER_AGENT, **request.headers, "host": urlsplit(request.url).netloc}
    with anyio.fail_after(seconds):
        async with (
            client,
            client.stream(request.method, url, content=request.body, headers=headers, extensions=extensions) as found,
        ):
            body = await whole(found)
            names = {name.lower(): ", ".join(found.headers.get_list(name)) for name in found.headers}
            return Response(found.status_code, names, body)


def _addresses_of_server(host: str) -> list[str]:
    """Return the addresses of a name; none for an address, or if they cannot be found."""
    if reach_of_host(host) is not None:
        return []
    try:
        return _resolved(host, 443)
    except OSError:
        return []


def _reach_of_server(host: str, addresses: list[str]) -> Reach:
    """Return from how far away a server can be contacted; of several addresses, the farthest counts."""
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
