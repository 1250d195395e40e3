"""The views of the AI clients: connected now, found on this machine, and what each is shown."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from search_mcp.background import run_in_thread
from search_mcp.catalog import profiles
from search_mcp.cli.clients.registration import targets
from search_mcp.cli.clients.selection import named, noting
from search_mcp.cli.options import Options
from search_mcp.cli.session import read_cache
from search_mcp.cli.tokens import cost, tokenizer
from search_mcp.cli.tokens.cost import MODES, Cost
from search_mcp.cli.tokens.tokens import headline
from search_mcp.clients import installation, storage
from search_mcp.clients.known import CLIENTS, Client
from search_mcp.model.errors import ConfigError
from search_mcp.page import connecting
from search_mcp.page.commands import Printed
from search_mcp.page.door import Session
from search_mcp.page.facts import Facts
from search_mcp.page.live import Part
from search_mcp.page.web import Web
from search_mcp.times import iso

VIEW = connecting.VIEW
_ESTIMATE = tokenizer.estimating("`search-mcp tokens` counts if it can")


@dataclass(frozen=True)
class Connected:
    """A client that the engine serves."""

    name: str
    program: str
    pid: int | None
    since: str | None
    subset: str | None
    """Its option `--servers`."""
    servers: tuple[str, ...]
    """Those of which it uses a process."""


@dataclass(frozen=True)
class Found:
    """A file of a client on this machine."""

    client: Client
    path: Path
    is_registered: bool = False
    """Whether it starts search-mcp with the configuration of the page."""
    is_elsewhere: bool = False
    """Whether it starts search-mcp with another one."""
    others: tuple[str, ...] = ()
    """Its other servers that search-mcp could run."""
    subset: str | None = None
    cost: Cost | None = None
    """What the client is shown costs; only if it is registered."""
    trouble: str = ""


def routes(web: Web) -> list[Route]:
    """Return the routes of these views."""
    facts = web.facts

    async def overview(request: Request) -> Response:
        found = await run_in_thread(partial(_all_found, facts.config_path))
        missing = [each for each in CLIENTS if each not in [file.client for file in found]]
        given: dict[str, Any] = {"connected": _connected(facts), "found": found, "missing": missing}
        return web.show(request, "clients.html", VIEW, headline=headline, **given)

    async def parts(_query: Mapping[str, str], session: Session) -> dict[str, Part]:
        now = _connected(facts)
        write = partial(web.write, "clients_connected.html", session, connected=now)
        return {"connected": Part(tuple(now), write)}

    async def details(request: Request) -> Response:
        (client,) = named([request.query_params.get("name", "")], all_found=False)
        found = await run_in_thread(partial(_cost_of, facts.config_path, client))
        return web.show(request, "client.html", VIEW, client=client, cost=found, headline=headline(found), modes=MODES)

    return [web.view(VIEW, overview, parts), web.view("client", details, back=VIEW), *connecting.routes(web)]


def _connected(facts: Facts) -> list[Connected]:
    return [
        Connected(each.name, each.program, each.pid, iso(each.since), each.subset, (*facts.standings.used_by(each),))
        for each in facts.clients
    ]


def _all_found(config: Path) -> list[Found]:
    """Look at the files of all clients; may take a while."""
    return [_found(client, path, config) for client, path, _ in targets([], all_found=True)]


def _found(client: Client, path: Path, config: Path) -> Found:
    found, troubles = Found(client, path), list[ConfigError]()
    with noting(troubles):
        found = _looked_at(client, path, config)
        if found.is_registered:
            found = replace(found, cost=_cost(config, client, found.subset, samples=1))
    return replace(found, trouble=str(troubles[0])) if troubles else found


def _looked_at(client: Client, path: Path, config: Path) -> Found:
    file = storage.load(path, client.format).document
    others, _ = installation.other_servers(file, client)
    return Found(
        client,
        path,
        is_registered=installation.uses(file, client, config),
        is_elsewhere=installation.is_registered(file, client) and not installation.uses(file, client, config),
        others=tuple(each.name for each in others),
        subset=installation.chosen_servers(file, client),
    )


def _cost_of(config: Path, client: Client) -> Cost:
    """Count what a client is shown, or would be; the servers are those that its file chooses."""
    files = [storage.load(path, client.format).document for _, path, _ in targets([client.name], all_found=False)]
    chosen = (installation.chosen_servers(file, client) for file in files)
    return _cost(config, client, next(filter(None, chosen), None))


def _cost(config: Path, client: Client, subset: str | None, samples: int = cost.SAMPLES) -> Cost:
    """Estimate the tokens from the cached lists, as `tokens` does; no server is started.

    The more `samples` of searches, the longer it takes, and the better is the cost of one.

    Raises:
        ConfigError: the configuration cannot be read, or does not have the chosen servers.
    """
    name = client.name if client.name in profiles.BY_NAME else None
    options = Options(screen=Printed(), config=str(config), client=name, servers=subset)
    loaded, _ = options.configuration()
    return read_cache(loaded, options.profile, lambda session: cost.count(session, _ESTIMATE, samples))
