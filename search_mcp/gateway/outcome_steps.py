"""The steps that the outcome of a forwarded call passes through before the client gets it.

Each step takes a result and returns it, changed or not. Which steps there are depends on the call: a tuple of them, in
order, below. Errors are read alike in all calls.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from search_mcp.catalog import arguments
from search_mcp.catalog.items import Item
from search_mcp.catalog.uris import ResourceMap
from search_mcp.dialects import asking
from search_mcp.gateway.links import Links
from search_mcp.gateway.problems import log_contested
from search_mcp.gateway.tasks import IdMap, TaskMap
from search_mcp.model.calls import Outcome, Result
from search_mcp.wire.errors import PeerError, WireError
from search_mcp.wire.structs import ErrorObject, Fields, Struct, field, replace


class Forwarded(Struct, frozen=True):
    """A call that was given to a server, as far as the steps need it."""

    server: str
    steps: "Sequence[Step]"
    secrets: frozenset[str] = frozenset()
    """The user's secrets for this server, which no error may show."""
    name: str = ""
    """The tool as the client spelled it."""
    params: Fields = field(default_factory=dict)
    item: Item | None = None
    """The tool, in a tool call."""
    capabilities: Fields = field(default_factory=dict)
    """Those of the client."""


Step: TypeAlias = Callable[[Forwarded, Result], Result]


class OutcomeSteps:
    """The steps for one client: which URIs, task ids and elicitation ids it knows."""

    def __init__(self, resources: ResourceMap, tasks: TaskMap, elicitations: IdMap, links: Links) -> None:
        self._resources, self._tasks, self._elicitations, self._links = resources, tasks, elicitations, links
        self.of_call: Sequence[Step] = ()
        self.of_prompt: Sequence[Step] = (self._note_uris_of_prompt,)
        self.of_task_call: Sequence[Step] = (self._note_uris_of_task, self._translate_tasks)
        self.of_tool_call: Sequence[Step] = (self._note_uris, self._explain_or_translate)
        self.of_tool_call_as_task: Sequence[Step] = (self._note_uris, explain_arguments, self._translate_tasks)

    def read(self, forwarded: Forwarded, outcome: Outcome | None) -> Outcome | None:
        """Take an outcome through all steps."""
        if isinstance(outcome, Result):
            for step in forwarded.steps:
                outcome = step(forwarded, outcome)
        elif outcome is not None:
            self._links.note(asking.links(forwarded.server, outcome, forwarded.capabilities))
        if isinstance(outcome, PeerError):
            return self._read_error(forwarded, outcome.error)
        return outcome

    def _read_error(self, forwarded: Forwarded, error: ErrorObject) -> WireError:
        """Take the user's secrets out of an error, and write ids as the client knows them; explain wrong arguments."""
        rename = partial(self._elicitations.id_for_client, forwarded.server)
        error = asking.renamed_in_error(arguments.redacted(error, forwarded.secrets), rename)
        if forwarded.item is None:
            return PeerError(error)
        return arguments.tool_error(forwarded.name, forwarded.params, forwarded.item, error)

    def _note_uris(self, forwarded: Forwarded, result: Result) -> Result:
        """Record the URIs in a tool's result."""
        is_contested = self._resources.note(forwarded.server, result.body)
        if forwarded.item is not None and forwarded.item.is_of_app:
            is_contested |= self._resources.note_app(forwarded.server, result.body)
        if is_contested:
            log_contested(self._resources, forwarded.server)
        return result

    def _note_uris_of_prompt(self, forwarded: Forwarded, result: Result) -> Result:
        """Record the URIs in a prompt."""
        if self._resources.note_prompt(forwarded.server, result.body):
            log_contested(self._resources, forwarded.server)
        return result

    def _note_uris_of_task(self, forwarded: Forwarded, result: Result) -> Result:
        """Record the URIs in the result of a task."""
        if self._resources.note_task(forwarded.server, result.body):
            log_contested(self._resources, forwarded.server)
        return result

    def _translate_tasks(self, forwarded: Forwarded, result: Result) -> Result:
        """Write the ids of tasks as the client knows them."""
        body = result.fields()
        translated = self._tasks.translate(forwarded.server, body)
        return result if translated is body else replace(result, body=translated)

    def _explain_or_translate(self, forwarded: Forwarded, result: Result) -> Result:
        """Explain wrong arguments, or translate a task that the server made unasked.

        The body of a complete result is not opened.
        """
        if result.type != "complete" or forwarded.item is None:
            return self._translate_tasks(forwarded, result)
        return arguments.tool_result(forwarded.name, forwarded.params, forwarded.item, result)


def explain_arguments(forwarded: Forwarded, result: Result) -> Result:
    """Tell a model how to call the tool, where its arguments do not fit the input schema."""
    if forwarded.item is None or result.type != "complete":
        return result
    return arguments.tool_result(forwarded.name, forwarded.params, forwarded.item, result)
