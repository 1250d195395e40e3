"""The ids of tasks and elicitations as one client knows them, and all servers' lists of tasks as one.

An id leads to the server that issued it. "Task IDs MUST be unique among all tasks controlled by the receiver": two
servers may issue the same one. Where ids stand in messages is decided in `dialects.task_ids`.
"""

import logging
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from search_mcp.dialects.task_ids import renamed
from search_mcp.model.calls import BoundedDict, Call, Outcome, Reply, Result
from search_mcp.pool.lease import Lease
from search_mcp.wire import payload, structs
from search_mcp.wire.inflight import Reason
from search_mcp.wire.structs import Fields, Raw

log = logging.getLogger(__name__)

REMEMBERED_TASKS = 10_000
"""Ids of one server that are remembered; the oldest go first."""
LONGEST_ID = 4096
"""Characters; a longer id is not remembered."""
MAX_PAGES = 1000
"""A server whose list of tasks never ends is cut off here."""


class _Ids:
    """The ids of one server: its own by the client's, and the client's by its own."""

    def __init__(self) -> None:
        # A task is put into both at once, so that it goes from both at once.
        self.of_server: BoundedDict[str, str] = BoundedDict(REMEMBERED_TASKS)
        self.of_client: BoundedDict[str, str] = BoundedDict(REMEMBERED_TASKS)


class IdMap:
    """The ids of tasks or elicitations, as their servers and as the client know them.

    The client knows a task by the id that its server gave, unless another server gave the same.
    """

    def __init__(self) -> None:
        self._ids: defaultdict[str, _Ids] = defaultdict(_Ids)  # by server

    def find(self, known: str) -> tuple[str, str] | None:
        """Find the server that one of the client's ids leads to, and the server's own id."""
        for server, ids in self._ids.items():
            if known in ids.of_server:
                return server, ids.of_server[known]
        return None

    def known(self, server: str, own: str) -> str | None:
        """Return the client's id for a server's own, if the server gave it to this client before."""
        return self._ids[server].of_client.get(own) if server in self._ids else None

    def id_for_client(self, server: str, own: str) -> str:
        """Return the client's id for a server's own; from now on it leads to that server."""
        if len(own) > LONGEST_ID:
            return own
        ids = self._ids[server]
        given = ids.of_client.get(own)
        if given is None:
            given = own if self.find(own) is None else secrets.token_urlsafe(16)
        ids.of_server[given], ids.of_client[own] = own, given
        return given


class TaskMap(IdMap):
    """The tasks of all servers, as their servers and as the client know them."""

    def translate(self, server: str, message: Fields) -> Fields:
        """Write a server's message with the ids that the client knows its tasks by."""
        return renamed(message, partial(self.id_for_client, server))

    def knows_named(self, server: str, message: Fields) -> bool:
        """Return whether a server's message is about a task that this client has."""
        task = payload.string(message.get("taskId"))
        return task is not None and self.known(server, task) is not None

    def translated_report(
        self, server: str, report: Callable[[Fields], None] | None
    ) -> Callable[[Fields], None] | None:
        """Wrap what takes progress, so that it gets the ids that the client knows the server's tasks by."""
        return None if report is None else lambda progress: report(self.translate(server, progress))


class TaskLists:
    """One request for the tasks of all servers: every page of each, given as a single page."""

    def __init__(
        self,
        call: Call,
        backends: Sequence[Lease],
        translate: Callable[[str, Fields], Fields],
        is_hidden: Callable[[str, Fields], bool] = lambda _server, _task: False,
    ) -> None:
        self._call, self._backends, self._translate, self._is_hidden = call, backends, translate, is_hidden
        self._tasks: dict[str, list[Raw]] = {backend.name: [] for backend in backends}  # in the servers' order
        self._pages = dict.fromkeys(self._tasks, 0)
        self._open: dict[str, Reply] = {}  # by server, the reply to the request for its next page

    def gather(self) -> None:
        """Ask every server at once; a list that cannot be read is left out."""
        self._call.reply.cancel_work = self._cancel
        requests = [(backend, self._page(backend, {})) for backend in self._backends]
        for backend, page in requests:  # one may answer at once
            backend.submit(page, "")
        if not requests:
            self._reply()

    def _page(self, backend: Lease, params: Fields) -> Call:
        """Make the request for a page of a server."""
        self._pages[backend.name] += 1
        reply = Reply(lambda outcome: self._take(backend, outcome))
        self._open[backend.name] = reply
        return structs.replace(self._call, params=params, report=None, reply=reply)

    def _take(self, backend: Lease, outcome: Outcome) -> None:
        page = outcome.fields() if isinstance(outcome, Result) else {}
        try:
            tasks = payload.items(page["tasks"])
        except (KeyError, ValueError):
            log.warning("! %s: its list of tasks could not be read: %s", backend.name, outcome)
            tasks, page = [], {}
        self._tasks[backend.name] += self._translated(backend.name, tasks)
        cursor = page.get("nextCursor")
        if cursor is not None and payload.value(cursor) is not None and self._pages[backend.name] < MAX_PAGES:
            backend.submit(self._page(backend, {"cursor": cursor}), "")
            return
        del self._open[backend.name]
        if not self._open:
            self._reply()

    def _translated(self, server: str, tasks: list[Raw]) -> Iterator[Raw]:
        for task in tasks:
            fields = payload.object_or_empty(task)
            if not self._is_hidden(server, fields):
                translated = self._translate(server, fields)
                yield task if translated is fields else payload.encode(translated)

    def _reply(self) -> None:
        tasks = [task for each in self._tasks.values() for task in each]
        self._call.reply(Result({"tasks": payload.encode(tasks)}))

    def _cancel(self, reason: Reason) -> None:
        while self._open:
            self._open.popitem()[1].cancel(reason)
