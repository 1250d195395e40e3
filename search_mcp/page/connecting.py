"""The views that connect an AI client and disconnect it: an edit of its file, which is shown first.

Decides that exactly the shown edit is made: a form has a digest of the files before and after it.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from search_mcp.background import run_in_thread
from search_mcp.cli.clients import registration, removal
from search_mcp.cli.clients.program import lasting
from search_mcp.cli.clients.registration import Registration, targets
from search_mcp.cli.clients.removal import Removal
from search_mcp.cli.clients.report import Done
from search_mcp.cli.clients.selection import named
from search_mcp.cli.counting import enumerated
from search_mcp.cli.files.own_file import bridged, in_turn, tell_of_bridges
from search_mcp.cli.options import Options
from search_mcp.cli.problem import Problem
from search_mcp.cli.terminal import Terminal
from search_mcp.clients import installation
from search_mcp.clients.known import Client
from search_mcp.page.commands import Printed, carried_out
from search_mcp.page.web import Form, Web, digest

VIEW = "clients"
_DIFFERENT = "the files are different from what was shown, so nothing was changed", "look at it again"
_RESULTS = {
    "added": "search-mcp is in {} now",
    "updated": "search-mcp is in {} now",
    "present": "search-mcp is in {} already",
    "removed": "search-mcp is not in {} any more",
    "absent": "search-mcp is not in {}",
}
_OTHER_CHANGE = "The box was changed, so this is another change than the one shown before. Nothing is written yet."


@dataclass(frozen=True)
class Shown:
    """Planned edits, as they are shown."""

    edits: tuple[tuple[Done, str], ...]
    """The edit of each file of the client, and its difference."""
    troubles: tuple[str, ...]
    digest: str
    commands: str = ""
    """Notes, and the commands that our own file gets."""
    own_difference: str = ""
    movable: tuple[str, ...] = ()
    """The client's other servers that search-mcp can run."""

    @property
    def is_needed(self) -> bool:
        """Whether there is something to write."""
        return any(done.result not in ("present", "absent") for done, _ in self.edits)


def routes(web: Web) -> list[Route]:
    """Return the routes of these views."""
    facts = web.facts

    def plan(client: Client, options: Options, *, moves: bool) -> Registration:
        places = targets([client.name], all_found=False)
        return registration.plan(options, lasting(facts.program), places, None, moves=moves)

    async def show_connecting(request: Request) -> Response:
        client, moves = _client(request.query_params.get("client", "")), "replace" in request.query_params
        options = Options(screen=Printed(), config=str(facts.config_path), dry_run=True)
        shown = await run_in_thread(lambda: _connection(plan(client, options, moves=moves), options))
        return web.show(request, "connect.html", VIEW, client=client, moves=moves, shown=shown)

    async def connect(request: Request, form: Form) -> Response:
        client, moves = _client(form.get("client")), form.get("replace") == "yes"
        if form.get("show") or moves != (form.get("shown") == "moved"):
            return web.done(request, "" if form.get("show") else _OTHER_CHANGE, _place(client, moves=moves))

        def act(options: Options) -> None:
            with in_turn():
                quiet = replace(options, screen=Printed())  # its notes were shown with the change
                planned = plan(client, quiet, moves=moves)
                _refuse_other(planned, form)
                done = registration.carry_out(planned, options)
            tell_of_bridges(bridged(done.own.document, done.behind), options.screen)
            _tell(done, planned, options.screen)

        alone = partial(carried_out, facts.config_path, act)
        return web.done(request, await (facts.carry_out(act) if moves else run_in_thread(alone)), VIEW)

    async def show_disconnecting(request: Request) -> Response:
        client = _client(request.query_params.get("client", ""))
        shown = await run_in_thread(lambda: _shown(removal.plan([client])))
        return web.show(request, "disconnect.html", VIEW, client=client, shown=shown)

    async def disconnect(request: Request, form: Form) -> Response:
        client = _client(form.get("client"))

        def act(options: Options) -> None:
            with in_turn():
                planned = removal.plan([client])
                _refuse_other(planned, form)
                done = removal.carry_out(planned)
            _tell(done, planned, options.screen)

        return web.done(request, await run_in_thread(partial(carried_out, facts.config_path, act)), VIEW)

    return [
        web.view("connect", show_connecting, back=VIEW),
        web.post("connect", connect),
        web.view("disconnect", show_disconnecting, back=VIEW),
        web.post("disconnect", disconnect),
    ]


def _client(name: str) -> Client:
    """Return the client of a form.

    Raises:
        Misuse: there is none of this name.
    """
    (client,) = named([name], all_found=False)
    return client


def _place(client: Client, *, moves: bool) -> str:
    """Return the path of the view that shows how a client is connected."""
    return f"connect?client={client.name}{'&replace=yes' if moves else ''}"


def _tell(made: Registration | Removal, planned: Registration | Removal, screen: Terminal) -> None:
    """Write a sentence about each file: what is in it now, and what the user does next.

    Raises:
        ConfigError: a file could not be written, as planned.
    """
    for each in made.done:
        screen.text(_sentences(each))
        for warning in each.warnings:
            screen.warning(warning)
    for trouble in made.troubles[len(planned.troubles) :]:
        raise trouble


def _sentences(done: Done) -> str:
    before = f"; the file before is {done.backup}" if done.backup is not None else ""
    said = [f"{_RESULTS[done.result].format(done.file.path)}{before}."]
    if done.moved and done.result in ("removed", "absent"):
        said.append(
            f"{enumerated(done.moved)} {'is' if len(done.moved) == 1 else 'are'} there again, and in search-mcp, too."
        )
    elif done.moved:
        said.append(f"{enumerated(done.moved)} moved to search-mcp.")
    if done.choice is not None:
        said.append(f"{done.client.title} {done.choice.sentence(is_planned=False)}.")
    if done.next_step is not None:
        step = done.next_step.replace("restart it", f"restart {done.client.title}")
        said.append(f"{step[:1].upper()}{step[1:]}.")
    return " ".join(said)


def _connection(planned: Registration, options: Options) -> Shown:
    planned.show_commands(options)
    assert isinstance(options.screen, Printed)
    movable = [installation.other_servers(each.file.document, each.client)[0] for each in planned.done]
    servers = tuple(server.name for servers in movable for server in servers)
    return _shown(planned, options.screen.said, planned.own_difference, servers)


def _shown(planned: Registration | Removal, *more: Any) -> Shown:
    edits = tuple((each, each.difference()) for each in planned.done)
    return Shown(edits, tuple(map(str, planned.troubles)), _digest_of(planned), *more)


def _refuse_other(planned: Registration | Removal, form: Form) -> None:
    if _digest_of(planned) != form.get("digest"):
        raise Problem(*_DIFFERENT)


def _digest_of(planned: Registration | Removal) -> str:
    """Return a digest of edits, as they were shown: of the files before and after them."""
    own = (planned.own.document.text, planned.behind.text) if isinstance(planned, Registration) else ()
    return digest((own, [(str(each.file.path), each.file.document.text, each.changed.text) for each in planned.done]))
