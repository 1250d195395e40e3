"""The steps that the outcome of a forwarded call passes through before the client gets it.

Each step takes an outcome and returns it, changed or not. Which steps there are depends on the call: a tuple of them,
in order, below. An exception in a step is logged, and the client gets an internal error.
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from search_mcp.catalog import arguments
from search_mcp.catalog.items import Item
from search_mcp.catalog.uris import ResourceMap
from search_mcp.dialects.asking import renamed_in_error
from search_mcp.gateway.problems import log_contested
from search_mcp.gateway.tasks import IdMap, TaskMap
from search_mcp.model.calls import Outcome, Result
from search_mcp.wire.errors import InternalError, PeerError
from search_mcp.wire.structs import Fields, Struct, field

log = logging.getLogger(__name__)


class Forwarded(Struct, eq=False):
    """A call that was given to a server, as far as the steps need it.

    It does not hold the `Call`, whose `reply` leads here: such a cycle would be left to the garbage collector.
    """

    server: str
    steps: "Sequence[Step]"
    reply: Callable[[Outcome], None]
    secrets: frozenset[str] = frozenset()
    """The user's secrets for this server, which no error may show."""
    name: str = ""
    """The tool as the client spelled it."""
    params: Fields = field(default_factory=dict)
    item: Item | None = None
    """The tool, in a tool call."""

    def settle(self, outcome: Outcome) -> None:
        """Take an outcome through all steps and give it to the client."""
        try:
            for step in self.steps:
                outcome = step(self, outcome)
        except Exception:  # a bug must cost its own call only
            log.exception("! bug while reading the answer of %s", self.item.name if self.item else self.server)
            outcome = InternalError()
        self.reply(outcome)


Step: TypeAlias = Callable[[Forwarded, Outcome], Outcome]


class OutcomeSteps:
    """The steps for one client: which URIs, task ids and elicitation ids it knows."""

    def __init__(self, resources: ResourceMap, tasks: TaskMap, elicitations: IdMap) -> None:
        self._resources, self._tasks, self._elicitations = resources, tasks, elicitations
        self.of_call: Sequence[Step] = (redact_error, self._rename_elicitations)
        self.of_prompt: Sequence[Step] = (self._note_uris_of_prompt, *self.of_call)
        self.of_task_call: Sequence[Step] = (self._note_uris_of_task, *self.of_call, self._translate_tasks)
        self.of_tool_call: Sequence[Step] = (
            self._note_uris,
            *self.of_call,
            explain_arguments,
            self._translate_unasked_task,
        )
        self.of_tool_call_as_task: Sequence[Step] = (
            self._note_uris,
            *self.of_call,
            explain_arguments,
            self._translate_tasks,
        )

    def _note_uris(self, forwarded: Forwarded, outcome: Outcome) -> Outcome:
        """Record the URIs in a tool's result."""
        if isinstance(outcome, Result):
            server, is_contested = forwarded.server, self._resources.note(forwarded.server, outcome.body)
            if forwarded.item is not None and forwarded.item.is_of_app:
                is_contested |= self._resources.note_app(server, outcome.body)
            if is_contested:
                log_contested(self._resources, server)
        return outcome

    def _note_uris_of_prompt(self, forwarded: Forwarded, outcome: Outcome) -> Outcome:
        """Record the URIs in a prompt."""
        if isinstance(outcome, Result) and self._resources.note_prompt(forwarded.server, outcome.body):
            log_contested(self._resources, forwarded.server)
        return outcome

    def _note_uris_of_task(self, forwarded: Forwarded, outcome: Outcome) -> Outcome:
        """Record the URIs in the result of a task."""
        if isinstance(outcome, Result) and self._resources.note_task(forwarded.server, outcome.body):
            log_contested(self._resources, forwarded.server)
        return outcome

    def _rename_elicitations(self, forwarded: Forwarded, outcome: Outcome) -> Outcome:
        """Write the ids of elicitations in an error as the client knows them."""
        if isinstance(outcome, PeerError):
            rename = partial(self._elicitations.id_for_client, forwarded.server)
            return PeerError(renamed_in_error(outcome.error, rename))
        return outcome

    def _translate_tasks(self, forwarded: Forwarded, outcome: Outcome) -> Outcome:
        """Write the ids of tasks as the client knows them."""
        return self._tasks.translate_outcome(forwarded.server, outcome)

    def _translate_unasked_task(self, forwarded: Forwarded, outcome: Outcome) -> Outcome:
        """Do the same where the server made a task unasked; the body of a complete result is not opened."""
        if isinstance(outcome, Result) and outcome.type != "complete":
            return self._tasks.translate_outcome(forwarded.server, outcome)
        return outcome


def redact_error(forwarded: Forwarded, outcome: Outcome) -> Outcome:
    """Take the user's secrets out of an error; results pass as they are."""
    if isinstance(outcome, PeerError):
        return PeerError(arguments.redacted(outcome.error, forwarded.secrets))
    return outcome


def explain_arguments(forwarded: Forwarded, outcome: Outcome) -> Outcome:
    """Tell a model how to call the tool, where its arguments do not fit the input schema."""
    assert forwarded.item is not None, "only tool calls have arguments"
    if isinstance(outcome, PeerError):
        return arguments.tool_error(forwarded.name, forwarded.params, forwarded.item, outcome.error)
    if isinstance(outcome, Result) and outcome.type == "complete":
        return arguments.tool_result(forwarded.name, forwarded.params, forwarded.item, outcome)
    return outcome
