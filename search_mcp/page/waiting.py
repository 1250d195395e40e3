"""The view of what waits for a decision of the user: held commands, new and changed definitions, logins.

Decides that exactly what was shown is accepted: a form has digests of it, and what is different now is shown again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from search_mcp.backends.pin_records import Open
from search_mcp.backends.pins import TrustStore
from search_mcp.background import run_in_thread
from search_mcp.cli import command_lines, consent
from search_mcp.cli.checks import acceptance, differences
from search_mcp.cli.counting import counted
from search_mcp.cli.problem import Problem
from search_mcp.config import identity, location
from search_mcp.config.schema import ServerConfig
from search_mcp.folders import trust_folder
from search_mcp.model.calls import Link
from search_mcp.model.names import Kind, State
from search_mcp.page.commands import Printed
from search_mcp.page.door import Session
from search_mcp.page.facts import Facts
from search_mcp.page.live import Kept, Part, Same
from search_mcp.page.logins import Attempt, Logins
from search_mcp.page.standings import Row
from search_mcp.page.web import Form, Web, digest

VIEW = "waiting"
MOST_SHOWN = 100
"""Differences of one server that are shown at a time, and accepted with one click."""
_COLUMNS = 90
_CHANGED = "It is different from what was shown here, so nothing was accepted. Look at it again."


@dataclass(frozen=True)
class Difference:
    """A definition that is new, changed or gone, as it is shown."""

    title: str
    lines: tuple[tuple[str, str], ...]
    digest: str


@dataclass(frozen=True)
class Waiting:
    """What waits about one server."""

    row: Row
    config: ServerConfig
    command: tuple[str, ...] = ()
    """The whole command or address, if it is held."""
    digest: str = ""
    differences: tuple[Difference, ...] = ()
    more: int = 0
    """Differences that are not shown yet."""
    attempt: Attempt | None = None
    """The login that was begun."""
    problem: str = ""
    """Why its differences cannot be shown."""


@dataclass(frozen=True)
class Address:
    """An address that a server asks the user to open, and its client cannot show."""

    client: str
    link: Link

    @property
    def host(self) -> str:
        return urlsplit(self.link.url).netloc

    @property
    def digest(self) -> str:
        return digest(self)


class Queue:
    """What waits for the user."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self.logins = Logins(facts)
        self._differences = Kept()

    async def items(self) -> list[Waiting]:
        """Return what waits, in the order of the configuration."""
        rows, servers = self._facts.rows(), self._facts.gateway.servers
        # Each item is awaited, and an edit may remove the server of a later one.
        return [
            await self._item(row, servers.configs[row.server])
            for row in rows
            if row.is_waiting and row.server in servers.configs
        ]

    def addresses(self) -> list[Address]:
        """Return the addresses that wait, by client."""
        return [
            Address(client.name, link)
            for client in self._facts.clients
            for link in client.gateway.state.links.waiting()
        ]

    def forget(self, digest: str) -> None:
        """Forget an address: the user is done with it."""
        for address in self.addresses():
            for client in self._facts.clients if address.digest == digest else ():
                client.gateway.state.links.drop(address.link)

    async def _item(self, row: Row, config: ServerConfig) -> Waiting:
        if row.state is State.HELD:
            shown = tuple(command_lines.full(command_lines.entry_of(config), _COLUMNS))
            return Waiting(row, config, shown, digest_of_program(config))
        item = Waiting(row, config, attempt=self.logins.attempts.get(row.server))
        if not row.differences:
            return item
        pages = self._facts.gateway.servers.catalog.pages
        state = row.differences, *(Same(pages.get((row.server, kind))) for kind in (Kind.TOOLS, Kind.PROMPTS))
        try:
            find = partial(self._first, row.server)
            differences, more = await self._differences.get(row.server, state, find)
        except Problem as exc:  # the other items are shown
            return replace(item, problem=f"Error: {exc}")
        return replace(item, differences=differences, more=more)

    async def _first(self, server: str) -> tuple[tuple[Difference, ...], int]:
        """Return the first differences of a server, as they are shown, and the number of the others."""
        found = await self.opened_now(server)
        return tuple(_shown(server, each) for each in found[:MOST_SHOWN]), len(found[MOST_SHOWN:])

    async def opened_now(self, server: str) -> list[Open]:
        """Read the differences of a server.

        Raises:
            Problem: the record of accepted definitions cannot be read.
        """
        process, lease = self._facts.standings.processes().get(server), self._facts.gateway.leases.by_name.get(server)
        known = process.supervisor if process is not None else lease
        try:
            return await run_in_thread(known.opened) if known is not None else []
        except OSError as exc:
            raise Problem(f"the accepted definitions of {server} cannot be read ({exc.strerror or exc})") from exc


def routes(web: Web) -> list[Route]:
    """Return the routes of this view."""
    facts, queue = web.facts, Queue(web.facts)

    async def show(request: Request) -> Response:
        return web.show(request, "waiting.html", VIEW, items=await queue.items(), addresses=queue.addresses())

    async def parts(_query: Mapping[str, str], session: Session) -> dict[str, Part]:
        given: dict[str, Any] = {"items": await queue.items(), "addresses": queue.addresses()}
        key = given, [each.attempt and each.attempt.key for each in given["items"]]
        return {VIEW: Part(key, partial(web.write, "waiting_items.html", session, **given))}

    async def accept_command(request: Request, form: Form) -> Response:
        row, config = facts.known(form.get("server"))
        if config.held is None:
            return web.done(request, f"The {config.noun} of {row.server} is accepted already.", VIEW)
        if digest_of_program(config) != form.get("digest"):
            raise Problem(_CHANGED)
        await facts.until(partial(_accept_command, facts, config), lambda: facts.is_past(row))
        return web.done(request, f"{row.server}: its {config.noun} is accepted.", VIEW)

    async def accept(request: Request, form: Form) -> Response:
        (row, config), wanted = facts.known(form.get("server")), {*form.all("digest")}
        found = [each for each in await queue.opened_now(row.server) if digest_of(each) in wanted]
        if len(found) < len(wanted):
            raise Problem(_CHANGED)
        act = partial(acceptance.accept, config, found, TrustStore(trust_folder()), Printed())
        await facts.until(act, lambda: facts.is_past(row))
        return web.done(request, f"{row.server}: {counted(len(found), 'definition')} accepted.", VIEW)

    async def log_in(request: Request, form: Form) -> Response:
        row, config = facts.known(form.get("server"))
        attempt = queue.logins.attempts.get(row.server)
        accepted = attempt.hosts if attempt is not None and form.get("hosts") == "accepted" else None
        await queue.logins.begin(config, accepted or None)
        begun = queue.logins.attempts.get(row.server)
        if begun is not None and begun.problem:
            return web.failed(request, begun.problem, VIEW)
        said = f"Logged in to {row.server}." if begun is None else f"Go on with {row.server} below."
        return web.done(request, said, VIEW)

    async def cancel_login(request: Request, form: Form) -> Response:
        queue.logins.cancel(form.get("server"))
        return web.done(request, f"The login to {form.get('server')} is given up.", VIEW)

    async def forget_address(request: Request, form: Form) -> Response:
        queue.forget(form.get("digest"))
        return web.done(request, "The address does not wait any more.", VIEW)

    return [
        web.view(VIEW, show, parts),
        web.post("accept-command", accept_command),
        web.post("accept", accept),
        web.post("login", log_in),
        web.post("cancel-login", cancel_login),
        web.post("forget-address", forget_address),
    ]


def _accept_command(facts: Facts, config: ServerConfig) -> None:
    with consent.remembering(facts.config_path):
        location.approvals().accept(facts.config_path, [config])


def _shown(server: str, each: Open) -> Difference:
    gone = () if each.now is not None else (("", "It is not listed any more."),)
    lines: Sequence[tuple[str, str]] = (*gone, *(differences.lines(each) if each.now is not None else ()))
    return Difference(differences.title(server, each), tuple(lines), digest_of(each))


def digest_of(each: Open) -> str:
    return digest((each.section, each.name, each.before, each.now))


def digest_of_program(config: ServerConfig) -> str:
    """Return a digest of a command with the texts about it."""
    return digest((config.program, identity.texts(config)))
