"""All routes of the page, as its application has them: the attacks are tried on each."""

from functools import cache
from typing import cast

from starlette.applications import Starlette
from starlette.routing import Route

from search_mcp.page.app import Guard, application
from search_mcp.page.door import Door
from search_mcp.page.facts import Facts
from search_mcp.page.web import read_files

OPEN = {"", "enter", "page.css", "page.js", "icon.svg"}
"""Paths that need no session."""


@cache
def paths(method: str) -> list[str]:
    """Return the paths that answer to a method, after the root of the page."""
    door = Door("127.0.0.1:1", lambda: 0.0)
    guard = application(cast("Facts", object()), door, read_files())  # the routes are made without any fact
    assert isinstance(guard, Guard)
    app = cast("Starlette", guard._app)
    routes = [each for each in app.routes if isinstance(each, Route)]
    assert len(routes) == len(app.routes)
    return [each.path.removeprefix(door.root) for each in routes if method in (each.methods or ())]
