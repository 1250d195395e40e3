"""The record of one client's tool calls: which tool, how long, how large, and how each ended.

Arguments and results are measured, and never written. A call ends when the client gets its result, its error or, of a
task, its outcome, and when the client cancels it. Of a call whose server asks for input, only the client's repeated
call is recorded.
"""

import logging
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Final, Literal, TypeAlias

from search_mcp.dialects.task_ids import ending, task_in
from search_mcp.model.calls import Call, Caller, InputRequired, Outcome, Result
from search_mcp.model.errors import Lost
from search_mcp.model.names import Action
from search_mcp.model.visible import one_line
from search_mcp.usage.queue import UsageQueue
from search_mcp.usage.result_sizes import characters, measured
from search_mcp.wire import payload, structs
from search_mcp.wire.errors import WireError
from search_mcp.wire.structs import Fields, Struct

log = logging.getLogger(__name__)

LONGEST_CLIENT = 64
"""Characters of a client's name that are recorded."""
LONGEST_NAME = 200
"""Characters of a server's or a tool's name that are recorded."""
LONGEST_INFO = 4096
"""Bytes of what a client says about itself by which it is recognised in its next request."""
MOST_TASKS = 1000
"""Tasks of one client whose outcome is waited for; the oldest is recorded as unread."""
UNKNOWN_CLIENT = "unknown"


Ending: TypeAlias = Literal["ok", "tool error", "error", "cancelled", "lost", "unread task"]
"""The end of a call. Plain texts: the database takes much longer to store enumerations."""
OK: Final = "ok"
TOOL_ERROR: Final = "tool error"
"""The tool answered that it failed."""
REFUSED: Final = "error"
"""The answer was an error of the protocol: of the server, or of search-mcp."""
CANCELLED: Final = "cancelled"
LOST: Final = "lost"
"""The server ended or gave no answer."""
UNREAD: Final = "unread task"
"""It became a task, of which the client did not read the outcome."""


class ClientUsage:
    """The calls of one client."""

    def __init__(self, usage_queue: UsageQueue, submit: Callable[[Call], None]) -> None:
        self._queue, self._submit = usage_queue, submit
        self._tasks: dict[str, Recording] = {}  # by the client's id
        self._info, self._name = b"", UNKNOWN_CLIENT

    def submit(self, call: Call) -> None:
        """Carry out a call, and record it if it is a tool call; the outcome of a task ends the call that made it."""
        if call.action is not Action.CALL_TOOL:
            if call.target in self._tasks:
                call.reply.ends.append(partial(self._read_ending, call.action, call.target))
            self._submit(call)
            return
        recording = Recording(self, self._queue.clock(), call)
        call.reply.ends.append(recording.end)
        self._submit(structs.replace(call, found=recording.found))
        recording.describe()  # only now, when the call is on its way

    def close(self) -> None:
        """Record the tasks whose outcome was not read."""
        while self._tasks:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        self.add(self._tasks.pop(next(iter(self._tasks))), UNREAD)

    def client(self, caller: Caller) -> str:
        """Return the name of a client, safe to print."""
        if caller.viewer.client_name:
            return safe(caller.viewer.client_name, LONGEST_CLIENT)
        info = caller.info
        if info is None:
            return UNKNOWN_CLIENT
        written = bytes(memoryview(info)[:LONGEST_INFO])
        if written != self._info:
            name = payload.string(payload.object_or_empty(info).get("name")) or UNKNOWN_CLIENT
            self._info, self._name = written, safe(name[: 2 * LONGEST_CLIENT], LONGEST_CLIENT)
        return self._name

    def finish(self, recording: "Recording", outcome: Outcome | None) -> None:
        """Record the end of a call that was answered, unless it goes on, or was cancelled."""
        if isinstance(outcome, InputRequired):
            return
        if outcome is None:
            self.add(recording, CANCELLED)
            return
        if isinstance(outcome, Result):
            is_task = recording.asks_for_task or outcome.type != "complete"
            if is_task and (task := task_in(outcome)) is not None:
                self._keep(task, recording)
                return
        elif not recording.tool:
            recording.server = getattr(outcome, "server", "")  # it is not running, and has listed nothing
        self.add(recording, *_ending(outcome))

    def add(self, recording: "Recording", how: Ending, size: int = 0, text: int | None = None) -> None:
        """Record the end of a call."""
        usage_queue = self._queue
        usage_queue.add(
            (
                usage_queue.wall_clock(),
                recording.client,
                safe(recording.server, LONGEST_NAME),
                safe(recording.tool, LONGEST_NAME),
                usage_queue.clock() - recording.started,
                how,
                recording.given,
                size,
                text,
            )
        )

    # Tasks

    def _keep(self, task: str, recording: "Recording") -> None:
        """Wait for the outcome of a task."""
        if len(self._tasks) >= MOST_TASKS:
            self._drop_oldest()
        self._tasks[task] = recording

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
                self.add(self._tasks.pop(task), *found)
        except Exception:  # a bug must not cost the client its answer
            log.exception("! bug while a task was recorded")


class Recording(Struct, eq=False):
    """One tool call, from its beginning to its end."""

    usage: ClientUsage
    started: float
    call: Call | None
    """The call, until it is described: it keeps a whole message in memory."""
    client: str = UNKNOWN_CLIENT
    given: int = 0
    """Characters of the arguments."""
    asks_for_task: bool = False
    server: str = ""
    tool: str = ""
    """The server, and its own name of the tool; both empty if the client named no tool that exists."""

    def describe(self) -> None:
        """Record who calls, and the size of the arguments, if that was not done."""
        call, self.call = self.call, None
        if call is not None:
            self.client = self.usage.client(call.caller)
            self.given = characters(call.params.get("arguments"))
            self.asks_for_task = "task" in call.params

    def found(self, server: str, tool: str) -> None:
        """Record the tool that is called."""
        self.server, self.tool = server, tool

    def end(self, outcome: Outcome | None) -> None:
        """Record the end of the call; `None`: it was cancelled."""
        if self.call is not None:
            self.describe()
        try:
            self.usage.finish(self, outcome)
        except Exception:  # a bug must not keep others from recording the end
            log.exception("! bug while a call was recorded")


@lru_cache(1024)
def safe(name: str, longest: int) -> str:
    """Make a name safe to print, on one line and not too long."""
    if name.isascii() and name.isprintable() and len(name) <= longest:
        return name
    shown = one_line(name[: longest * 2])
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


_End: TypeAlias = tuple[Ending, int, int | None]
"""How a call ended, and the size of its answer and of the text in it."""


def _ending(outcome: Result | WireError) -> _End:
    if isinstance(outcome, Result):
        size, text, has_failed = measured(outcome)
        return TOOL_ERROR if has_failed else OK, size, text
    return LOST if isinstance(outcome, Lost) else REFUSED, len(str(outcome)), None


def _ending_of_task(action: Action, outcome: Result | WireError) -> _End | None:
    """Return how a task ended, by the answer to a request about it, or a notification; `None` if it goes on."""
    if action is Action.GET_TASK_RESULT:
        return _ending(outcome)
    if not isinstance(outcome, Result):
        return None
    if action is Action.CANCEL_TASK:
        return CANCELLED, 0, None
    status, result = ending(outcome.fields())
    if result is not None:
        return _ending(Result(result))
    if status in ("failed", "cancelled"):
        return TOOL_ERROR if status == "failed" else CANCELLED, 0, None
    return None
