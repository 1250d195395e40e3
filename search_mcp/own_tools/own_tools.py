"""The answers of our own tools: text for the model, and the same as `structuredContent`.

The names of these tools have no dot, so no server's tool can be mistaken for one. `call_tool` and `call_read_only_tool`
are carried out by `tool_calls`.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from search_mcp.catalog.in_common import InCommon
from search_mcp.catalog.items import Item
from search_mcp.catalog.profiles import Audience
from search_mcp.catalog.shown_names import ShownNames, Spellings
from search_mcp.catalog.skills import Skill
from search_mcp.model.names import Kind
from search_mcp.model.sentences import cut
from search_mcp.model.servers import ServerFacts, Status
from search_mcp.model.similar import nearest
from search_mcp.model.visible import one_line
from search_mcp.own_tools.arguments import (
    MOST_NAMED,
    ArgumentError,
    enumerated,
    instead,
    read_argument,
    read_choice,
    read_search_kind,
    read_server,
)
from search_mcp.own_tools.definitions import (
    DEFAULT_LIMIT,
    DESCRIBE,
    LIST_SERVERS,
    MOST_RESULTS,
    SEARCH,
    SEARCH_DETAILS,
)
from search_mcp.own_tools.findable import Found, entries, resource
from search_mcp.own_tools.finding import Finders
from search_mcp.own_tools.search_results import on_one_line, results_of, within_answer
from search_mcp.own_tools.server_report import ServerReport
from search_mcp.own_tools.stopped_servers import StoppedServers
from search_mcp.own_tools.tool_descriptions import ToolDescriptions
from search_mcp.own_tools.wanted import SearchKind, Wanted
from search_mcp.wire import payload
from search_mcp.wire.structs import Raw

if TYPE_CHECKING:
    from search_mcp.search import Explanation, Meaning

NOTHING_CLEAR: Mapping[SearchKind, str] = {
    "tools": "No tool of the connected servers clearly does this",
    "skills": "No skill of the connected servers is clearly about this",
    "prompts": "No prompt of the connected servers is clearly about this",
    "resources": "No resource of the connected servers is clearly about this",
}
"""The sentence for a search whose first result does not clearly fit."""

MOST_TOOLS = 500
"""Tools of a server that an answer names."""

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
        finders: Finders | None = None,
        notice: Callable[[], str] = lambda: "",
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """Make the tools.

        `configuration_error` gives the reason why the last edit of the file is not in effect, `notice` a sentence about
        the selection of the servers.
        """
        self._spellings, self._catalog = spellings, spellings.catalog
        self.finders = finders or Finders(self._catalog, facts, statuses, InCommon())
        self._facts, self._statuses = facts, statuses
        self._description_length, self._configuration_error = description_length, configuration_error
        self._notice, self._wall_clock, self._stopped = notice, wall_clock, StoppedServers(self._catalog)
        self._tools: Mapping[str, Callable[[Mapping[str, Any], Audience], _Answer]] = {
            DESCRIBE: self._describe,
            LIST_SERVERS: self._list_servers,
        }

    def run(self, name: str, arguments: Mapping[str, Any], audience: Audience, meaning: "Meaning | None" = None) -> Raw:
        """Carry out one of our tools, except those that call by name; `meaning` is that of the query of a search.

        Wrong arguments are answered with a result that a model can act on.
        """
        try:
            if name == SEARCH:
                text, structured = self._search(arguments, audience, meaning)
            else:
                text, structured = self._tools[name](arguments, audience)
        except ArgumentError as exc:
            return payload.encode({"content": [{"type": "text", "text": str(exc)}], "isError": True})
        return payload.encode({"content": [{"type": "text", "text": text}], "structuredContent": structured})

    # search_tools

    def _search(self, arguments: Mapping[str, Any], audience: Audience, meaning: "Meaning | None") -> _Answer:
        if "query" not in arguments and arguments.keys() - {"limit", "server", "kind", "detail"}:
            raise ArgumentError(f"query is missing{instead(arguments, 'query')}")
        query = read_argument(arguments, "query", str, "")
        limit = max(1, min(read_argument(arguments, "limit", int, DEFAULT_LIMIT), MOST_RESULTS))
        detail = read_choice(arguments, "detail", SEARCH_DETAILS)
        statuses = list(self._statuses())
        servers = [status.server for status in statuses]
        server = read_server(read_argument(arguments, "server", str, ""), servers)
        search_kind = read_search_kind(arguments)
        wanted = Wanted(query, limit, server, search_kind)
        shown = self._spellings.of(Kind.PROMPTS if search_kind == "prompts" else Kind.TOOLS, audience.profile)
        found, fits = self.found(wanted, meaning)
        # Looked up again: a list may have changed while it was indexed.
        present = [now for each in found if (now := self._as_now(each, shown)) is not None]
        if server is None:
            fitting = self._stopped.fitting(statuses, query, present[0].server if present and fits else None)
            missing = self._stopped.others(statuses, fitting)
        else:
            fitting, missing = {}, self._stopped.only(statuses, server)
        if not present:
            return self._nothing_found(wanted, servers, fitting, missing, shown)
        results = results_of(present, shown, detail, self._description_length(), are_prompts=search_kind == "prompts")
        kept, left_out = within_answer(results, len(present))
        lines = [result.text(position) for position, result in enumerate(kept, 1)]
        body: dict[str, Any] = {"results": [result.data() for result in kept]}
        notes = self.unknown_servers(wanted)
        if not fits:
            notes.append(f"{NOTHING_CLEAR[search_kind]}; nearest:")
        if notes:
            lines = [*notes, *lines]
            body = {"note": " ".join(notes).removesuffix("; nearest:"), **body}
        if fitting:
            lines = [*fitting.values(), *lines]
            body = {"mayDoThis": list(fitting.values()), **body}
        if left_out:
            remedy = f"Narrow the query, or use {DESCRIBE}." if search_kind == "tools" else "Narrow the query."
            lines.append(f"{left_out} more left out: too long. {remedy}")
            body["leftOut"] = left_out
        if missing:
            lines.append(f"Not running: {missing}")
            body["notRunning"] = missing
        return "\n".join(lines), body

    def _as_now(self, found: Found, shown: ShownNames) -> Found | None:
        if isinstance(found, Item):
            return shown.spelled(found.name)
        return self._catalog.skills().find(found.uri) if isinstance(found, Skill) else resource(self._catalog, found)

    def found(self, wanted: Wanted, meaning: "Meaning | None" = None) -> tuple[list[Found], bool]:
        """Rank entries for a query; return them, and whether the first clearly fits it.

        An empty query lists all in order, tools before skills.
        """
        if not wanted.query.strip():
            return list(islice(self._everything(wanted), wanted.limit)), True
        return self.finders[wanted.search_kind].search(wanted.query, wanted.limit, wanted.server, meaning)

    def unknown_servers(self, wanted: Wanted) -> list[str]:
        """Write a sentence for each server that a query names and that does not exist."""
        servers = [status.server for status in self._statuses()]
        sentences = []
        for name in self.finders[wanted.search_kind].unknown_servers(wanted.query):
            near = nearest(name, servers)
            others = f" ({'similar' if near else 'servers'}: {enumerated(near or servers)})" if servers else ""
            sentences.append(f"There is no server {cut(name)!r}{others}, so the name was searched as a word.")
        return sentences

    def explained(
        self, wanted: Wanted, meaning: "Meaning | None" = None
    ) -> "tuple[list[tuple[Found, Explanation]], bool]":
        """Rank entries for a query, each with its explanation; return also whether the first clearly fits."""
        finder = self.finders[wanted.search_kind]
        found, fits = finder.search(wanted.query, wanted.limit, wanted.server, meaning)
        explained = [(each, finder.explain(wanted.query, each, wanted.server, meaning)) for each in found]
        return [(each, why) for each, why in explained if why is not None], fits

    def _everything(self, wanted: Wanted) -> Iterator[Found]:
        found = entries(self._catalog, wanted.search_kind)
        return (each for each in found if wanted.server in (None, each.server))

    def _nothing_found(
        self, wanted: Wanted, servers: Sequence[str], fitting: Mapping[str, str], missing: str, shown: ShownNames
    ) -> _Answer:
        items = [each for each in self._everything(wanted) if isinstance(each, Item) or wanted.search_kind != "tools"]
        close = nearest(wanted.query, [shown[each] if isinstance(each, Item) else each.name for each in items])
        body: dict[str, Any] = {"results": [], "nearest": close, "servers": servers[:MOST_NAMED]}
        if fitting:
            body = {"mayDoThis": list(fitting.values()), **body}
        if missing:
            body["notRunning"] = missing
        if missing and wanted.server is not None:
            return f"Not running: {missing}. Servers: {enumerated(servers)}.", body
        noun = wanted.search_kind.removesuffix("s")
        text = f"No {noun} matches {wanted.query[:200]!r}." if wanted.query.strip() else f"There are no {noun}s."
        if close:
            text += f" Nearest names: {', '.join(close)}."
        text += f" Servers: {enumerated(servers)}."
        if notice := self._notice():
            text += f"\n{notice}"
            body["notice"] = notice
        lines = [*fitting.values(), text, *([f"Not running: {missing}"] if missing else [])]
        return "\n".join(lines), body

    # describe_tools, list_servers

    def _describe(self, arguments: Mapping[str, Any], audience: Audience) -> _Answer:
        shown = self._spellings.of(Kind.TOOLS, audience.profile)
        body = ToolDescriptions(self._catalog, list(self._statuses()), shown, audience).write(arguments)
        return on_one_line(payload.encode(body)), body

    def _list_servers(self, arguments: Mapping[str, Any], audience: Audience) -> _Answer:
        statuses = list(self._statuses())
        server = read_server(read_argument(arguments, "server", str, ""), [each.server for each in statuses])
        asked = [each for each in statuses if server in (None, each.server)]
        lines, servers = ServerReport(self._catalog, self._facts(), self._wall_clock()).write(asked)
        body: dict[str, Any] = {"servers": servers}
        if server is not None:
            names = self._names_of(server, audience)
            lines.append(f"Its tools: {enumerated(names, MOST_TOOLS)}")
            body["tools"] = names[:MOST_TOOLS]
        if notice := self._notice():
            lines = [notice, *(lines if servers else [])]
            body["notice"] = notice
        if (said := self._configuration_error()) is not None:
            error = one_line(said)
            lines = [f"The last edit of the configuration has no effect: {error}", *lines]
            body["configurationError"] = error
        return "\n".join(lines), body

    def _names_of(self, server: str, audience: Audience) -> list[str]:
        """Return the names of a server's tools as this client may call them."""
        shown = self._spellings.of(Kind.TOOLS, audience.profile)
        return [shown[each] for each in self._catalog.tools() if each.server == server and each.is_for_models]
