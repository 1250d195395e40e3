"""The start and the end of the ASGI application in a server of another maker.

The server owns the process, its signals and its listener. Source:
https://asgi.readthedocs.io/en/latest/specs/lifespan.html.
"""

import os
from collections.abc import Callable

from search_mcp import logs
from search_mcp.fronts.http.access import Places
from search_mcp.fronts.http.front import HttpFront
from search_mcp.fronts.http.protected_resource import ProtectedResource
from search_mcp.fronts.http.requests import Receive, Send
from search_mcp.fronts.http.serving import Terms, read_configuration, running
from search_mcp.model.errors import ConfigError

HOSTS_VARIABLE, ORIGINS_VARIABLE = "SEARCH_MCP_ALLOW_HOSTS", "SEARCH_MCP_ALLOW_ORIGINS"
"""Names and origins with commas, as `--allow-host` and `--allow-origin` of `search-mcp serve` give them."""
ISSUER_VARIABLE, AUDIENCE_VARIABLE, SCOPES_VARIABLE = "SEARCH_MCP_ISSUER", "SEARCH_MCP_AUDIENCE", "SEARCH_MCP_SCOPES"
"""As `--issuer`, `--audience` and, with commas, `--scope`."""


async def lifespan(receive: Receive, send: Send, show: Callable[[HttpFront | None], None]) -> None:
    """Serve from the startup event to the shutdown event; `show` is given the front for this time."""
    await receive()
    try:
        names = ISSUER_VARIABLE, AUDIENCE_VARIABLE
        issuer, audience = map(os.environ.get, names)
        resource = ProtectedResource.of(issuer, audience, _listed(SCOPES_VARIABLE), names)
        started = read_configuration(None, None)
    except (ConfigError, ValueError) as exc:
        await send({"type": "lifespan.startup.failed", "message": str(exc)})
        return
    places = Places.of((*_listed(HOSTS_VARIABLE), resource.host if resource else ""), _listed(ORIGINS_VARIABLE))
    log_to = started.log_to
    with logs.to_stderr(log_to.level(started.config), log_to.clean, log_to.conceal):
        async with running(started, Terms(places, resource=resource)) as (front, _health):
            show(front)
            await send({"type": "lifespan.startup.complete"})
            await receive()
            show(None)
    await send({"type": "lifespan.shutdown.complete"})


def _listed(variable: str) -> list[str]:
    return [each.strip() for each in os.environ.get(variable, "").split(",") if each.strip()]
