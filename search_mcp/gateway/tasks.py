"""Whose a task is, by which id the client knows it, and the lists of all servers' tasks as one.

Decides from what the servers said: a task's id leads to whoever issued it. "Task IDs MUST be unique among
all tasks controlled by the receiver": two servers may issue the same one. What a task is, and how it is
asked about, is the dialects' business.
"""

import logging
import secrets
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial

from search_mcp.dialects.task_ids import renamed
from search_mcp.model.calls import Call, Newest, Outcome, Result
from search_mcp.model.servers import Backend
from search_mcp.wire import payload, structs
from search_mcp.wire.inflight import Cancel, Reason
from search_mcp.wire.structs import Fields, Raw

log = logging.getLogger(__name__)

REMEMBERED_TASKS = 10_000
"""How many ids of one server are remembered; the oldest go first."""
LONGEST_ID = 4096
"""Characters; a longer id is not remembered."""
MAX_PAGES = 1000
"""A server whose list of tasks never ends is cut off here."""


class _Ids:
    """The ids that one server gave: the server's by the client's, and back."""

    def __init__(self) -> None:
        # A task is put into both at once, so that it goes from both at once.
        self.of_server: Newest[str, str] = Newest(REMEMBERED_TASKS)
        self.of_client: Newest[str, str] = Newest(REMEMBERED_TASKS)


class IdMap:
    """Ids that servers give, of tasks or of elicitations, as their servers and as the client know them.

    The client knows one by the id that its server gave, unless another server gave the same.
    """

    def __init__(self) -> None:
        self._ids: defaultdict[str, _Ids] = defaultdict(_Ids)  # by server

    def find(self, known: str) -> tuple[str, str] | None:
        """Find the server that an id of the client's leads to, and the server's own id."""
        for server, ids in self._ids.items():
            if known in ids.of_server:
                return server, ids.of_server[known]
        return None

    def known(self, server: str, own: str) -> str | None:
        """Give the id that the client knows a server's by, if the server gave it before."""
        return self._ids[server].of_client.get(own) if server in self._ids else None

    def id_for_client(self, server: str, own: str) -> str:
        """Give the id that the client knows a server's by; from now on it leads there."""
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
        """Have what a server says name its tasks as the client knows them."""
        return renamed(message, partial(self.id_for_client, server))

    def translate_outcome(self, server: str, outcome: Outcome) -> Outcome:
        """Have a server's answer name its tasks as the client knows them."""
        if not isinstance(outcome, Result):
            return outcome
        body = outcome.fields()
        translated = self.translate(server, body)
        return outcome if translated is body else structs.altered(outcome, body=translated)

    def translated_report(
        self, server: str, report: Callable[[Fields], None] | None
    ) -> Callable[[Fields], None] | None:
        """Have a server's progress name its tasks as the client knows them."""
        return None if report is None else lambda progress: report(self.translate(server, progress))


class TaskLists:
    """One request for the tasks of all servers: every page of each, given as a single page."""

    def __init__(self, call: Call, backends: Sequence[Backend], translate: Callable[[str, Fields], Fields]) -> None:
        self._call, self._backends, self._translate = call, backends, translate
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
        page = structs.altered(
            self._call, params=params, report=None, reply=lambda outcome: self._take(backend, outcome)
        )
        self._cancels[backend.name] = backend.submit(page, "")

    def _take(self, backend: Backend, outcome: Outcome) -> None:
        page = outcome.fields() if isinstance(outcome, Result) else {}
        try:
            tasks = payload.items(page["tasks"])
        except (KeyError, ValueError):
            log.warning("! %s: its list of tasks cannot be had: %s", backend.name, outcome)
            tasks, page = [], {}
        self._tasks[backend.name] += [self._translated(backend.name, task) for task in tasks]
        cursor = page.get("nextCursor")
        if cursor is not None and payload.value(cursor) is not None and self._pages[backend.name] < MAX_PAGES:
            self._ask(backend, {"cursor": cursor})
            return
        self._open.discard(backend.name)
        if not self._open:
            self._reply()

    def _translated(self, server: str, task: Raw) -> Raw:
        fields = payload.object_or_empty(task)
        translated = self._translate(server, fields)
        return task if translated is fields else payload.encode(translated)

    def _reply(self) -> None:
        tasks = [task for each in self._tasks.values() for task in each]
        self._call.reply(Result({"tasks": payload.encode(tasks)}))

    def _cancel(self, reason: Reason) -> None:
        for name in self._open:
            self._cancels[name](reason)
