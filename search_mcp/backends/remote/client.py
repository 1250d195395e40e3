"""The HTTP client of one channel: its headers, cookies and connections."""

from http.cookiejar import Cookie, CookieJar, DefaultCookiePolicy
from urllib.request import Request

import httpx2

from search_mcp.config.schema import Remote
from search_mcp.http import client

WRITE_SECONDS = 60.0
"""Longest time in which a server reads nothing of a request, in seconds."""
IDLE_CONNECTIONS = 20
IDLE_SECONDS = 30.0
"""Number of idle connections that stay open for later requests, and their time limit."""
MOST_COOKIES, COOKIE_BYTES = 50, 4096
"""Cookies that are kept, and bytes of each: a browser keeps at least as many of one host (RFC 6265, 6.1)."""


def new_client(address: Remote) -> httpx2.AsyncClient:
    """Make the client; this loads certificates.

    Raises:
        RefusedError: the certificates cannot be read.
        ValueError: it is not an HTTP address.
    """
    # Open streams must not keep calls from being sent, so connections are not counted here.
    limits = httpx2.Limits(
        max_connections=None, max_keepalive_connections=IDLE_CONNECTIONS, keepalive_expiry=IDLE_SECONDS
    )
    return client.new_client(
        client.http_url(address.url),
        address.ca_file,
        limits,
        write_seconds=WRITE_SECONDS,
        headers=address.headers,
        cookies=_FewCookies().jar,
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
