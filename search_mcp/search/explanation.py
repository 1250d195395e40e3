"""Why a tool is where it is, for a person to read."""

from dataclasses import dataclass

from search_mcp.search.names import Match


@dataclass(frozen=True)
class Contribution:
    """What one term of the query brings."""

    term: str
    factor: float  # how surely it is meant, times how rare it is
    weight: float  # how strongly the tool speaks of it, 0 to 1
    fields: tuple[str, ...]

    @property
    def score(self) -> float:
        return self.factor * self.weight

    def __str__(self) -> str:
        return f"{self.score:8.3f}  {self.term} ({self.factor:.2f} * {self.weight:.2f}) in {', '.join(self.fields)}"


@dataclass(frozen=True)
class Explanation:
    """The parts of one tool's score for one query."""

    name: str
    query: str
    match: Match | None  # how the query names the tool outright, if it does
    name_coverage: float  # share of the tool's name that was asked for
    contributions: tuple[Contribution, ...]
    missing: tuple[str, ...]  # terms of the query it does not hold
    reason: str = ""  # the words that found it and where they stand, in short

    @property
    def score(self) -> float:
        """The sum of the terms, before names and clauses are weighed."""
        return sum(part.score for part in self.contributions)

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.score:.3f} for {self.query!r}"]
        if self.match:
            lines.append(f"  placed first: {self.match.name.lower().replace('_', ' ')}")
        if self.reason:
            lines.append(f"  found by: {self.reason}")
        lines.extend(f"  {part}" for part in self.contributions)
        lines.append(f"  {self.name_coverage:.0%} of its name is asked for")
        if self.missing:
            lines.append(f"  not there: {', '.join(self.missing)}")
        return "\n".join(lines)
