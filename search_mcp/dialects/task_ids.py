"""Where the ids of tasks stand in messages, of the experimental tasks of 2025-11-25 and of the extension.

Decides how a message is written with other ids. Whose a task is, and what the client calls it, is decided
elsewhere. Sources: docs/specification/2025-11-25/basic/utilities/tasks.mdx, seps/2663-tasks-extension.md.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from search_mcp.dialects import names
from search_mcp.model.calls import Question, Result
from search_mcp.wire import payload, structs
from search_mcp.wire.errors import WireError
from search_mcp.wire.structs import Fields, Struct, field

Rename: TypeAlias = Callable[[str], str]

_TASK, _MADE, _RELATED = (), ("task",), (names.META, names.RELATED_TASK)
"""Where in a message the object is that has the id: a task, an answer that makes one, and anything else.

"All requests, responses, and notifications associated with a task MUST include the
`io.modelcontextprotocol/related-task` key in `_meta`".
"""


def task_made(result: Fields) -> str | None:
    """The id of the experimental task that a result says was made."""
    return payload.string(payload.object_or_empty(result.get("task")).get("taskId"))


def renamed(message: Fields, rename: Rename) -> Fields:
    """Write a message with other ids; where none is another it is the message itself."""
    for place in (_TASK, _MADE, _RELATED):
        message = _renamed_at(place, message, rename)
    return message


def _renamed_at(place: Sequence[str], fields: Fields, rename: Rename) -> Fields:
    if place:
        key, *rest = place
        if key not in fields:
            return fields
        inside = payload.object_or_empty(fields[key])
        written = _renamed_at(rest, inside, rename)
        return fields if written is inside else {**fields, key: payload.encode(written)}
    task = payload.string(fields.get("taskId"))
    known = rename(task) if task is not None else None
    return fields if known == task else {**fields, "taskId": payload.encode(known)}


def translate_question(question: Question, rename: Rename) -> Question:
    """Have a server's question name its task as the client does, and what comes back as the server does."""
    translation = _Translation(question, rename)
    meta = _renamed_at((names.RELATED_TASK,), question.meta, translation.forth)
    if meta is question.meta:
        return question
    report = None if question.report is None else translation.report
    return structs.replace(question, meta=meta, answer=translation.answer, report=report)


class _Translation(Struct, eq=False):
    """One question with the client's ids of tasks, and its answer with the server's."""

    question: Question
    rename: Rename
    servers: dict[str, str] = field(default_factory=dict)
    """The server's ids, by the client's."""

    def forth(self, task: str) -> str:
        """Give the client's id of a task of the server."""
        known = self.rename(task)
        self.servers[known] = task
        return known

    def back(self, task: str) -> str:
        """Give the server's id of a task that the client knows."""
        return self.servers.get(task, task)

    def answer(self, outcome: Result | WireError) -> None:
        if isinstance(outcome, Result):
            outcome = Result(renamed(outcome.fields(), self.back))
        self.question.answer(outcome)

    def report(self, progress: Fields) -> None:
        if self.question.report is not None:
            self.question.report(renamed(progress, self.back))
