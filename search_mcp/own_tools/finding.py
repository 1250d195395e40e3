"""The search as our own tools see it; its modules are loaded with the first search."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.in_common import InCommon
from search_mcp.model.servers import ServerFacts, Status
from search_mcp.own_tools.wanted import SearchKind

if TYPE_CHECKING:
    from search_mcp.own_tools.findable import Found
    from search_mcp.search import Explanation, Meaning
    from search_mcp.semantic.meanings import Meanings


class Finder(Protocol):
    """An index of one kind of the catalogue's entries that follows the catalogue."""

    def advance(self) -> bool:
        """Index entries for some milliseconds; return whether more is due."""
        ...

    def wants_meaning(self, query: str) -> bool:
        """Return whether the meaning of a query may change the answer, and may be found."""
        ...

    def ask(self, query: str, use: "Callable[[Meaning | None], None]", patience_seconds: float | None = None) -> None:
        """Give the meaning of a query to a function, once, in a short time.

        `None` is given if there is no meaning, at once if none is wanted.
        """
        ...

    def search(
        self, query: str, limit: int, server: str | None, meaning: "Meaning | None" = None
    ) -> "tuple[list[Found], bool]":
        """Rank entries for a query; return them, and whether the first clearly fits."""
        ...

    def unknown_servers(self, query: str) -> list[str]:
        """Return the names after `server:` in a query that are no server's; they were searched as words."""
        ...

    def explain(
        self, query: str, found: "Found", server: str | None = None, meaning: "Meaning | None" = None
    ) -> "Explanation | None":
        """Explain the rank of an entry in a search of all servers, or of one."""
        ...


class Finders:
    """The indexes of one catalogue, by the kind of its entries; each is made with the first search of that kind."""

    def __init__(
        self,
        catalog: Catalog,
        facts: Callable[[], Mapping[str, ServerFacts]],
        statuses: Callable[[], Iterable[Status]],
        in_common: InCommon,
        meanings: "Callable[[], Meanings | None]" = lambda: None,
    ) -> None:
        """Make them; `meanings` gives the meanings of queries as the configuration has it now.

        It gives `None` for a search by words alone.
        """
        self._from = catalog, facts, statuses, in_common, meanings
        self._made: dict[SearchKind, Finder] = {}

    def __getitem__(self, search_kind: SearchKind) -> Finder:
        """Return the index of a kind; nothing is indexed before it is advanced."""
        if search_kind not in self._made:
            from search_mcp.own_tools.catalog_index import CatalogIndex  # takes as long to load as all other modules

            catalog, facts, statuses, in_common, meanings = self._from
            self._made[search_kind] = CatalogIndex(
                catalog, facts, statuses, in_common, meanings=meanings, search_kind=search_kind
            )
        return self._made[search_kind]
