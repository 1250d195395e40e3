"""Factors of a tool's score: for its name and that of its server in the query, and for its declared effect."""

from collections.abc import Callable, Container

from search_mcp.search.documents import Effect
from search_mcp.search.indexed_tools import IndexedTool
from search_mcp.search.postings import Terms

# In brackets: change of nDCG@10 without it, as the average over all development data.
_TOOL_NAME = 0.5  # added share of the score for a tool whose whole name is in the query (-.013)
_SERVER_NAME = 0.1  # the same for the name of its server (-.004)
# Factors for tools by declared effect. The development data declare none; chosen on the reference servers.
_VERB_MISSING = 0.9  # a destructive tool whose verb is not in the query: of nearly equal tools another comes first
_QUESTION = 0.6  # a tool that writes, for a question: "which", "what" and "is" ask to read
_WRITES = (Effect.ADDS, Effect.DESTROYS)


def boost(tool: IndexedTool, wanted: Terms, is_question: bool, rarity: Callable[[str], float]) -> float:
    """Return the factor for the score by words: for names that are in the query, and for the effect."""
    factor = 1.0
    if not wanted.keys().isdisjoint(tool.tool_terms):  # calls are slow
        factor += _TOOL_NAME * coverage(tool.tool_terms, wanted, rarity)
    if not wanted.keys().isdisjoint(tool.server_terms):
        factor += _SERVER_NAME * coverage(tool.server_terms, wanted, rarity)
    return factor * effect_factor(tool, wanted, is_question)


def effect_factor(tool: IndexedTool, terms: Container[str], is_question: bool) -> float:
    """Return the factor for an effect: less for a question if a tool writes, and if it destroys without its verb."""
    effect = tool.document.effect
    factor = _QUESTION if is_question and effect in _WRITES else 1.0
    return factor * _VERB_MISSING if effect is Effect.DESTROYS and tool.verb not in terms else factor


def coverage(name: tuple[str, ...], factors: Terms, rarity: Callable[[str], float]) -> float:
    """Return the share of a name that the query contains, weighted by rarity."""
    asked = whole = 0.0
    for term in name:
        whole += (rare := rarity(term))
        if term in factors:
            asked += min(rare, factors[term])
    return asked / whole if asked else 0.0
