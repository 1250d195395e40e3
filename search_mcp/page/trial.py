"""One call of a tool from the page, and its answer as it is shown.

Decides when a call is given up: it ends with the request of the browser. Knows nothing of forms.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field

import anyio
from markupsafe import Markup, escape
from starlette.requests import Request

from search_mcp.cli.counting import counted
from search_mcp.cli.problem import Problem
from search_mcp.cli.tools.results import NO_CONTENT, Content, ToolResult, read_result, size_of
from search_mcp.gateway.person import Person
from search_mcp.model.calls import Call, Outcome, Question
from search_mcp.model.visible import wholly_visible
from search_mcp.page.live import until_gone
from search_mcp.wire import payload
from search_mcp.wire.errors import method_not_found
from search_mcp.wire.structs import Raw

CALL_SECONDS = 300.0
"""Longest time that a call is waited for."""
MOST_CHARACTERS = 200_000
"""Characters of a result that are shown."""
TOOL_REPORTED_ERROR = "the tool reported an error"
_NOUNS = {"image": "An image", "audio": "A sound"}
"""What kinds of binary content are called; a resource is called by its URI."""


@dataclass(frozen=True)
class Visitor(Person):
    """The person at the page, as the caller of one call; questions of servers are refused."""

    asked: list[str] = field(default_factory=list)
    """The kinds of the questions."""

    def ask(self, question: Question, call: Call | None) -> None:
        self.asked.append(question.ask.value)
        question.answer(method_not_found(f"{question.ask.value} (the page cannot answer questions)"))

    def notes(self) -> list[str]:
        """Say what was asked."""
        asked = ", ".join(dict.fromkeys(self.asked))
        return [f"The server asked the user something ({asked}), which was refused here."] if asked else []


@dataclass(frozen=True)
class Answer:
    """What came of a call."""

    heading: str
    """Its outcome in one line."""
    texts: Sequence[str] = ()
    notes: Sequence[str] = ()
    is_wrong: bool = False


async def answered(
    request: Request, work: Callable[[], Awaitable[Outcome]], most_seconds: float = CALL_SECONDS
) -> Outcome:
    """Wait for a call; cancel it when its time is over, or when the browser closes the request.

    Raises:
        Problem: it was cancelled.
    """
    with anyio.move_on_after(most_seconds) as limit:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(until_gone, request.receive, tasks.cancel_scope)
            outcome = await work()
            tasks.cancel_scope.cancel()
            return outcome
    why = f"it gave no answer in {most_seconds:g} s" if limit.cancelled_caught else "the browser has closed the request"
    raise Problem(f"the call was cancelled: {why}", "the tool may have run nevertheless")


def refused(problem: Problem) -> Answer:
    """Return what is shown instead of a result."""
    return Answer("Error", (str(problem),), is_wrong=True)


def shown(body: Raw, took: str) -> Answer:
    """Return a result as it is shown, with the time that it took. May take a while."""
    result = read_result(body)
    texts = _texts(result)
    size = sum(map(len, texts))
    notes = [f"The first {MOST_CHARACTERS:,} of {size:,} characters are shown."] if size > MOST_CHARACTERS else []
    outcome = TOOL_REPORTED_ERROR.capitalize() if result.is_error else "Result"
    heading = f"{outcome} after {took}, {counted(size, 'character')}"
    return Answer(heading, list(_written(texts)), notes, is_wrong=result.is_error)


def _texts(result: ToolResult) -> list[str]:
    texts = [_text(part) for part in result.parts]
    if result.shown_structured is not None:
        texts.append(payload.indented(result.shown_structured).decode("utf-8", "replace"))
    return texts or ["It gave no message." if result.is_error else NO_CONTENT]


def _text(part: Content) -> str:
    if part.data is None:
        return part.text
    about = ", ".join(filter(None, (part.mime_type, size_of(part.data))))
    return f"{_NOUNS.get(part.kind, f'A {part.kind}')} ({about}), which is not shown here."


def _written(texts: Sequence[str]) -> Iterator[Markup]:
    """Write the first texts as HTML, which takes longer than an event loop should wait."""
    left = MOST_CHARACTERS
    for text in texts:
        if left > 0:
            yield escape(wholly_visible(text[:left]))
        left -= len(text)
