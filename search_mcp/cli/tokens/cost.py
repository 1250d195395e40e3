"""Tokens that the tools cost in a model's context, in each mode and over a session.

Counted are the name, description and parameters of each tool, which clients give to a model; the
instructions; and for a search its call and the text of its answer.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

from search_mcp.catalog.items import Item
from search_mcp.catalog.profiles import Listing
from search_mcp.catalog.rendering import full_definition, light_definition
from search_mcp.cli.session import Session
from search_mcp.cli.tokens.estimating import estimate
from search_mcp.model.names import State
from search_mcp.own_tools.definitions import SEARCH, definitions
from search_mcp.search.analysis import words
from search_mcp.wire import payload
from search_mcp.wire.structs import Fields

MODES: Final[Sequence[Listing]] = ("full", "light", "search")
assert {*MODES} == {*get_args(Listing)}
SESSIONS: Final = (0, 1, 3, 10, 30)
"""Numbers of searches in a session, one per row of the table."""
SAMPLES: Final = 50
"""Number of searches made to find the median cost of one."""
_READ_BY_MODELS = ("name", "description", "inputSchema")

ByMode = Mapping[Listing, int]


@dataclass(frozen=True)
class ServerCost:
    """Tokens that one server's tools cost."""

    server: str
    tools: int
    by_mode: ByMode


@dataclass(frozen=True)
class Cost:
    """Tokens that all servers cost."""

    servers: Sequence[ServerCost]
    own_tools: ByMode
    instructions: int
    directly: int
    """Cost without search-mcp: all definitions, and the servers' own instructions."""
    search: int
    """Median cost of a search: the model's call and our answer."""
    listing: Listing = "light"
    """Mode of the client's list."""

    @property
    def tools(self) -> int:
        return sum(each.tools for each in self.servers)

    def of_mode(self, mode: Listing) -> int:
        """Return the tokens at the start of a session in this mode."""
        return sum(each.by_mode[mode] for each in self.servers) + self.own_tools[mode] + self.instructions

    def of_session(self, mode: Listing, searches: int) -> int:
        """Return the tokens of a session; with the full list, no searches are needed."""
        return self.of_mode(mode) + (0 if mode == "full" else searches * self.search)

    def break_even(self, mode: Listing) -> int:
        """Return the number of searches up to which a session costs no more than with the full list."""
        return max(0, (self.of_mode("full") - self.of_mode(mode)) // self.search)

    def as_json(self) -> dict[str, Any]:
        return {
            "servers": [{"name": each.server, "tools": each.tools, **each.by_mode} for each in self.servers],
            "ownTools": self.own_tools,
            "instructions": self.instructions,
            "total": {mode: self.of_mode(mode) for mode in MODES},
            "directly": self.directly,
            "search": self.search,
            "breakEvenSearches": {mode: self.break_even(mode) for mode in MODES if mode != "full"},
            "sessions": [
                {"searches": count, **{mode: self.of_session(mode, count) for mode in MODES}} for count in SESSIONS
            ],
        }


def count(session: Session, samples: int = SAMPLES) -> Cost:
    """Estimate the tokens that the tools of a session cost its client; a search costs the median of some samples."""
    shown = session.shown_names()
    length = session.config.settings.description_length

    def listed(item: Item, mode: Listing) -> Iterable[Fields]:
        if mode == "full" or item.pinned:
            return [full_definition(item, shown[item], session.audience)]
        return [] if mode == "search" else [light_definition(item, shown[item], length)]

    def cost(server: str) -> ServerCost:
        items = [item for item in session.tools if item.server == server]
        by_mode = {mode: _count([each for item in items for each in listed(item, mode)]) for mode in MODES}
        return ServerCost(server, len(items), by_mode)

    servers = [cost(status.server) for status in session.statuses() if status.state in (State.READY, State.KNOWN)]
    profile = session.audience.profile
    is_whole = profile.reads_later_lists is not False

    def own(mode: Listing) -> Iterable[Fields]:
        return definitions(mode, is_whole=is_whole, call_tool=profile.call_tool, reads_results=profile.reads_results)

    instructions = [
        status.capabilities.instructions for status in session.statuses() if status.capabilities is not None
    ]
    return Cost(
        servers,
        {mode: _count(own(mode)) for mode in MODES},
        estimate(session.instructions()),
        sum(each.by_mode["full"] for each in servers) + sum(map(estimate, instructions)),
        _of_search(session, samples),
        session.audience.profile.listing,
    )


def _count(tools: Iterable[Fields]) -> int:
    read = ({key: tool[key] for key in _READ_BY_MODELS if key in tool} for tool in tools)
    return sum(estimate(payload.encode_text(each)) for each in read)


def _of_search(session: Session, samples: int) -> int:
    """Return the median cost of searches for a sample of the tools, by the words of their names."""
    items = session.tools[:: max(1, len(session.tools) // samples)]
    queries = [" ".join(words(item.own)) for item in items] or [""]
    return round(statistics.median(_of_query(session, query) for query in queries))


def _of_query(session: Session, query: str) -> int:
    answer = payload.value(session.own_tools.run(SEARCH, {"query": query}, session.audience))
    call = {"name": SEARCH, "arguments": {"query": query}}
    return estimate(payload.encode_text(call)) + estimate(answer["content"][0]["text"])
