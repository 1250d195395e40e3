"""Requests and responses of the page: sessions, forms, templates, and the headers of every response."""

import hashlib
import hmac
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from search_mcp.cli.problem import Problem
from search_mcp.model.errors import ConfigError
from search_mcp.model.visible import wholly_visible
from search_mcp.page.door import Door, Said, Session
from search_mcp.page.facts import Facts
from search_mcp.page.live import Part

HERE = Path(__file__).parent
FORM_BYTES = 1 << 20
"""The longest form: a pasted configuration may be long."""
MOST_FIELDS = 1000

PartsOf = Callable[[Mapping[str, str], Session], Awaitable[dict[str, Part]]]
"""Returns the parts of a view for a query and a session."""
Handler = Callable[[Request], Awaitable[Response]]


async def no_parts(_query: Mapping[str, str], _session: Session) -> dict[str, Part]:
    """Return the parts of a view in which nothing changes by itself; the engine's end is noticed there, too."""
    return {}


def _shown(value: object) -> object:
    """Make invisible characters of a text visible, before it is escaped for HTML."""
    return wholly_visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@dataclass(frozen=True)
class Files:
    """The files of the page, those of the running code also if they are replaced."""

    templates: Environment
    static: Mapping[str, bytes]


def read_files() -> Files:
    """Read the static files, and compile the templates. Blocks."""
    templates = environment()
    for name in templates.list_templates():
        templates.get_template(name)
    return Files(templates, {path.name: path.read_bytes() for path in sorted((HERE / "static").iterdir())})


def environment() -> Environment:
    """Return the templates; every text is escaped."""
    loader = FileSystemLoader(HERE / "templates")
    found = Environment(
        loader=loader,
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"moment": moment, "query": urlencode, "exact": exact}
    return found


def exact(value: object) -> Markup:
    """Escape what a browser sends back or follows: it comes back as it is, not with its characters made visible."""
    return Markup(str(escape(value)).replace("\r", "&#13;"))  # a browser reads a bare one as a newline


def moment(time_in_iso: str) -> Markup:
    """Write a time of JSON as local time; with its day if it is not today's."""
    then = datetime.fromisoformat(time_in_iso).astimezone()
    is_today = then.date() == datetime.now(UTC).astimezone().date()
    written = then.strftime("%H:%M:%S" if is_today else "%Y-%m-%d %H:%M")
    return Markup('<time datetime="{}">{}</time>').format(time_in_iso, written)


@dataclass(eq=False)
class Web:
    """What all views need to answer a request."""

    facts: Facts
    door: Door
    templates: Environment
    views: dict[str, PartsOf] = field(default_factory=dict)
    """The parts of each view that change by themselves, by its path."""

    def write(self, template: str, session: Session, **given: object) -> str:
        """Render a template or a fragment."""
        return self.templates.get_template(template).render(
            root=self.door.root, form_token=session.form_token, facts=self.facts, **given
        )

    def show(self, request: Request, template: str, view: str, *, status: int = 200, **given: object) -> Response:
        """Answer with a whole page; `view` is the path of one of the views."""
        session = session_of(request)
        said, session.said = session.said, []
        query = urlencode({**request.query_params, "view": view})
        given["events"] = f"{self.door.root}events?{query}" if view in self.views else ""
        given |= {"waiting": self.facts.waiting, "notices": self.facts.notices, "at": time.strftime("%H:%M:%S")}
        return HTMLResponse(self.write(template, session, view=view, said=said, **given), status)

    def done(self, request: Request, said: str, back: str) -> Response:
        """Answer a form: go to a view, which shows what came of it, if that is said."""
        return self._answered(request, [Said(said)] if said else [], back)

    def failed(self, request: Request, problem: str, back: str) -> Response:
        """Answer in the same way that nothing came of it."""
        return self._answered(request, [Said(problem, is_wrong=True)], back)

    def _answered(self, request: Request, said: list[Said], back: str) -> Response:
        self.facts.forget()
        session_of(request).said += said
        return RedirectResponse(self.door.root + back, 303)

    def get(self, path: str, act: Handler) -> Route:
        return Route(self.door.root + path, act, methods=["GET"])

    def view(self, path: str, act: Handler, parts: PartsOf | None = None, *, back: str = "servers") -> Route:
        """Return the route of a view, with the parts that change by themselves; a problem is told in another one."""
        if parts is not None:
            self.views[path] = parts

        async def checked(request: Request) -> Response:
            try:
                return await act(request)
            except (Problem, ConfigError) as exc:
                return self.failed(request, str(exc), back)

        return self.get(path, checked)

    def post(self, path: str, act: Callable[[Request, "Form"], Awaitable[Response]]) -> Route:
        """Return the route of a form; a problem is told on the view where the form is."""

        async def checked(request: Request) -> Response:
            form = await read_form(request)
            token = form.get("form_token")
            if not hmac.compare_digest(token.encode(), session_of(request).form_token.encode()):
                raise HTTPException(403, "This form is not of this page. Load the page again.")
            try:
                return await act(request, form)
            except (Problem, ConfigError) as exc:
                return self.failed(request, str(exc), form.back)

        return Route(self.door.root + path, checked, methods=["POST"])


@dataclass(frozen=True)
class Form:
    """The fields of a form, in order."""

    fields: tuple[tuple[str, str], ...]

    def get(self, name: str) -> str:
        """Return the last value of a field, empty if there is none."""
        return next((value for key, value in reversed(self.fields) if key == name), "")

    @property
    def back(self) -> str:
        """The view with the form; a path after the root of the page, so never another site."""
        return self.get("back") or "servers"

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.fields if key == name]


async def read_form(request: Request) -> Form:
    """Read a form.

    Raises:
        HTTPException: it is too large, or no form.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise HTTPException(415)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > FORM_BYTES:
            raise HTTPException(413)
    try:
        fields = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError as exc:
        raise HTTPException(400) from exc
    return Form(tuple((name, value.replace("\r\n", "\n")) for name, value in fields))


def digest(shown: object) -> str:
    """Return a digest of what is shown, for the form that accepts exactly that."""
    return hashlib.sha256(repr(shown).encode()).hexdigest()


def session_of(request: Request) -> Session:
    session = request.state.session
    assert isinstance(session, Session)
    return session
