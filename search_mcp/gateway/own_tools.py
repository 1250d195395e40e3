"""The answers of our own tools: text for the model, and the same as `structuredContent`.

The names of these tools have no dot, so no server's tool can be mistaken for one. `call_tool` and `call_read_only_tool`
are carried out by `tool_calls`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from search_mcp.catalog.items import Item
from search_mcp.catalog.profiles import Audience
from search_mcp.catalog.shown_names import ShownNames, Spellings
from search_mcp.catalog.skills import Skill
from search_mcp.gateway.finding import Finder, load_finder
from search_mcp.gateway.found_tools import found_tools, on_one_line, within_answer
from search_mcp.gateway.in_common import InCommon
from search_mcp.gateway.own_arguments import (
    MOST_NAMED,
    ArgumentError,
    enumerated,
    instead,
    read_argument,
    read_choice,
    read_server,
)
from search_mcp.gateway.own_tool_definitions import (
    DEFAULT_LIMIT,
    DESCRIBE,
    LIST_SERVERS,
    MOST_RESULTS,
    SEARCH,
    SEARCH_DETAILS,
)
from search_mcp.gateway.server_report import ServerReport
from search_mcp.gateway.stopped_servers import not_running
from search_mcp.gateway.tool_descriptions import ToolDescriptions
from search_mcp.model.names import Kind
from search_mcp.model.servers import ServerFacts, Status
from search_mcp.model.similar import nearest
from search_mcp.wire import payload
from search_mcp.wire.structs import Raw

if TYPE_CHECKING:
    from search_mcp.search import Explanation, Meaning

NOTHING_CLEAR = "No tool of the connected servers clearly does this"
NOTHING_FITS = f"{NOTHING_CLEAR}; nearest:"

_Answer: TypeAlias = tuple[str, dict[str, Any]]
"""The answer of one of our tools: the text for the model, and the same as data."""


class OwnTools:
    """Our own tools over one catalogue, for one client."""

    def __init__(
        self,
        spellings: Spellings,
        facts: Callable[[], Mapping[str, ServerFacts]],
        statuses: Callable[[], Iterable[Status]],
        description_length: Callable[[], int],
        configuration_error: Callable[[], str | None] = lambda: None,
        finder: Callable[[], Finder] | None = None,
        notice: Callable[[], str] = lambda: "",
    ) -> None:
        """Make the tools.

        `configuration_error` gives the reason why the last edit of the file is not in effect, `notice` a sentence about
        the selection of the servers.
        """
        self._load_finder = finder or (lambda: load_finder(self._catalog, facts, statuses, InCommon()))
        self._spellings, self._catalog = spellings, spellings.catalog
        self._facts, self._statuses = facts, statuses
        self._description_length, self._configuration_error = description_length, configuration_error
        self._notice = notice
        self._tools: Mapping[str, Callable[[Mapping[str, Any], ShownNames, Audience], _Answer]] = {
            DESCRIBE: self._describe,
            LIST_SERVERS: self._list_servers,
        }

    @cached_property
    def _index(self) -> Finder:
        return self._load_finder()

    def advance(self) -> bool:
        """Index the catalogue for some milliseconds; return whether more is due.

        Called between other work, so that no call waits for a large index.
        """
        return self._index.advance()

    def ask(self, arguments: Mapping[str, Any], use: "Callable[[Meaning | None], None]") -> Callable[[], None]:
        """Give the meaning of a search's query to a function, once; `None` without one. Return what stops that."""
        query = arguments.get("query")
        return self.meaning_of(query if isinstance(query, str) else "", use)

    def wants_meaning(self, query: str) -> bool:
        """Return whether the meaning of a query may change the answer of a search, and may be found."""
        return self._index.wants_meaning(query)

    def meaning_of(
        self, query: str, use: "Callable[[Meaning | None], None]", patience_seconds: float | None = None
    ) -> Callable[[], None]:
        """Give the meaning of a query to a function, once; `None` without one. Return what stops that."""
        return self._index.ask(query, use, patience_seconds)

    def run(self, name: str, arguments: Mapping[str, Any], audience: Audience, meaning: "Meaning | None" = None) -> Raw:
        """Carry out one of our tools, except those that call by name; `meaning` is that of the query of a search.

        Wrong arguments are answered with a result that a model can act on.
        """
        shown = self._spellings.of(Kind.TOOLS, audience.profile)
        try:
            if name == SEARCH:
                text, structured = self._search(arguments, shown, meaning)
            else:
                text, structured = self._tools[name](arguments, shown, audience)
        except ArgumentError as exc:
            return payload.encode({"content": [{"type": "text", "text": str(exc)}], "isError": True})
        return payload.encode({"content": [{"type": "text", "text": text}], "structuredContent": structured})

    # search_tools

    def _search(self, arguments: Mapping[str, Any], shown: ShownNames, meaning: "Meaning | None") -> _Answer:
        if "query" not in arguments and arguments.keys() - {"limit", "server", "detail"}:
            raise ArgumentError(f"query is missing{instead(arguments, 'query')}")
        query = read_argument(arguments, "query", str, "")
        limit = max(1, min(read_argument(arguments, "limit", int, DEFAULT_LIMIT), MOST_RESULTS))
        detail = read_choice(arguments, "detail", SEARCH_DETAILS)
        statuses = list(self._statuses())
        servers = [status.server for status in statuses]
        server = read_server(read_argument(arguments, "server", str, ""), servers)
        missing = not_running(self._catalog, statuses, server)
        found, fits = self.found(query, limit, server, meaning)
        # Looked up again: a list may have changed while it was indexed.
        present = [now for each in found if (now := self._as_now(each, shown)) is not None]
        if not present:
            return self._nothing_found(query, server, servers, missing, shown)
        results = found_tools(present, shown, detail, self._description_length())
        kept, left_out = within_answer(results, len(present))
        lines = [result.text(position) for position, result in enumerate(kept, 1)]
        body: dict[str, Any] = {"results": [result.data() for result in kept]}
        if not fits:
            lines.insert(0, NOTHING_FITS)
            body = {"note": NOTHING_CLEAR, **body}
        if left_out:
            lines.append(f"{left_out} more left out: too long. Narrow the query, or use {DESCRIBE}.")
            body["leftOut"] = left_out
        if missing:
            lines.append(f"Not running: {missing}")
            body["notRunning"] = missing
        return "\n".join(lines), body

    def _as_now(self, found: Item | Skill, shown: ShownNames) -> Item | Skill | None:
        return self._catalog.skills().find(found.uri) if isinstance(found, Skill) else shown.spelled(found.name)

    def found(
        self, query: str, limit: int, server: str | None, meaning: "Meaning | None" = None
    ) -> tuple[list[Item | Skill], bool]:
        """Rank tools and skills for a query; return them, and whether the first clearly does what is asked for.

        An empty query lists all in order, tools first.
        """
        if not query.strip():
            everything: list[Item | Skill] = [*self._for_models(), *self._catalog.skills()]
            return [each for each in everything if server in (None, each.server)][:limit], True
        return self._index.search(query, limit, server, meaning)

    def _for_models(self) -> list[Item]:
        return [item for item in self._catalog.tools() if item.is_for_models]

    def explained(
        self, query: str, limit: int, server: str | None, meaning: "Meaning | None" = None
    ) -> "tuple[list[tuple[Item | Skill, Explanation]], bool]":
        """Rank tools and skills for a query, each with its explanation; return also whether the first clearly fits."""
        found, fits = self._index.search(query, limit, server, meaning)
        explained = [(each, self._index.explain(query, each, server, meaning)) for each in found]
        return [(each, why) for each, why in explained if why is not None], fits

    def _nothing_found(
        self, query: str, server: str | None, servers: Sequence[str], missing: str, shown: ShownNames
    ) -> _Answer:
        names = [shown[item] for item in self._for_models() if server in (None, item.server)]
        close = nearest(query, names)
        body: dict[str, Any] = {"results": [], "nearest": close, "servers": servers[:MOST_NAMED]}
        if missing:
            body["notRunning"] = missing
        if missing and server is not None:
            return f"Not running: {missing}. Servers: {enumerated(servers)}.", body
        text = f"No tool matches {query[:200]!r}." if query.strip() else "There are no tools."
        if close:
            text += f" Nearest names: {', '.join(close)}."
        text += f" Servers: {enumerated(servers)}."
        if notice := self._notice():
            text += f"\n{notice}"
            body["notice"] = notice
        return f"{text}\nNot running: {missing}" if missing else text, body

    # describe_tools, list_servers

    def _describe(self, arguments: Mapping[str, Any], shown: ShownNames, audience: Audience) -> _Answer:
        body = ToolDescriptions(self._catalog, list(self._statuses()), shown, audience).write(arguments)
        return on_one_line(payload.encode(body)), body

    def _list_servers(self, _arguments: Mapping[str, Any], _shown: ShownNames, _audience: Audience) -> _Answer:
        lines, servers = ServerReport(self._catalog, self._facts()).write(self._statuses())
        body: dict[str, Any] = {"servers": servers}
        if notice := self._notice():
            lines = [notice, *(lines if servers else [])]
            body["notice"] = notice
        if (error := self._configuration_error()) is not None:
            lines = [f"The last edit of the configuration has no effect: {error}", *lines]
            body["configurationError"] = error
        return "\n".join(lines), body
