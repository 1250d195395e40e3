"""Which server a task belongs to, and the lists of all servers' tasks as one.

Decides from what the servers answered: a task's id leads to whoever issued it. What a task is, and how
it is asked about, is the dialects' business.
"""

import logging
from collections.abc import Callable, Sequence

from search_mcp import jsonrpc
from search_mcp.jsonrpc import Fields, Raw
from search_mcp.model import Backend, Call, Cancel, Newest, Outcome, Result

log = logging.getLogger(__name__)

REMEMBERED_TASKS = 10_000
"""How many task ids are remembered with their servers; the oldest go first."""
MAX_PAGES = 1000
"""A server whose list of tasks never ends is cut off here."""


class TaskMap:
    """The owners of task ids."""

    def __init__(self) -> None:
        self._owners: Newest[str, str] = Newest(REMEMBERED_TASKS)

    def owner(self, task: str) -> str | None:
        """Find the server that issued a task id."""
        return self._owners.get(task)

    def note_result(self, server: str, call: Call, result: Result) -> None:
        """Remember whose task was made, if one was: by `task` in the call, or as another type of result."""
        if "task" not in call.params and result.type == "complete":
            return
        body = result.fields()
        self.note(server, body if "taskId" in body else jsonrpc.object_or_empty(body.get("task")))

    def note(self, server: str, task: Fields) -> None:
        """Remember whose a task is."""
        identifier = jsonrpc.string(task.get("taskId"))
        if identifier is not None:
            self._owners[identifier] = server


class TaskLists:
    """One request for the tasks of all servers: every page of each, given as a single page."""

    def __init__(self, call: Call, backends: Sequence[Backend], note: Callable[[str, Fields], None]) -> None:
        self._call, self._backends, self._note = call, backends, note
        self._tasks: dict[str, list[Raw]] = {backend.name: [] for backend in backends}  # in the servers' order
        self._pages = dict.fromkeys(self._tasks, 0)
        self._cancels: dict[str, Cancel] = {}
        self._open = set(self._tasks)

    def gather(self) -> Cancel:
        """Ask every server at once; what one of them does not tell is left out."""
        for backend in self._backends:
            self._ask(backend, {})
        if not self._backends:
            self._reply()
        return self._cancel

    def _ask(self, backend: Backend, params: Fields) -> None:
        self._pages[backend.name] += 1
        page = jsonrpc.altered(
            self._call, params=params, report=None, reply=lambda outcome: self._take(backend, outcome)
        )
        self._cancels[backend.name] = backend.submit(page, "")

    def _take(self, backend: Backend, outcome: Outcome) -> None:
        page = outcome.fields() if isinstance(outcome, Result) else {}
        try:
            tasks = jsonrpc.items(page["tasks"])
        except (KeyError, ValueError):
            log.warning("! %s: its list of tasks cannot be had: %s", backend.name, outcome)
            tasks, page = [], {}
        for task in tasks:
            self._note(backend.name, jsonrpc.object_or_empty(task))
        self._tasks[backend.name] += tasks
        cursor = page.get("nextCursor")
        if cursor is not None and jsonrpc.value(cursor) is not None and self._pages[backend.name] < MAX_PAGES:
            self._ask(backend, {"cursor": cursor})
            return
        self._open.discard(backend.name)
        if not self._open:
            self._reply()

    def _reply(self) -> None:
        tasks = [task for each in self._tasks.values() for task in each]
        self._call.reply(Result({"tasks": jsonrpc.encode(tasks)}))

    def _cancel(self, reason: Raw | None) -> None:
        for name in self._open:
            self._cancels[name](reason)
