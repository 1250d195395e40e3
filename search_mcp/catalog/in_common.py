"""Values that the clients of one process have in common: each is made once for equal lists and configurations.

A value is never changed while a client may use it as it is, and lives as long as a client uses it.
"""

from typing import Any
from weakref import WeakSet

from search_mcp.catalog.named_items import NamedOnce


class InCommon:
    """The values that are in use now."""

    def __init__(self) -> None:
        self.named_once = NamedOnce()
        self.indexes: WeakSet[Any] = WeakSet()
        """Each `SharedIndex` of `catalog_index`, which is loaded with the first search."""
        self.meanings: dict[Any, Any] = {}
        """Each `Meanings` in use, by what makes its vectors."""
