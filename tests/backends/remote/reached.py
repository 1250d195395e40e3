"""A supervisor with a remote server behind it, and the client in front of it, without any other part."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal

import anyio

from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.lifecycle import Backoff
from search_mcp.backends.supervisor import Supervisor
from search_mcp.config.schema import Remote, ServerConfig
from search_mcp.dialects import names
from search_mcp.model.calls import Call, Outcome, Question, Reply, Result, Viewer
from search_mcp.model.names import Action, Era, Kind, State
from search_mcp.model.servers import ListChanged, News, Opening, StateChanged
from search_mcp.wire import payload
from search_mcp.wire.errors import WireError
from search_mcp.wire.payload import encode
from search_mcp.wire.structs import Fields, Raw

LIMIT = 1 << 20


def at(url: str, transport: Literal["auto", "http", "sse"] = "auto", **rest: Any) -> Remote:
    """Return the address of a server that needs no login."""
    return Remote(url=url, transport=transport, oauth=None, public_url="http://server", **rest)


class Person:
    """A client; `answers` are its answers to questions."""

    info: Raw | None = encode(names.CLIENT_INFO)
    era = Era.MODERN
    log_level: str | None = "debug"
    viewer = Viewer(None, object_output_only=False)

    def __init__(self) -> None:
        self.session = self
        self.capabilities: Fields = {key: encode({}) for key in ("roots", "sampling", "elicitation")}
        self.questions: list[Question] = []
        self.answers: Callable[[Question], Any] = lambda _question: {}

    def ask(self, question: Question, call: Call | None) -> None:
        self.questions.append(question)
        question.answer(Result(encode(self.answers(question))))


class Reached:
    """A backend, what it published, and calls of it."""

    def __init__(self, where: Remote, era: Era, limit: int) -> None:
        self.person = Person()
        self.news: list[News] = []
        self._changed = anyio.Event()
        revision = names.MODERN[0] if era is Era.MODERN else names.LEGACY[0]
        self.opening = Opening(era, revision, self.person.capabilities, self.person.info, self.person)
        dependencies = Dependencies(backoff=Backoff(first_seconds=0.05), max_message_bytes=limit)
        config = ServerConfig(name="there", command="", remote=where)
        self.supervisor = Supervisor(config, self._publish, lambda _seconds, _act: lambda: None, dependencies)

    def _publish(self, news: News) -> None:
        self.news.append(news)
        self._changed.set()

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until news make something true."""
        while not is_so():
            self._changed = anyio.Event()
            await self._changed.wait()

    async def ready(self) -> None:
        """Wait until it is open and its tools are read."""
        await self.until(lambda: any(isinstance(each, ListChanged) and each.kind is Kind.TOOLS for each in self.news))

    def era(self) -> Era | None:
        """Return the era that it speaks."""
        capabilities = self.supervisor.status.capabilities
        return capabilities.era if capabilities is not None else None

    async def state(self, state: State) -> None:
        await self.until(lambda: any(isinstance(n, StateChanged) and n.status.state is state for n in self.news))

    def tools(self) -> list[str]:
        """Return the names of its tools."""
        pages = [each.page for each in self.news if isinstance(each, ListChanged) and each.kind is Kind.TOOLS]
        return [entry.key for entry in pages[-1].entries] if pages and pages[-1] is not None else []

    def begin(
        self,
        tool: str,
        arguments: Any = None,
        report: Callable[[Fields], None] | None = None,
        asks: Callable[[bool], None] | None = None,
    ) -> "InProgress":
        """Begin a call of a tool."""
        going = InProgress()
        params = {"name": encode(tool), "arguments": encode(arguments or {})}
        call = Call(Action.CALL_TOOL, tool, params, None, self.person, going.reply, report, asks=asks)
        self.supervisor.calls.submit(call, tool)
        return going

    async def call(self, tool: str, arguments: Any = None) -> Outcome:
        return await self.begin(tool, arguments).outcome()

    async def text(self, tool: str, arguments: Any = None) -> str:
        """Call a tool; return the text of its result."""
        outcome = await self.call(tool, arguments)
        assert isinstance(outcome, Result), outcome
        content: Any = payload.value(outcome.raw())
        return str(content["content"][0]["text"])

    async def error(self, tool: str, arguments: Any = None) -> tuple[str, dict[str, Any]]:
        """Call a tool in vain; return the message and the data of the error."""
        outcome = await self.call(tool, arguments)
        assert isinstance(outcome, WireError), outcome
        return str(outcome), dict(outcome.data() or {})


class InProgress:
    """A call in progress."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self._done = anyio.Event()
        self.reply = Reply(self._take)
        self.cancel = self.reply.cancel

    def _take(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self._done.set()

    async def outcome(self) -> Outcome:
        await self._done.wait()
        return self.outcomes[0]


@asynccontextmanager
async def reached(where: Remote, era: Era = Era.LEGACY, limit: int = LIMIT) -> AsyncIterator[Reached]:
    """Run the backend of an address."""
    backend = Reached(where, era, limit)
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(backend.supervisor.run)
            backend.supervisor.open(backend.opening)
            yield backend
            tasks.cancel_scope.cancel()
