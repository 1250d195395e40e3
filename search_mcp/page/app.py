"""The application of the page: its routes, who may use them, and the headers of every response."""

from collections.abc import Mapping
from functools import partial
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from search_mcp.auth.callback import is_of_another_user
from search_mcp.cli.problem import Problem
from search_mcp.model.errors import ConfigError
from search_mcp.page import adding, clients, details, servers, trying, usage, waiting
from search_mcp.page.door import Door
from search_mcp.page.facts import Facts
from search_mcp.page.live import Part, Streams
from search_mcp.page.web import Files, Web, read_form, session_of

_HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; "
    "frame-ancestors 'none'",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
_STATIC = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}
_OPEN = ("", "enter", *_STATIC)
"""Paths that need no session; they show nothing."""


class Guard:
    """Refuses requests from elsewhere and without a session, before anything else is looked at."""

    def __init__(self, app: ASGIApp, door: Door, facts: Facts) -> None:
        self._app, self._door, self._facts = app, door, facts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        if scope["type"] != "http":
            return
        answer = self._refused(scope)
        with self._facts.host.in_use():
            await (self._app if answer is None else answer)(scope, receive, with_headers)

    def _refused(self, scope: Scope) -> Response | None:
        request, door = Request(scope), self._door
        status = door.refusal(request.method, _without_doubles(request.headers))
        if status is not None:
            return _plain(status)
        if not request.url.path.startswith(door.root):
            return _plain(404)
        path = request.url.path.removeprefix(door.root)
        session = door.session(request.cookies)
        scope.setdefault("state", {})["session"] = session
        if session is None and path not in _OPEN:
            return RedirectResponse(door.root, 303) if request.method == "GET" and path != "events" else _plain(401)
        return None


def _without_doubles(headers: Headers) -> Mapping[str, str]:
    """Return the headers; one that came twice has both values, which none of ours has."""
    return {name: ", ".join(headers.getlist(name)) for name in headers}


def _plain(status: int) -> Response:
    return Response(f"{status} {HTTPStatus(status).phrase}\n", status, media_type="text/plain")


def application(facts: Facts, door: Door, files: Files) -> ASGIApp:
    """Return the application of a page."""
    web, streams = Web(facts, door, files.templates), Streams()

    async def enter_page(request: Request) -> Response:
        if request.state.session is not None:
            return RedirectResponse(f"{door.root}servers", 303)
        return _entering(web, "")

    async def enter(request: Request) -> Response:
        # The address is an argument of the browser's process, and every user of this computer sees those.
        if await is_of_another_user(request.scope["client"][1], request.scope["server"][1]):
            return _plain(403)
        cookie = door.enter((await read_form(request)).get("token").rpartition("#")[2].strip())
        if cookie is None:
            return _entering(web, "This address was used already, or is too old.")
        return RedirectResponse(f"{door.root}servers", 303, {"set-cookie": cookie})

    async def events(request: Request) -> Response:
        query, session = dict(request.query_params), session_of(request)
        view = web.views.get(query.pop("view", ""))
        if view is None:
            raise HTTPException(404)

        async def parts() -> dict[str, Part]:
            waiting, notices = facts.waiting, facts.notices
            try:
                shown = await view(query, session)
            except (Problem, ConfigError) as exc:
                shown, notices = {}, (*notices, f"Error: {exc}")
            write = partial(web.write, "waiting_count.html", session, waiting=waiting)
            notice = Part(notices, partial(web.write, "notice.html", session, notices=notices))
            return {"waiting-count": Part(waiting, write), "notice": notice, **shown}

        await parts()  # a bug is a status now, after which a browser does not come again
        return streams.response(parts, session)

    async def failed(_request: Request, exc: Exception) -> Response:
        assert isinstance(exc, HTTPException)
        return _plain(exc.status_code)

    async def static(name: str, _request: Request) -> Response:
        return Response(files.static[name], media_type=_STATIC[name])

    routes = [
        web.get("", enter_page),
        *(web.get(name, partial(static, name)) for name in _STATIC),
        web.get("events", events),
        *servers.routes(web),
        *details.routes(web),
        *waiting.routes(web),
        *trying.routes(web),
        *usage.routes(web),
        *clients.routes(web),
        *adding.routes(web),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: failed})
    app.add_route(f"{door.root}enter", enter, methods=["POST"])
    return Guard(app, door, facts)


def _entering(web: Web, problem: str) -> Response:
    page = web.templates.get_template("enter.html").render(root=web.door.root, problem=problem)
    return Response(page, 403 if problem else 200, media_type="text/html")
