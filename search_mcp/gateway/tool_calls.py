"""Tool calls: of our own tools, of a server's tool, and of a server's tool by `call_tool`."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from search_mcp.catalog import arguments, profiles
from search_mcp.catalog.items import READ_RESULT, RESTART, Item
from search_mcp.catalog.profiles import CallTool
from search_mcp.gateway.client_state import ClientState
from search_mcp.gateway.forwarding import Forwarding
from search_mcp.gateway.servers import Servers
from search_mcp.gateway.targets import Targets, Use
from search_mcp.gateway.waiting import WaitingCalls, in_slices
from search_mcp.model.calls import Call, CallLater, Result
from search_mcp.model.errors import NotReadOnly, SwitchedOff, ToolNotFound
from search_mcp.model.names import Kind
from search_mcp.own_tools import definitions as own_tool_definitions
from search_mcp.own_tools.arguments import ArgumentError, instead, read_search_kind
from search_mcp.own_tools.definitions import CALL, CALL_READ_ONLY, CALLING, LIST_SERVERS, MOST_PER_CALL, NAMES, SEARCH
from search_mcp.own_tools.finding import Finder
from search_mcp.own_tools.wanted import LISTS_NEEDED, SearchKind
from search_mcp.wire import payload, structs
from search_mcp.wire.errors import invalid_params
from search_mcp.wire.structs import EMPTY, Fields, Raw

if TYPE_CHECKING:
    from search_mcp.search import Meaning


class ToolCalls:
    """Carries out one client's tool calls."""

    def __init__(
        self,
        servers: Servers,
        client: ClientState,
        forwarding: Forwarding,
        targets: Targets,
        waiting: WaitingCalls,
        later: CallLater,
        submit: Callable[[Call], None],
        submit_recorded: Callable[[Call], None],
    ) -> None:
        """`submit_recorded` carries out, and records, a call that is part of another one."""
        self._servers, self._client, self._later = servers, client, later
        self._forwarding, self._targets, self._waiting = forwarding, targets, waiting
        self._submit_recorded = submit_recorded
        self._use = Use(Kind.TOOLS, submit, self._call_found, forwarding.forward_tool_call, ToolNotFound)

    def call(self, call: Call) -> None:
        """Carry out a tool call.

        Raises:
            WireError: the answer, if no server is asked.
        """
        params = arguments.with_object(call)
        if params is not call.params:
            call = structs.replace(call, params=params)
        if call.target in NAMES:
            self._call_own(call)
            return
        if call.target == RESTART and self._servers.catalog.can_restart:
            self._restart(call)
            return
        item = self._targets.find(Kind.TOOLS, call)
        # "`model`: Tool is visible to and callable by the agent"
        if item is not None and (not call.by_name or item.is_for_models):
            self._call_found(call, item)
        elif item is None and call.target == READ_RESULT and self._reads_results(call):
            self._call_own(call)
        elif item is None and (unprefixed := self._targets.unprefixed(Kind.TOOLS, call)) is not None:
            self.call(unprefixed)
        else:
            self._targets.use_unlisted(call, self._use)

    def _call_found(self, call: Call, item: Item) -> None:
        if call.unless_read_only is not None and not item.is_read_only:
            raise call.unless_read_only
        self._forwarding.forward_tool_call(call, item)

    # Our own tools

    def _reads_results(self, call: Call) -> bool:
        return self._client.audience(call.caller.viewer).profile.reads_results and self._client.results is not None

    def _call_own(self, call: Call) -> None:
        call.reply.tool = "", call.target
        if call.target in (CALL, CALL_READ_ONLY):
            self._call_by_name(call)
            return
        given = _given(call)
        if call.target == READ_RESULT and self._client.results is not None:
            self._client.results.read(given, call.reply)
            return

        def run(meaning: "Meaning | None" = None) -> None:
            audience = self._client.audience(call.caller.viewer)
            call.reply(Result(self._client.own_tools.run(call.target, given, audience, meaning)))

        if call.target == LIST_SERVERS:
            run()
        elif call.target == SEARCH:
            self._search(call, given, run)
        else:
            self._when_listed("tools", call, run)

    def _when_listed(self, search_kind: SearchKind, call: Call, act: Callable[[], None]) -> None:
        """Act when every server's entries are known, or cannot be waited for any longer."""
        patience = self._waiting.patience()
        self._client.lists.when_settled(LISTS_NEEDED[search_kind], self._servers.enabled, act, call.reply, patience)

    def _search(self, call: Call, given: Mapping[str, Any], run: "Callable[[Meaning | None], None]") -> None:
        """Search when every tool is known, and indexed in slices between other calls.

        The index is not made before: a client whose model never searches is spared it, and it is as large as all lists.
        The first slice loads the search, so messages that came together with this call are handled before it. Entries
        that change while the meaning of the query is asked for are indexed before the answer.
        """
        try:
            search_kind = read_search_kind(given)
        except ArgumentError:
            run(None)  # says what is wrong
            return

        def finder() -> Finder:
            return self._client.own_tools.finders[search_kind]

        def index(act: Callable[[], None]) -> None:
            in_slices(lambda: finder().advance(), act, call.reply, self._later)

        def ask() -> None:
            finder().ask(_query(given), lambda meaning: index(lambda: run(meaning)))

        def begin() -> None:
            self._later(0, lambda: index(ask))

        self._when_listed(search_kind, call, begin)

    def _restart(self, call: Call) -> None:
        if call.unless_read_only is not None:
            raise call.unless_read_only
        # Loaded with the first restart, not at every start.
        from search_mcp.gateway.restarting import restart

        restart(self._servers, self._client, call, _given(call))

    def _call_by_name(self, call: Call) -> None:
        """Carry out `call_tool`, or `call_read_only_tool`."""
        allowed = self._client.audience(call.caller.viewer).profile.call_tool
        if call.target not in CALLING[allowed]:
            raise _switched_off(call.target, allowed)
        wrapped = payload.object_or_empty(call.params.get("arguments"))
        if "calls" in wrapped and not call.is_part:
            self._call_several(call, wrapped)
            return
        name = payload.string(wrapped.get("name"))
        if not name or not {name, profiles.without_registration(name)}.isdisjoint((CALL, CALL_READ_ONLY)):
            raise invalid_params(
                f"Invalid params: {call.target} needs the name of another tool, and its arguments as an object: "
                f'{{"name": "server.tool", "arguments": {{...}}}}{instead(wrapped, "name")}'
            )
        params = payload.without(call.params, "arguments")
        if "arguments" in wrapped:
            params["arguments"] = wrapped["arguments"]
        elif len(wrapped) > 1:
            item = self._targets.find(Kind.TOOLS, structs.replace(call, target=name))
            params["arguments"] = payload.encode(arguments.beside_name(wrapped, item))
        refusal = (
            NotReadOnly(name, own_tool_definitions.how_to_call(allowed)) if call.target == CALL_READ_ONLY else None
        )
        self.call(structs.replace(call, target=name, params=params, by_name=True, unless_read_only=refusal))

    def _call_several(self, call: Call, wrapped: Fields) -> None:
        """Carry out the read-only calls in one call."""
        # Loaded with the first such call, not at every start.
        from search_mcp.gateway.several_calls import SeveralCalls

        def finish(result: Result, servers: Sequence[str]) -> None:
            limit = self._forwarding.limit_of(servers)
            if limit is not None:
                self._forwarding.limit(call, limit, is_read_only=True)
            call.reply(result)

        SeveralCalls(call, _read_calls(wrapped), self._submit_recorded, finish).begin()


def _given(call: Call) -> dict[str, Any]:
    """Return the arguments of a call of one of our own tools."""
    given = payload.value(call.params.get("arguments", EMPTY))
    if not isinstance(given, dict):
        raise arguments.not_an_object()
    return given


def _read_calls(wrapped: Fields) -> Sequence[Raw]:
    """Return the entries of `calls`.

    Raises:
        ProtocolError: it is no list, or has none or too many.
    """
    try:
        entries = payload.first_items(wrapped["calls"], MOST_PER_CALL + 1)
    except ValueError:
        entries = []
    if not 0 < len(entries) <= MOST_PER_CALL or wrapped.keys() != {"calls"}:
        raise invalid_params(
            f"Invalid params: calls must be a list of 1 to {MOST_PER_CALL} calls, and stand alone: "
            '{"calls": [{"name": "server.tool", "arguments": {...}}, ...]}'
        )
    return entries


def _query(given: Mapping[str, Any]) -> str:
    query = given.get("query")
    return query if isinstance(query, str) else ""


def _switched_off(name: str, allowed: CallTool) -> SwitchedOff:
    remedy = f"{CALL_READ_ONLY} calls read-only tools" if allowed == "read-only" else "call the tool by its name"
    return SwitchedOff(name, f'"callTool": "{allowed}"', remedy)
