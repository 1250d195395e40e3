"""Replacement of task ids in messages, for the experimental tasks of 2025-11-25 and for the extension.

The ids themselves are mapped elsewhere.
Sources: docs/specification/2025-11-25/basic/utilities/tasks.mdx, seps/2663-tasks-extension.md.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from search_mcp.dialects import names
from search_mcp.model.calls import Question, Result
from search_mcp.wire import payload, structs
from search_mcp.wire.errors import WireError
from search_mcp.wire.structs import Fields, Raw, Struct, field

REMEMBERED_TASKS = 1000
"""Most tasks of one side that are tracked after the calls or questions that made them; the oldest are dropped."""

Rename: TypeAlias = Callable[[str], str]

_TASK, _MADE, _RELATED = (), ("task",), (names.META, names.RELATED_TASK)
"""The path in a message to the object with the id: in a task, in a result that makes one, and in other messages.

"All requests, responses, and notifications associated with a task MUST include the
`io.modelcontextprotocol/related-task` key in `_meta`".
"""


def task_made(result: Fields) -> str | None:
    """Return the id of the experimental task that a result describes, if any."""
    return payload.string(payload.object_or_empty(result.get("task")).get("taskId"))


def task_in(result: Result) -> str | None:
    """Return the id of the task that the result of a call describes, if any: an experimental or an extension task."""
    body = result.fields()
    return task_made(body) or payload.string(body.get("taskId"))


def ending(task: Fields) -> tuple[str | None, Raw | None]:
    """Return the status of a task, and the result that it has in the extension."""
    return payload.string(task.get("status")), task.get("result")


def renamed(message: Fields, rename: Rename) -> Fields:
    """Replace the task ids in a message; return the message itself if none changes."""
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
    """Replace the server's task id in a question by the client's, and the client's in its answer and progress."""
    translation = _Translation(question, rename)
    meta = question.meta and _renamed_at((names.RELATED_TASK,), question.meta, translation.forth)
    if meta is question.meta:
        return question
    report = None if question.report is None else translation.report
    question.answer.steps.append(translation.answer)
    return structs.replace(question, meta=meta, report=report)


class _Translation(Struct, eq=False):
    """One question with task ids of the client, and its answer with those of the server."""

    question: Question
    rename: Rename
    servers: dict[str, str] = field(default_factory=dict)
    """The server's ids, by the client's."""

    def forth(self, task: str) -> str:
        """Return the client's id of a task, and remember the server's."""
        known = self.rename(task)
        self.servers[known] = task
        return known

    def back(self, task: str) -> str:
        """Return the server's id of a task."""
        return self.servers.get(task, task)

    def answer(self, outcome: Result | WireError | None) -> Result | WireError | None:
        return Result(renamed(outcome.fields(), self.back)) if isinstance(outcome, Result) else outcome

    def report(self, progress: Fields) -> None:
        if self.question.report is not None:
            self.question.report(renamed(progress, self.back))
