"""Forwarding of one client's calls to servers."""

from collections.abc import Iterable, Sequence
from functools import partial

from search_mcp.catalog import arguments
from search_mcp.catalog.items import Item
from search_mcp.gateway.client_state import ClientState
from search_mcp.gateway.outcome_steps import Forwarded, OutcomeSteps, Step
from search_mcp.gateway.servers import Servers
from search_mcp.model.calls import Call
from search_mcp.model.names import Action, Kind
from search_mcp.wire import structs


class Forwarding:
    """Gives calls to backends, and names the steps that their outcomes pass through."""

    def __init__(self, servers: Servers, client: ClientState) -> None:
        self._servers, self._client = servers, client
        self._steps = OutcomeSteps(servers.resources, client.tasks, client.elicitations, client.links)

    def forward(self, server: str, call: Call, target: str, steps: Sequence[Step] | None = None) -> None:
        """Give a call to a server, under the server's own name for its target."""
        secrets, capabilities = self._servers.configs[server].secrets, call.caller.capabilities
        forwarded = Forwarded(server, steps or self._steps.of_call, secrets, capabilities=capabilities)
        call.reply.steps.append(partial(self._steps.read, forwarded))
        self._servers.backends[server].submit(call, target)

    def forward_prompt_call(self, call: Call, item: Item) -> None:
        """Give a call that names a prompt to its server."""
        steps = self._steps.of_prompt if call.action is Action.GET_PROMPT else None
        self.forward(item.server, call, item.key, steps)

    def forward_task_call(self, server: str, call: Call, task: str) -> None:
        """Give a call about a task to its server."""
        call = structs.replace(call, report=self._client.tasks.translated_report(server, call.report))
        self.forward(server, call, task, self._steps.of_task_call)

    def forward_tool_call(self, call: Call, item: Item) -> None:
        """Give a tool call to its server."""
        call.reply.tool = item.server, item.key
        profile = self._client.presentation.audience(call.caller.viewer).profile
        added = profile.added_arguments
        params = arguments.without_added(added, call, item) if added else call.params
        if call.by_name or (profile.listing != "full" and not item.pinned):  # the client was not shown the types
            params = arguments.with_types(params, item)
            if (wrong := arguments.unknown(params, item)) and self._has_shown_names(call):
                call.reply.steps.append(partial(arguments.with_note, call.target, wrong, item))
        if params is not call.params:
            call = structs.replace(call, params=params)
        steps, config = self._steps.of_tool_call, self._servers.configs[item.server]
        if "task" in params:
            steps = self._steps.of_tool_call_as_task
            call = structs.replace(call, report=self._client.tasks.translated_report(item.server, call.report))
        forwarded = Forwarded(item.server, steps, config.secrets, call.target, params, item, call.caller.capabilities)
        limit = config.max_result_characters
        if limit is not None and not item.is_of_app and not call.is_part:  # an app's page needs the whole
            # "Clients SHOULD validate structured results against this schema": a client that was listed it does.
            keeps = "outputSchema" in item.fields and item.server in self._client.listed_unlimited
            self.limit(call, limit, is_read_only=item.is_read_only, keeps_structured=keeps)
        call.reply.steps.append(partial(self._steps.read, forwarded))
        self._servers.backends[item.server].submit(call, item.key)

    def _has_shown_names(self, call: Call) -> bool:
        """Return whether a model may have guessed: it was listed names only. A person's command has no session."""
        return call.caller.session is not None and self._client.presentation.has_shown(Kind.TOOLS, call.caller.viewer)

    def limit_of(self, servers: Iterable[str]) -> int | None:
        """Return the least limit of the results of these servers."""
        configs = [self._servers.configs[each] for each in servers if each in self._servers.configs]
        return min(
            (each.max_result_characters for each in configs if each.max_result_characters is not None), default=None
        )

    def limit(self, call: Call, limit: int, *, is_read_only: bool, keeps_structured: bool = False) -> None:
        """Have the result of a call shortened if it is longer than the user wants."""
        if self._client.results is None:
            return
        from search_mcp.results.client_results import Shortening

        has_link = call.caller.viewer.reads_links
        shortening = Shortening(limit, call.target, is_read_only, has_link, keeps_structured)
        call.reply.steps.append(partial(self._client.results.shorten, shortening, call.reply))
