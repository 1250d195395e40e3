"""Explanation of a tool's rank, for a person to read."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from search_mcp.search.names import Match

_NAMED: Mapping[Match, str] = MappingProxyType(
    {
        Match.SERVER: "the server",
        Match.FOLDED_NAME: "the tool, in another spelling",
        Match.TOOL_NAME: "the tool",
        Match.FULL_NAME: "the server and the tool, in another spelling",
        Match.CANONICAL_NAME: "the server and the tool",
    }
)


@dataclass(frozen=True)
class Contribution:
    """The part of a score that one term of the query adds."""

    term: str
    word: str  # a whole word with this term, for a person
    factor: float  # certainty that the term is meant, times its rarity
    weight: float  # weight of the term in the tool, 0 to 1
    fields: tuple[str, ...]

    @property
    def score(self) -> float:
        return self.factor * self.weight

    def __str__(self) -> str:
        return f"{self.score:8.3f}  {self.word} ({self.factor:.2f} * {self.weight:.2f}) in {', '.join(self.fields)}"


@dataclass(frozen=True)
class Explanation:
    """The parts of one tool's score for one query."""

    name: str
    query: str
    match: Match | None  # how the whole query names the tool, if it does
    name_coverage: float  # share of the tool's name that the query contains
    contributions: tuple[Contribution, ...]
    missing: tuple[str, ...]  # words of the query that the tool does not contain
    reason: str = ""  # the words that found the tool and their places, in short
    similarity: float | None = None  # of the meanings of the query and the tool, if it is known
    meaning_factor: float = 0.0  # score of a similarity of 1 for this query

    boost: float = 1.0  # factor for the names of the tool and its server, and its effect

    @property
    def meaning_score(self) -> float:
        """Part of the score for the similarity of meaning."""
        return self.meaning_factor * max(self.similarity or 0.0, 0.0)

    @property
    def score(self) -> float:
        """Score that ranks the tool, without the bonuses for parts of a long request and for an exact name."""
        return sum(part.score for part in self.contributions) * self.boost + self.meaning_score

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.score:.3f} for {self.query!r}"]
        if self.match:
            lines.append(f"  ranked first: the query is the name of {_NAMED[self.match]}")
        if self.reason:
            lines.append(f"  matching words: {self.reason}")
        lines.extend(f"  {part}" for part in self.contributions)
        lines.append(f"   * {self.boost:.3f}  for the names of the tool and its server, and its effect")
        if self.similarity is not None and self.meaning_factor:
            lines.append(
                f"  {self.meaning_score:8.3f}  similar meaning ({self.meaning_factor:.2f} * {self.similarity:.2f})"
            )
        lines.append(f"  {self.name_coverage:.0%} of the name matches")
        if self.missing:
            lines.append(f"  not found: {', '.join(self.missing)}")
        return "\n".join(lines)
