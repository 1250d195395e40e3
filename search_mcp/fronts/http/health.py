"""Health, readiness and metrics of the front over HTTP, at an address of their own, which is not for clients.

The metrics are those that show whether it is in trouble: requests by status, open ones by principal, clients, servers
by state. Source of the format: https://prometheus.io/docs/instrumenting/exposition_formats/.
"""

import time
from collections import Counter
from collections.abc import Iterator

from search_mcp.fronts.http.access import Places
from search_mcp.fronts.http.front import HttpFront
from search_mcp.fronts.http.requests import HttpRequest, Receive, RefusedError, Scope, Send
from search_mcp.fronts.http.server import HttpServer

WATCHED_SECONDS = 15.0
"""Longest interval of readiness probes: Kubernetes has 10 seconds, HAProxy 2."""
_TEXT = (("content-type", "text/plain; version=0.0.4; charset=utf-8"),)


class Health:
    """The ASGI application of that listener."""

    def __init__(self, server: HttpServer, front: HttpFront, places: Places) -> None:
        self._server, self._front, self._places = server, front, places
        self._asked_at = float("-inf")

    @property
    def is_watched(self) -> bool:
        """Whether a readiness probe arrived within this interval, as those of load balancers do."""
        return time.monotonic() - self._asked_at < WATCHED_SECONDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = HttpRequest(scope, receive, send)
        if not self._places.admits_probe(request.headers):
            await request.refuse(RefusedError(421, "this host is not allowed"))
            return
        match request.method, request.path:
            case "GET", "/healthz":
                await request.begin(200, _TEXT)
                await request.send(b"ok\n", is_last=True)
            case "GET", "/readyz":
                self._asked_at = time.monotonic()
                await request.begin(503 if self._front.is_ending else 200, _TEXT)
                await request.send(b"ending\n" if self._front.is_ending else b"ready\n", is_last=True)
            case "GET", "/metrics":
                await request.begin(200, _TEXT)
                await request.send("".join(f"{line}\n" for line in self._metrics()).encode(), is_last=True)
            case _:
                await request.refuse(RefusedError(404, "there are /healthz, /readyz and /metrics"))

    def _metrics(self) -> Iterator[str]:
        yield from _family("search_mcp_requests_total", "counter", "Requests by status.")
        for status, count in sorted(self._front.answered.items()):
            yield f'search_mcp_requests_total{{status="{status}"}} {count}'
        yield from _family("search_mcp_open_requests", "gauge", "Open requests and streams by principal.")
        for principal, count in sorted(self._front.open_requests.items()):
            yield f'search_mcp_open_requests{{principal="{principal}"}} {count}'
        yield from _family("search_mcp_clients", "gauge", "Sessions, and principals with modern requests.")
        clients = Counter("session" if each.session else "modern" for each in self._server.clients)
        for kind in ("session", "modern"):
            yield f'search_mcp_clients{{kind="{kind}"}} {clients[kind]}'
        yield from _family("search_mcp_servers", "gauge", "Processes and connections of servers by state.")
        states = Counter(each.supervisor.status.state.value for each in self._server.pool.servers)
        for state, count in sorted(states.items()):
            yield f'search_mcp_servers{{state="{state}"}} {count}'


def _family(name: str, kind: str, about: str) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"
