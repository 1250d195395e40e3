"""The state of one client, on which the outcome of its calls and the news it gets depend."""

from collections.abc import Collection
from functools import cached_property
from typing import TYPE_CHECKING

from search_mcp.catalog.profiles import Audience, Profile
from search_mcp.dialects.task_ids import renamed
from search_mcp.gateway.links import Links
from search_mcp.gateway.listings import Presentation
from search_mcp.gateway.servers import Servers
from search_mcp.gateway.subscriptions import Subscriptions
from search_mcp.gateway.tasks import IdMap, TaskMap
from search_mcp.gateway.waiting import AwaitedLists
from search_mcp.model.calls import CallLater, Viewer
from search_mcp.results.process_results import ProcessResults
from search_mcp.wire.structs import Fields

if TYPE_CHECKING:
    from search_mcp.own_tools.own_tools import OwnTools
    from search_mcp.results.client_results import ClientResults


class ClientState:
    """The state of one client: the lists it was shown, its subscriptions, its waiting calls and the ids it knows."""

    def __init__(
        self, servers: Servers, profile: Profile | None, later: CallLater, results: ProcessResults | None
    ) -> None:
        """`profile` is the one that the client was started with, if any; without `results`, none is shortened."""
        self._servers, self._later, self._process_results = servers, later, results
        self.presentation = Presentation(servers.spellings, servers.settings, profile)
        self.lists = AwaitedLists(servers.may_come, servers.has_entries, later)
        self.tasks, self.elicitations = TaskMap(), IdMap()
        self.subscriptions = Subscriptions()
        self.links = Links(servers.wall_clock)
        self.log_level: str | None = None
        """The level set for the whole connection, if one was set."""
        self.listed_unlimited: Collection[str] = ()
        """The servers without a limit of results when the client listed tools last: it knows their output schemas."""

    @cached_property
    def own_tools(self) -> "OwnTools":
        """Our own tools for this client; they are loaded when one is first called."""
        from search_mcp.own_tools.own_tools import OwnTools

        servers = self._servers
        return OwnTools(
            servers.spellings,
            lambda: servers.facts,
            servers.statuses,
            lambda: servers.settings.description_length,
            lambda: servers.configuration_error,
            servers.finders,
            lambda: servers.notice,
            servers.wall_clock,
        )

    @cached_property
    def results(self) -> "ClientResults | None":
        """The shortened results of this client, loaded with its first limited call; `None` for a command."""
        if self._process_results is None:
            return None
        from search_mcp.results.client_results import ClientResults

        return ClientResults(self._process_results.load(), self._later)

    def forget_results(self) -> None:
        """Delete the shortened results, if there are any."""
        if (results := vars(self).get("results")) is not None:
            results.close()

    def audience(self, viewer: Viewer) -> Audience:
        """Choose the profile and the limits of a list that this viewer is shown."""
        return self.presentation.audience(viewer)

    def may_use_task(self, server: str, task: str, *, is_listed: bool) -> bool:
        """Return whether a task may be this client's, of which its own id is all that is known.

        A task outlives its client, so it may be of an earlier connection. The ids of a legacy server can be listed
        (`is_listed`), so knowing one proves nothing if other clients use the server, or did.
        """
        if self._servers.was_alone(server):
            return True
        return not is_listed and not self._servers.backends[server].is_task_of_another(task)

    def names_task_of_another(self, server: str, message: Fields) -> bool:
        """Return whether a server's message is about a task that may be another client's."""
        if self._servers.was_alone(server):
            return False
        named: list[str] = []

        def note(task: str) -> str:
            named.append(task)
            return task

        renamed(message, note)
        return any(self.tasks.known(server, task) is None for task in named)
