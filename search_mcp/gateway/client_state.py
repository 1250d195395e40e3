"""The state of one client, on which the outcome of its calls and the news it gets depend."""

from collections.abc import Callable, Collection
from functools import cached_property
from typing import TYPE_CHECKING

from search_mcp.catalog.profiles import Audience
from search_mcp.dialects.task_ids import renamed
from search_mcp.gateway.listings import Presentation
from search_mcp.gateway.subscriptions import Subscriptions
from search_mcp.gateway.tasks import IdMap, TaskMap
from search_mcp.gateway.waiting import AwaitedLists
from search_mcp.model.calls import Viewer
from search_mcp.wire.structs import Fields

if TYPE_CHECKING:
    from search_mcp.own_tools.own_tools import OwnTools
    from search_mcp.results.client_results import ClientResults


class ClientState:
    """The state of one client: the lists it was shown, its subscriptions, its waiting calls and the ids it knows."""

    def __init__(
        self,
        presentation: Presentation,
        lists: AwaitedLists,
        load_own_tools: "Callable[[], OwnTools]",
        is_task_of_another: Callable[[str, str], bool],
        is_alone: Callable[[str], bool],
        load_results: "Callable[[], ClientResults | None]" = lambda: None,
    ) -> None:
        """`is_alone` returns whether a server never had another client."""
        self.presentation, self.lists, self._load_own_tools = presentation, lists, load_own_tools
        self.tasks, self.elicitations = TaskMap(), IdMap()
        self.subscriptions = Subscriptions()
        self.log_level: str | None = None
        """The level set for the whole connection, if one was set."""
        self._is_task_of_another, self.is_alone = is_task_of_another, is_alone
        self._load_results = load_results
        self.listed_unlimited: Collection[str] = ()
        """The servers without a limit of results when the client listed tools last: it knows their output schemas."""

    @cached_property
    def own_tools(self) -> "OwnTools":
        """Our own tools for this client; they are loaded when one is first called."""
        return self._load_own_tools()

    @cached_property
    def results(self) -> "ClientResults | None":
        """The shortened results of this client, loaded with its first limited call; `None` for a command."""
        return self._load_results()

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
        return self.is_alone(server) or not (is_listed or self._is_task_of_another(server, task))

    def names_task_of_another(self, server: str, message: Fields) -> bool:
        """Return whether a server's message is about a task that may be another client's."""
        if self.is_alone(server):
            return False
        named: list[str] = []

        def note(task: str) -> str:
            named.append(task)
            return task

        renamed(message, note)
        return any(self.tasks.known(server, task) is None for task in named)
