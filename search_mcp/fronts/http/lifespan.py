"""The start and the end of the ASGI application in a server of another maker.

The server owns the process, its signals and its listener. Source:
https://asgi.readthedocs.io/en/latest/specs/lifespan.html.
"""

import os
from collections.abc import Callable

from search_mcp import logs
from search_mcp.fronts.http.access import Places
from search_mcp.fronts.http.app import HttpFront
from search_mcp.fronts.http.requests import Receive, Send
from search_mcp.fronts.http.serving import read_configuration, running
from search_mcp.model.errors import ConfigError

HOSTS_VARIABLE, ORIGINS_VARIABLE = "SEARCH_MCP_ALLOW_HOSTS", "SEARCH_MCP_ALLOW_ORIGINS"
"""Names and origins with commas, as `--allow-host` and `--allow-origin` of `search-mcp serve` give them."""


async def lifespan(receive: Receive, send: Send, show: Callable[[HttpFront | None], None]) -> None:
    """Serve from the startup event to the shutdown event; `show` is given the front for this time."""
    await receive()
    try:
        started = read_configuration(None, None)
    except ConfigError as exc:
        await send({"type": "lifespan.startup.failed", "message": str(exc)})
        return
    places = Places.of(*(os.environ.get(each, "").split(",") for each in (HOSTS_VARIABLE, ORIGINS_VARIABLE)))
    log_to = started.log_to
    with logs.to_stderr(log_to.level(started.config), log_to.clean, log_to.conceal):
        async with running(started, places, needs_token=True) as (front, _health):
            show(front)
            await send({"type": "lifespan.startup.complete"})
            await receive()
            show(None)
    await send({"type": "lifespan.shutdown.complete"})
