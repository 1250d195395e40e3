"""The entries that a search is for."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, get_args

from search_mcp.model.names import Kind
from search_mcp.wire.structs import Struct

Findable: TypeAlias = Literal["tools", "skills", "prompts", "resources"]
"""A kind of entries that is searched: `"tools"` are tools and skills, `"resources"` are resources and templates."""
OTHERS: Sequence[Findable] = get_args(Findable)[1:]
"""All but the default."""
LISTS: Mapping[Findable, frozenset[Kind]] = {
    "tools": frozenset({Kind.TOOLS, Kind.SKILLS}),
    "skills": frozenset({Kind.SKILLS}),
    "prompts": frozenset({Kind.PROMPTS}),
    "resources": frozenset({Kind.RESOURCES, Kind.TEMPLATES}),
}
"""The lists that are searched."""


class Wanted(Struct, frozen=True):
    """The entries that a search is for."""

    query: str
    limit: int
    server: str | None = None
    """The server whose entries are searched; `None` for all."""
    findable: Findable = "tools"
