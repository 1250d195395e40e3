"""From a call to the backend that owns its target, for one client.

Decides which server carries out a call, and which calls wait for a list that is not there yet. It knows no era:
methods, `_meta` and versions belong to the dialects.
"""

from collections.abc import Callable, Mapping

from search_mcp.gateway.client_state import ClientState
from search_mcp.gateway.forwarding import Forwarding
from search_mcp.gateway.servers import Servers
from search_mcp.gateway.targets import Targets, Use
from search_mcp.gateway.tasks import TaskLists
from search_mcp.gateway.tool_calls import ToolCalls
from search_mcp.gateway.waiting import WaitingCalls
from search_mcp.model.calls import Call, CallLater
from search_mcp.model.errors import (
    DirectoryNotFound,
    PromptNotFound,
    ResourceNotFound,
    TaskNotFound,
)
from search_mcp.model.names import Action, Kind
from search_mcp.model.similar import nearest
from search_mcp.results import RESULT_URI
from search_mcp.wire.errors import WireError, method_not_found

_RESOURCES = frozenset({Kind.RESOURCES, Kind.TEMPLATES, Kind.SKILLS})


class Router:
    """Carries out the calls of one client."""

    def __init__(
        self, servers: Servers, client: ClientState, later: CallLater, submit_recorded: Callable[[Call], None]
    ) -> None:
        """`submit_recorded` records a call that is part of another one, and gives it to `submit`."""
        self._servers, self._client = servers, client
        self._waiting = WaitingCalls(servers, client.lists)
        self._forwarding = Forwarding(servers, client)
        self._targets = Targets(servers, client, self._waiting)
        self._tool_calls = ToolCalls(
            servers, client, self._forwarding, self._targets, self._waiting, later, self.submit, submit_recorded
        )
        forward_prompt = self._forwarding.forward_prompt_call
        self._prompts = Use(Kind.PROMPTS, self.submit, forward_prompt, forward_prompt, PromptNotFound)
        self._routes: Mapping[Action, Callable[[Call], None]] = {
            Action.CALL_TOOL: self._tool_calls.call,
            Action.GET_PROMPT: self._use_prompt,
            Action.COMPLETE_PROMPT: self._use_prompt,
            Action.READ_RESOURCE: self._use_resource,
            Action.READ_DIRECTORY: self._read_directory,
            Action.GET_SKILL: self._get_skill,
            Action.COMPLETE_RESOURCE: self._use_resource,
            Action.SUBSCRIBE: self._use_resource,
            Action.UNSUBSCRIBE: self._use_resource,
            Action.GET_TASK: self._use_task,
            Action.GET_TASK_RESULT: self._use_task,
            Action.UPDATE_TASK: self._use_task,
            Action.CANCEL_TASK: self._use_task,
            Action.LIST_TASKS: self._list_tasks,
            Action.FOLLOW_TASK: self._use_task,
            Action.UNFOLLOW_TASK: self._use_task,
        }

    def submit(self, call: Call) -> None:
        """Carry out a call at the backend that owns its target; answer at once if none does."""
        try:
            self._routes[call.action](call)
        except WireError as error:
            call.reply(error)

    # Prompts

    def _use_prompt(self, call: Call) -> None:
        item = self._targets.find(Kind.PROMPTS, call)
        if item is not None:
            self._forwarding.forward_prompt_call(call, item)
        elif (unprefixed := self._targets.unprefixed(Kind.PROMPTS, call)) is not None:
            self._use_prompt(unprefixed)
        else:
            self._targets.use_unlisted(call, self._prompts)

    # Resources

    def _use_resource(self, call: Call) -> None:
        if call.target.startswith(RESULT_URI) and call.action is Action.READ_RESOURCE:
            self._read_result(call)
            return
        server = self._servers.resources.owner(call.target)
        if call.action is Action.UNSUBSCRIBE:
            server = self._client.subscriptions.remove(call.target) or server
        if server not in self._servers.backends:
            if self._waiting.waits_for_lists(call, _RESOURCES, self.submit):
                return
            server = self._only_candidate(call.action)
        if server is None:
            if self._waiting.waits_for_changes(call, _RESOURCES, self._servers.enabled, self.submit):
                return
            raise ResourceNotFound(call.target, nearest(call.target, self._servers.resources.known()))
        if call.action in (Action.SUBSCRIBE, Action.UNSUBSCRIBE):
            self._subscribe(call, server)
        else:
            self._forwarding.forward(server, call, call.target)

    def _read_result(self, call: Call) -> None:
        """Read a shortened result of this client."""
        if self._client.results is None:
            raise ResourceNotFound(call.target, ())
        self._client.results.read_whole(call)

    def _only_candidate(self, action: Action) -> str | None:
        """Find the only server that may have a resource that none lists: lists of resources need not be complete."""
        if action is Action.COMPLETE_RESOURCE:
            return self._servers.only_server(lambda able: able.completions)
        return self._servers.only_server(lambda able: Kind.RESOURCES in able.kinds)

    def _subscribe(self, call: Call, server: str) -> None:
        capabilities = self._servers.status(server).capabilities
        if capabilities is not None and not capabilities.subscribe:
            raise method_not_found(f"server {server!r} has no subscriptions")
        if call.action is Action.SUBSCRIBE:
            self._client.subscriptions.add(call.target, server)
        self._forwarding.forward(server, call, call.target)

    # Skills

    def _get_skill(self, call: Call) -> None:
        if Kind.SKILLS not in self._servers.capabilities().kinds:
            raise method_not_found("no server has skills")
        server = self._servers.catalog.skills().owner(call.target)
        if server is not None and server in self._servers.backends:
            self._forwarding.forward(server, call, call.target)
        elif not self._waiting.waits_for_lists(call, _RESOURCES, self.submit):
            # Loaded with the first skill that no server lists, not at every start.
            from search_mcp.gateway.skills import SkillSearch

            SkillSearch(call, self._servers, self._forwarding).ask_next()

    def _read_directory(self, call: Call) -> None:
        server = self._servers.resources.owner(call.target)
        if server not in self._servers.backends:
            if self._waiting.waits_for_lists(call, _RESOURCES, self.submit):
                return
            server = self._servers.only_server(lambda able: able.reads_directories)
        if server is None and self._waiting.waits_for_changes(call, _RESOURCES, self._servers.enabled, self.submit):
            return
        if not self._servers.capabilities().reads_directories:
            raise method_not_found("no server reads directories")
        capabilities = self._servers.status(server).capabilities if server is not None else None
        # "Clients MUST NOT call `resources/directory/read` against a server that has not declared
        # `directoryRead: true`."
        if server is None or capabilities is None or not capabilities.reads_directories:
            raise DirectoryNotFound(call.target, nearest(call.target, self._servers.resources.known()))
        self._forwarding.forward(server, call, call.target)

    # Tasks

    def _use_task(self, call: Call) -> None:
        server, task = self._client.tasks.find(call.target) or self._unknown_task(call.target)
        if server not in self._servers.backends:
            raise self._servers.not_running(self._servers.status(server))
        self._forwarding.forward_task_call(server, call, task)

    def _unknown_task(self, task: str) -> tuple[str, str]:
        """Find the server of a task that was made before this client connected: a task outlives its client.

        Raises:
            TaskNotFound: several servers may have it, or another client has it.
        """
        server = self._servers.only_server(lambda able: able.has_tasks)
        if server is None:
            raise TaskNotFound(task)
        capabilities = self._servers.status(server).capabilities
        is_listed = capabilities is None or capabilities.lists_tasks
        if not self._client.may_use_task(server, task, is_listed=is_listed):
            raise TaskNotFound(task)
        self._client.tasks.id_for_client(server, task)  # from now on its news are for this client
        return server, task

    def _list_tasks(self, call: Call) -> None:
        tasks, having = self._client.tasks, self._servers.listing_tasks()
        TaskLists(call, having, tasks.translate, self._client.names_task_of_another).gather()
