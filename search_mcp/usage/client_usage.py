"""The record of one client's tool calls: which tool, how long, how large, and how each ended.

A call ends when the client gets its result, its error or, of a task, its outcome, and when the client cancels it. Of a
call whose server asks for input, only the client's repeated call is recorded.
"""

import logging
from collections.abc import Callable
from functools import partial

from search_mcp.dialects.task_ids import ending, task_in
from search_mcp.model.calls import Call, InputRequired, Outcome, Result
from search_mcp.model.names import Action
from search_mcp.usage.ended_calls import CANCELLED, TOOL_ERROR, UNREAD, EndedCall, Ending
from search_mcp.usage.queue import UsageQueue
from search_mcp.usage.result_sizes import characters
from search_mcp.wire import payload
from search_mcp.wire.structs import Fields, replace

log = logging.getLogger(__name__)

MOST_TASKS = 1000
"""Tasks of one client whose outcome is waited for; the oldest is recorded as unread."""


class ClientUsage:
    """The calls of one client."""

    def __init__(self, usage_queue: UsageQueue, submit: Callable[[Call], None]) -> None:
        self.queue, self._submit = usage_queue, submit
        self._tasks: dict[str, EndedCall] = {}  # the calls that made them, by the client's id

    def submit(self, call: Call) -> None:
        """Carry out a call, and record it if it is a tool call; the outcome of a task ends the call that made it."""
        if call.action is Action.CALL_TOOL:
            call.reply.ends.append(partial(self._on_end, call, self.queue.clock()))
        elif call.target in self._tasks:
            call.reply.ends.append(partial(self._read_ending, call.action, call.target))
        self._submit(call)

    def close(self) -> None:
        """Record the tasks whose outcome was not read."""
        while self._tasks:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        self._end_task(next(iter(self._tasks)), UNREAD)

    def _on_end(self, call: Call, started: float, outcome: Outcome | None) -> None:
        """Record the end of a call, unless it goes on; `None`: it was cancelled."""
        if isinstance(outcome, InputRequired):
            return
        how: Outcome | Ending = CANCELLED if outcome is None else outcome
        arguments = call.params.get("arguments")
        ended = EndedCall(call.caller, call.reply.tool, arguments, started, self.queue.clock(), how)
        if isinstance(outcome, Result) and ("task" in call.params or outcome.type != "complete"):
            try:
                task = task_in(outcome)
            except Exception:  # a bug must not keep others from recording the end
                log.exception("! bug while a task was recorded")
                return
            if task is not None:
                self._keep(task, ended)
                return
        self.queue.add(ended)

    # Tasks

    def _keep(self, task: str, call: EndedCall) -> None:
        """Wait for the outcome of a task."""
        if len(self._tasks) >= MOST_TASKS:
            self._drop_oldest()
        given = characters(call.arguments) if not isinstance(call.arguments, int) else call.arguments
        self._tasks[task] = replace(call, arguments=given)

    def _end_task(self, task: str, outcome: Outcome | Ending) -> None:
        self.queue.add(replace(self._tasks.pop(task), ended=self.queue.clock(), outcome=outcome))

    def on_task_news(self, params: Fields) -> None:
        """Read the outcome of a task from a notification."""
        task = payload.string(params.get("taskId"))
        if task is not None and task in self._tasks:
            self._read_ending(Action.FOLLOW_TASK, task, Result(params))

    def _read_ending(self, action: Action, task: str, outcome: Outcome | None) -> None:
        if task not in self._tasks or outcome is None or isinstance(outcome, InputRequired):
            return
        try:
            found = _ending_of_task(action, outcome)
            if found is not None:
                self._end_task(task, found)
        except Exception:  # a bug must not cost the client its answer
            log.exception("! bug while a task was recorded")


def _ending_of_task(action: Action, outcome: Outcome) -> Outcome | Ending | None:
    """Return how a task ended, by the answer to a request about it, or a notification; `None` if it goes on."""
    if action is Action.GET_TASK_RESULT:
        return outcome
    if not isinstance(outcome, Result):
        return None
    if action is Action.CANCEL_TASK:
        return CANCELLED
    status, result = ending(outcome.fields())
    if result is not None:
        return Result(result)
    if status in ("failed", "cancelled"):
        return TOOL_ERROR if status == "failed" else CANCELLED
    return None
