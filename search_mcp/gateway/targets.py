"""The lookup of the tool or prompt that a call names, in any spelling."""

from collections.abc import Callable, Iterable, Sequence

from search_mcp.catalog import profiles
from search_mcp.catalog.items import Item
from search_mcp.catalog.shown_names import ShownNames
from search_mcp.gateway.client_state import ClientState
from search_mcp.gateway.servers import ENDED_STATES, Servers
from search_mcp.gateway.waiting import WaitingCalls
from search_mcp.model.calls import Call
from search_mcp.model.errors import HiddenByReadOnly, ToolNotFound
from search_mcp.model.names import GIVEN_UP, Kind
from search_mcp.own_tools import definitions as own_tool_definitions
from search_mcp.wire import structs
from search_mcp.wire.errors import WireError
from search_mcp.wire.structs import Struct


class Use(Struct, frozen=True):
    """The handling of calls of tools, or of prompts."""

    kind: Kind
    submit: Callable[[Call], None]
    """Start over, after waiting for a list."""
    use_found: Callable[[Call, Item], None]
    use_unlisted: Callable[[Call, Item], None]
    """Forward a call to a server whose list cannot be read; the item has no definition."""
    not_found: Callable[[str, Sequence[str]], WireError]


class Targets:
    """The items of one catalogue under one client's names."""

    def __init__(self, servers: Servers, client: ClientState, waiting: WaitingCalls) -> None:
        self._servers, self._catalog = servers, servers.catalog
        self._client, self._waiting = client, waiting

    def find(self, kind: Kind, call: Call) -> Item | None:
        """Find a tool or prompt by its full name; a tool of an app also by the server's own name."""
        item = self._names(kind, call).spelled(call.target)
        return self._catalog.tools().for_apps.get(call.target) if item is None and kind is Kind.TOOLS else item

    def _names(self, kind: Kind, call: Call) -> ShownNames:
        profile = self._client.presentation.audience(call.caller.viewer).profile
        return self._servers.spellings.of(kind, profile)

    def unprefixed(self, kind: Kind, call: Call) -> Call | None:
        """Remove the prefix that the client adds for search-mcp from an unknown name; return `None` if it has none."""
        rest = profiles.without_registration(call.target)
        # The prefix may be the name of a server.
        if rest is None or any(own != call.target for _, own in self._prefixed(call.target, kind)):
            return None
        return structs.replace(call, target=rest)

    def use_unlisted(self, call: Call, use: Use) -> None:
        """Handle a name that is in no list: its server may be starting, unlistable, or not running.

        Raises:
            WireError: the answer to the call, if there is nothing to wait for.
        """
        owners = list(self._prefixed(call.target, use.kind))
        for server, own in owners:
            if self._is_used_at_owner(call, server, own, use):
                return
        kinds = frozenset({use.kind})
        servers = [server for server, _ in owners] or self._servers.enabled
        if self._waiting.waits_for_changes(call, kinds, servers, use.submit):
            return
        if owners or not self._waiting.waits_for_lists(call, kinds, use.submit):
            self._use_bare(call, use, has_owner=bool(owners))

    def _is_used_at_owner(self, call: Call, server: str, own: str, use: Use) -> bool:
        """Handle a name with the prefix of a server; return false if its list is known and does not contain the name.

        Another server, whose prefix begins in the same way, may list the name.
        """
        status = self._servers.status(server)
        if status.state in ENDED_STATES - GIVEN_UP:
            raise self._servers.not_running(status)
        if own in self._catalog.withheld(server, use.kind):
            raise self._catalog.why_withheld(server, use.kind, own, call.target)
        if use.kind is Kind.TOOLS and not self._catalog.is_admitted(server, own):
            return False
        if use.kind is Kind.TOOLS and self._catalog.is_hidden_by_read_only(server, own):
            raise HiddenByReadOnly(call.target, server)
        is_known = self._catalog.is_known(server, use.kind)
        if self._catalog.is_unlistable(server, use.kind) or (status.state in GIVEN_UP and not is_known):
            # Its list cannot be read, or only after another start: the server itself decides about the name.
            use.use_unlisted(call, Item(server, own, server, own, {}))
        elif is_known:
            return False
        else:
            self._waiting.wait(call, frozenset({use.kind}), [server], use.submit)
        return True

    def _use_bare(self, call: Call, use: Use, *, has_owner: bool) -> None:
        """Handle a name without a prefix that only one server has; all lists are known now.

        Raises:
            WireError: there is no such name.
        """
        names = self._names(use.kind, call)
        item = names.bare(call.target)
        # The pages of apps make such calls too, and may call only tools of their own server.
        if item is not None and not has_owner and not self._catalog.tools().servers_with_apps:
            use.use_found(call, item)
            return
        if use.kind is not Kind.TOOLS:
            raise use.not_found(call.target, names.near(call.target, ()))
        hiding = [each for each in self._servers.enabled if self._catalog.is_hidden_by_read_only(each, call.target)]
        if len(hiding) == 1 and not has_owner:
            raise HiddenByReadOnly(call.target, hiding[0])
        if (ambiguity := names.ambiguity(call.target)) is not None:
            raise ambiguity
        profile = self._client.audience(call.caller.viewer).profile
        ours = own_tool_definitions.existing(
            profile.call_tool, can_restart=self._catalog.can_restart, reads_results=profile.reads_results
        )
        near = names.near(call.target, ours)
        nearest = names.spelled(near[0]) if near else None
        if nearest is None:
            raise use.not_found(call.target, near)
        raise ToolNotFound(call.target, near, names.signature(nearest))

    def _prefixed(self, name: str, kind: Kind) -> Iterable[tuple[str, str]]:
        """Yield the servers with the longest prefix that a name begins with, each with the rest of the name.

        A name without a prefix may belong to any server that has no prefix and whose list cannot be read.
        """
        prefixes = self._catalog.prefixes
        owners, own = prefixes.split(name)
        if owners:
            yield from ((server, own) for server in self._servers.configs if server in owners)
            return
        for server, config in self._servers.configs.items():
            may_list = not config.effective_prefix and self._catalog.is_unlistable(server, kind)
            if may_list and prefixes.admits(server, name):
                yield server, name
