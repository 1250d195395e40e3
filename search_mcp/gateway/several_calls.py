"""The `calls` of `call_read_only_tool`: several calls carried out at the same time, and answered as one.

Each is carried out, recorded and refused like a single call.
"""

from collections.abc import Callable, Sequence
from functools import partial

from search_mcp.dialects import names
from search_mcp.dialects.rounds import MAX_ROUNDS, Round
from search_mcp.dialects.task_ids import task_in
from search_mcp.model.calls import Call, InputRequired, Inputs, Outcome, Question, Reply, Result, unheard
from search_mcp.model.errors import MisbehavedError
from search_mcp.model.names import Action
from search_mcp.model.sentences import cut
from search_mcp.model.visible import named
from search_mcp.own_tools.definitions import CALL_READ_ONLY
from search_mcp.results.several_results import SeveralResults
from search_mcp.wire import payload, structs
from search_mcp.wire.errors import WireError
from search_mcp.wire.inflight import Reason
from search_mcp.wire.structs import EMPTY, Fields, Raw

_Finish = Callable[[Result, Sequence[str]], None]


class SeveralCalls:
    """The calls in one call of a client."""

    def __init__(self, call: Call, entries: Sequence[Raw], submit: Callable[[Call], None], finish: _Finish) -> None:
        """`finish` takes the result, and the servers that were called; `""` stands for none."""
        self._call, self._entries, self._submit, self._finish = call, entries, submit, finish
        self._names = [_name(entry) for entry in entries]
        self._results = SeveralResults(self._names)
        self._servers: set[str] = set()
        self._cancels: dict[int, Callable[[Reason], None]] = {}  # of those that are not answered
        self._reports = 0

    def begin(self) -> None:
        """Carry them all out."""
        self._call.reply.cancel_work = self._cancel
        for place in range(len(self._entries)):
            self._begin(place, MAX_ROUNDS, None)

    def _begin(self, place: int, rounds: int, inputs: Inputs | None) -> None:
        reply = Reply(lambda outcome: self._take(place, rounds, reply, outcome))
        self._cancels[place] = reply.cancel
        entry = (
            self._entries[place] if bytes(self._entries[place])[:1] == b"{" else EMPTY
        )  # no object: refused for its missing name
        call = structs.replace(
            self._call,
            target=CALL_READ_ONLY,
            params={"name": payload.encode(CALL_READ_ONLY), "arguments": entry},
            reply=reply,
            report=partial(self._report, place) if self._call.report is not None else None,
            inputs=inputs,
            is_part=True,
        )
        self._submit(call)

    def _report(self, place: int, progress: Fields) -> None:
        """Report the progress of one call, counted, because it "MUST increase with each notification"."""
        self._reports += 1
        message = payload.string(progress.get("message"))
        if message is None:
            done = [bytes(progress[key]).decode("utf-8", "replace") for key in ("progress", "total") if key in progress]
            message = " of ".join(done)
        if self._call.report is not None:
            text = payload.encode(f"{self._names[place]}: {message}")
            self._call.report({"progress": payload.encode(self._reports), "message": text})

    def _take(self, place: int, rounds: int, reply: Reply, outcome: Outcome) -> None:
        if isinstance(outcome, InputRequired):
            if rounds > 0:
                self._ask(place, rounds, reply, outcome)
                return
            outcome = MisbehavedError(f"it asked for input more than {MAX_ROUNDS} times")
        server = reply.tool[0]
        if isinstance(outcome, Result) and outcome.type != "complete":
            self._cancel_task(outcome)
        elif isinstance(outcome, Result) and not server:  # one of our own tools, whose text says the same
            outcome = Result(payload.without(outcome.fields(), names.STRUCTURED))
        del self._cancels[place]
        self._results.add(place, outcome)
        self._servers.add(server)
        if self._results.is_whole:
            self._finish(self._results.result(), sorted(self._servers))

    def _cancel_task(self, result: Result) -> None:
        """Cancel a task that a server made of one call, because the client does not get its id."""
        task = task_in(result)
        if task is not None:
            params = {"taskId": payload.encode(task)}
            self._submit(Call(Action.CANCEL_TASK, task, params, None, self._call.caller, unheard()))

    def _ask(self, place: int, rounds: int, reply: Reply, needed: InputRequired) -> None:
        """Ask the client for the input that one call needs, then make this call again."""
        caller = self._call.caller

        def put(question: Question) -> None:
            caller.ask(question, self._call)

        def fail(error: WireError) -> None:
            self._take(place, 0, reply, error)

        asked = Round(needed, put, partial(self._begin, place, rounds - 1), fail)
        self._cancels[place] = asked.cancel
        asked.begin(caller.capabilities)

    def _cancel(self, reason: Reason) -> None:
        while self._cancels:
            self._cancels.popitem()[1](reason)


def _name(entry: Raw) -> str:
    name = payload.string(payload.object_or_empty(entry).get("name"))
    return named(cut(name)) if name else "a call without a name"
