"""Why a tool is where it is, for a person to read."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Contribution:
    """What one term of the query brings."""

    term: str
    factor: float  # how sure and how rare
    weight: float  # how strongly the tool speaks of it, 0 to 1
    fields: tuple[str, ...]

    def __str__(self) -> str:
        places = ", ".join(self.fields)
        return f"{self.factor * self.weight:8.3f}  {self.term} ({self.factor:.2f} * {self.weight:.2f}) in {places}"


@dataclass(frozen=True)
class Explanation:
    """The parts of one tool's score for one query."""

    name: str
    query: str
    name_match: str  # "exact name", "folded name", "server", or empty
    name_coverage: float  # share of the tool's name that was asked for
    contributions: tuple[Contribution, ...]
    missing: tuple[str, ...]  # terms of the query it does not hold

    @property
    def score(self) -> float:
        """The sum of the terms, before the whole request, its clauses and exact names are weighed."""
        return sum(part.factor * part.weight for part in self.contributions)

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.score:.3f} for {self.query!r}"]
        if self.name_match:
            lines.append(f"  first, by {self.name_match}")
        lines.extend(f"  {part}" for part in self.contributions)
        lines.append(f"  {self.name_coverage:.0%} of its name is asked for")
        if self.missing:
            lines.append(f"  not there: {', '.join(self.missing)}")
        return "\n".join(lines)
