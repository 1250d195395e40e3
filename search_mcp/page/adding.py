"""The view that adds servers: from a snippet, an address or a command, which is shown, tried and then kept.

Decides that nothing is started before it was shown, and that exactly what was shown is started and kept: the text goes
from step to step in the forms, and with it a digest of what was made of it.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from search_mcp.background import run_in_thread
from search_mcp.cli import command_lines
from search_mcp.cli.counting import enumerated
from search_mcp.cli.files import addition
from search_mcp.cli.files.addition import Addition
from search_mcp.cli.files.own_file import bridged, in_turn, own_file, tell_of_bridges, tell_of_restarts
from search_mcp.cli.options import Options
from search_mcp.cli.problem import Problem
from search_mcp.clients.merging import ROOT, Merged
from search_mcp.model.errors import ConfigError
from search_mcp.page import pasted, removing, trials
from search_mcp.page.commands import Printed
from search_mcp.page.details import MOST_TOOLS
from search_mcp.page.live import until_gone
from search_mcp.page.web import Form, Web, digest, no_parts

VIEW = "add"
_COLUMNS = 90
Step = Callable[[Request, Form], Awaitable[Response]]


class DifferentError(Exception):
    """What a text adds is not what was shown, because the configuration file changed."""

    def __init__(self, now: Addition) -> None:
        super().__init__("It is different from what was shown here, so nothing was done. Look at it again.")
        self.now = now


def routes(web: Web) -> list[Route]:
    """Return the routes of this view."""
    facts = web.facts

    def form_with(request: Request, form: Form, problem: str = "") -> Response:
        given = {field: form.get(field) for field in ("text", "name", "changed")}
        return web.show(request, "add.html", VIEW, status=400 if problem else 200, problem=problem, **given)

    def told(act: Step) -> Step:
        """Tell a problem above the form, which keeps what was written."""

        async def checked(request: Request, form: Form) -> Response:
            try:
                return await act(request, form)
            except DifferentError as exc:
                given = await given_of(form, exc.now)
                return web.show(request, "add_shown.html", VIEW, status=409, problem=str(exc), **given)
            except (Problem, ConfigError) as exc:
                return form_with(request, form, f"Error: {exc}")

        return checked

    async def planned(form: Form, make: Callable[[Options, Form], Addition]) -> Addition:
        options = Options(screen=Printed(), config=str(facts.config_path))
        return await run_in_thread(partial(make, options, form))

    async def given_of(form: Form, shown: Addition) -> dict[str, Any]:
        return await run_in_thread(partial(_given, facts.first["variables"].get("PATH"), form, shown))

    async def begin(request: Request) -> Response:
        name = request.query_params.get("change")
        if name is None:
            return form_with(request, Form(()))
        text = await run_in_thread(partial(removing.snippet, facts.config_path, name))
        return form_with(request, Form((("text", text), ("changed", name))))

    async def change(request: Request, form: Form) -> Response:
        return form_with(request, form)

    async def show(request: Request, form: Form) -> Response:
        given = await given_of(form, await planned(form, _plan))
        return web.show(request, "add_shown.html", VIEW, problem="", **given)

    async def try_(request: Request, form: Form) -> Response:
        shown = await planned(form, _planned_as_shown)
        given = await given_of(form, shown)
        config = await run_in_thread(partial(trials.with_new, facts, shown))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(until_gone, request.receive, tasks.cancel_scope)
            found = await trials.tried(facts, config)
            tasks.cancel_scope.cancel()
            return web.show(request, "add_tried.html", VIEW, trials=found, most=MOST_TOOLS, **given)
        return Response(status_code=204)  # to a browser that has gone

    async def keep(request: Request, form: Form) -> Response:
        return web.done(request, await facts.carry_out(partial(_keep, form)), "servers")

    async def restart(_request: Request) -> Response:
        return RedirectResponse(web.door.root + VIEW, 303)

    steps = {"": show, "/try": try_, "/keep": keep, "/change": change}
    return [
        web.view(VIEW, begin, no_parts),
        *(web.post(VIEW + path, told(act)) for path, act in steps.items()),
        *(web.get(VIEW + path, restart) for path in steps if path),  # a step that a browser loads again
        *removing.routes(web),
    ]


def _given(search_path: str | None, form: Form, planned: Addition) -> dict[str, Any]:
    """Return what the templates of the steps need."""
    screen = Printed()
    tell_of_bridges(bridged(planned.file.document, planned.changed), screen)
    return {
        "text": form.get("text"),
        "name": form.get("name"),
        "changed": form.get("changed"),
        "digest": digest_of(planned),
        "servers": [_shown(planned, each, search_path) for each in planned.merged],
        "path": planned.file.path,
        "bridges": screen.said,
    }


def _shown(planned: Addition, each: Merged, search_path: str | None) -> tuple[Merged, list[str], list[str]]:
    """Return a server with what it runs, and what looks wrong in it."""
    entry = _entry(planned, each)
    return each, [*command_lines.full(entry, _COLUMNS)], [*pasted.doubts(entry, search_path)]


def digest_of(planned: Addition) -> str:
    """Return a digest of what is added, as it was shown."""
    before = planned.file.document.members((ROOT,))
    shown = [(each.result, each.name, _entry(planned, each), before.get(each.name)) for each in planned.merged]
    return digest(shown)


def _entry(planned: Addition, each: Merged) -> Mapping[str, Any]:
    return planned.changed.members((ROOT, each.name))


def _plan(options: Options, form: Form) -> Addition:
    """Plan what the text of a form adds.

    Raises:
        Problem, ConfigError: it adds nothing, or nothing valid.
    """
    file, name = own_file(options), form.get("name").strip()
    if changed := form.get("changed"):
        return addition.plan_change(file, changed, pasted.servers(form.get("text"), "", lambda _: changed))
    present = file.document.members((ROOT,))
    servers = pasted.servers(form.get("text"), name, partial(pasted.suggestion, present))
    planned = addition.plan(file, servers, [name] if name else [])
    if not planned.names:
        there = [each.name for each in planned.merged]
        raise Problem(f"{enumerated(there)} {'is' if len(there) == 1 else 'are'} in the configuration already")
    return planned


def _planned_as_shown(options: Options, form: Form) -> Addition:
    """Plan it again.

    Raises:
        DifferentError: it is not what was shown.
    """
    planned = _plan(options, form)
    if digest_of(planned) != form.get("digest"):
        raise DifferentError(planned)
    return planned


def _keep(form: Form, options: Options) -> None:
    """Write the servers into the file, and say so."""
    with in_turn():
        planned = _planned_as_shown(options, form)
        planned.write(options)
    if name := form.get("changed"):
        options.screen.text(f"Changed {name} in {planned.file.path}.")
    else:
        planned.tell(options)
    tell_of_restarts(planned.file.path, planned.changed, planned.enabled, options.screen)
