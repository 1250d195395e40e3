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
    from search_mcp.gateway.meanings import Meanings
    from search_mcp.search import Explanation, Meaning


class Finder(Protocol):
    """An index of the catalogue's tools and skills that follows the catalogue."""

    def advance(self) -> bool:
        """Index tools and skills for some milliseconds; return whether more is due."""
        ...

    def wants_meaning(self, query: str) -> bool:
        """Return whether the meaning of a query may change the answer, and may be found."""
        ...

    def ask(
        self, query: str, use: "Callable[[Meaning | None], None]", patience_seconds: float | None = None
    ) -> Callable[[], None]:
        """Give the meaning of a query to a function, once, in a short time; return what stops that.

        `None` is given if there is no meaning, at once if none is wanted.
        """
        ...

    def search(
        self, query: str, limit: int, server: str | None, meaning: "Meaning | None" = None
    ) -> "tuple[list[Item | Skill], bool]":
        """Rank tools and skills for a query; return them, and whether the first clearly fits."""
        ...

    def explain(
        self, query: str, found: "Item | Skill", server: str | None = None, meaning: "Meaning | None" = None
    ) -> "Explanation | None":
        """Explain the rank of a tool or skill in a search of all servers, or of one."""
        ...


def load_finder(
    catalog: Catalog,
    facts: Callable[[], Mapping[str, ServerFacts]],
    statuses: Callable[[], Iterable[Status]],
    in_common: InCommon,
    meanings: "Callable[[], Meanings | None]" = lambda: None,
) -> Finder:
    """Load the search, which takes as long to load as all other modules; nothing is indexed yet.

    `meanings` gives the meanings of queries as the configuration has it now; `None` for a search by words alone.
    """
    module = import_module("search_mcp.gateway.tool_index")
    finder: Finder = module.ToolIndex(catalog, facts, statuses, in_common, meanings=meanings)
    return finder
