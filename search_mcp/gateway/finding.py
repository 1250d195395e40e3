"""The search as our own tools see it; its modules are loaded with the first search."""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.items import Item
from search_mcp.gateway.in_common import InCommon
from search_mcp.model.servers import ServerFacts, Status

if TYPE_CHECKING:
    from search_mcp.catalog.skills import Skill
    from search_mcp.search import Explanation


class Finder(Protocol):
    """An index of the catalogue's tools and skills that follows the catalogue."""

    def advance(self) -> bool:
        """Index tools and skills for some milliseconds; return whether more is due."""
        ...

    def search(self, query: str, limit: int, server: str | None) -> "tuple[list[Item | Skill], bool]":
        """Rank tools and skills for a query; return them, and whether the first clearly fits."""
        ...

    def explain(self, query: str, found: "Item | Skill") -> "Explanation | None": ...


def load_finder(
    catalog: Catalog,
    facts: Callable[[], Mapping[str, ServerFacts]],
    statuses: Callable[[], Iterable[Status]],
    in_common: InCommon,
) -> Finder:
    """Load the search, which takes as long to load as all other modules; nothing is indexed yet."""
    finder: Finder = import_module("search_mcp.gateway.tool_index").ToolIndex(catalog, facts, statuses, in_common)
    return finder
