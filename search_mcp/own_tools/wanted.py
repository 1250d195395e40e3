"""The entries that a search is for."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, get_args

from search_mcp.model.names import Kind
from search_mcp.wire.structs import Struct

SearchKind: TypeAlias = Literal["tools", "skills", "prompts", "resources"]
"""What a search covers: `"tools"` covers skills, too, `"skills"` skills alone, `"resources"` templates, too."""
OTHER_KINDS: Sequence[SearchKind] = get_args(SearchKind)[1:]
"""All but the default."""
LISTS_NEEDED: Mapping[SearchKind, frozenset[Kind]] = {
    "tools": frozenset({Kind.TOOLS, Kind.SKILLS}),
    "skills": frozenset({Kind.SKILLS}),
    "prompts": frozenset({Kind.PROMPTS}),
    "resources": frozenset({Kind.RESOURCES, Kind.TEMPLATES}),
}
"""The lists of a server that a search waits for."""


class Wanted(Struct, frozen=True):
    """The entries that a search is for."""

    query: str
    limit: int
    server: str | None = None
    """The server whose entries are searched; `None` for all."""
    search_kind: SearchKind = "tools"
