"""The view that removes a server from the configuration file, after its entry was shown.

Decides that only an entry that is as it was shown is removed.
"""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from search_mcp.background import run_in_thread
from search_mcp.cli.files import editing
from search_mcp.cli.files.own_file import own_file
from search_mcp.cli.options import Options
from search_mcp.cli.problem import Problem
from search_mcp.clients import difference
from search_mcp.clients.merging import ROOT
from search_mcp.clients.storage import File
from search_mcp.page.commands import Printed
from search_mcp.page.web import Form, Web, digest

VIEW = "servers"
_DIFFERENT = "it is different from what was shown, so nothing was removed", "look at it again"


def routes(web: Web) -> list[Route]:
    """Return the routes of this view."""
    facts = web.facts

    async def show(request: Request) -> Response:
        name = request.query_params.get("server", "")
        given = await run_in_thread(partial(_shown, facts.config_path, name))
        return web.show(request, "remove.html", VIEW, name=name, **given)

    async def remove(request: Request, form: Form) -> Response:
        name = form.get("server")

        def look(entry: object) -> None:
            if digest(entry) != form.get("digest"):
                raise Problem(*_DIFFERENT)

        said = await facts.carry_out(partial(editing.remove_from, names=[name], look=look))
        return web.done(request, said, VIEW)

    return [web.view("remove", show), web.post("remove", remove)]


def snippet(config: Path, name: str) -> str:
    """Return the entry of a server as a snippet, as it is in the file; may block.

    Raises:
        Problem: there is no server of this name.
    """
    _, entry = _read(config, name)
    return json.dumps({ROOT: {name: entry}}, ensure_ascii=False, indent=2)


def _shown(config: Path, name: str) -> Mapping[str, Any]:
    file, entry = _read(config, name)
    lines = difference.unified(file.document, file.document.drop((ROOT, name)))
    return {"digest": digest(entry), "difference_of_file": lines}


def _read(config: Path, name: str) -> tuple[File, object]:
    file = own_file(Options(screen=Printed(), config=str(config)))
    servers = file.document.members((ROOT,))
    if name not in servers:
        raise Problem(f"there is no server {name!r} in {config}")
    return file, servers[name]
