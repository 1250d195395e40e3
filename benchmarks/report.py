"""Report of the readings, as a table and as JSON.

A figure is the median of a subject's turns. A ratio is the median of the turns' ratios: two subjects are compared
in the same turn, when they ran under the same load.
"""

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from readings import Reading


@dataclass(frozen=True, slots=True)
class Taken:
    """A reading and its source."""

    subject: str
    turn: int
    reading: Reading


class Report:
    """All readings of a run; `references` are the subjects that others are compared with."""

    def __init__(self, taken: Sequence[Taken], references: Sequence[str]) -> None:
        self._values: dict[tuple[str, str], dict[int, float | None]] = {}
        self._units: dict[str, str] = {}
        for each in taken:
            self._units[each.reading.row] = each.reading.unit
            self._values.setdefault((each.reading.row, each.subject), {})[each.turn] = each.reading.value
        self.subjects = list(dict.fromkeys(each.subject for each in taken))
        self._references = [each for each in references if each in self.subjects]

    @property
    def rows(self) -> list[str]:
        return list(self._units)

    def label(self, row: str) -> str:
        """Return a row's name with its unit."""
        return f"{row}, {self._units[row]}" if self._units[row] else row

    def values(self, row: str, subject: str) -> list[float]:
        """Return the readings turn by turn; infinity for a timeout."""
        return [math.inf if value is None else value for value in self._values.get((row, subject), {}).values()]

    def median(self, row: str, subject: str) -> float | None:
        values = self.values(row, subject)
        return statistics.median(values) if values else None

    def ratio(self, row: str, subject: str, reference: str) -> float | None:
        """Return the ratio of a subject's figure to the reference's; None if one of them is missing."""
        ours, theirs = (self._values.get((row, each), {}) for each in (subject, reference))
        pairs = [(ours[turn], theirs.get(turn)) for turn in ours]
        ratios = [value / other for value, other in pairs if value is not None and other]
        return statistics.median(ratios) if pairs and len(ratios) == len(pairs) else None

    def table(self) -> str:
        """Return a Markdown table: figures, and in brackets their ratios to each reference."""
        heading = f"| | {' | '.join(self.subjects)} |\n|---|{'---:|' * len(self.subjects)}"
        lines = [[self.label(row), *(self._cell(row, subject) for subject in self.subjects)] for row in self.rows]
        return "\n".join([heading, *(f"| {' | '.join(cells)} |" for cells in lines)])

    def _cell(self, row: str, subject: str) -> str:
        value = self.median(row, subject)
        if value is None or math.isinf(value):
            return "" if value is None else "none"
        others = (
            self._references[: self._references.index(subject)] if subject in self._references else self._references
        )
        ratios = [self.ratio(row, subject, reference) for reference in others]
        shown = ", ".join("–" if ratio is None else rounded(ratio) for ratio in ratios)
        return f"{rounded(value)} ({shown})" if any(ratios) else rounded(value)

    def json(self, about: Mapping[str, object]) -> str:
        """Return the readings of every turn as JSON, after the facts about the run."""
        readings = [
            {"row": row, "unit": self._units[row], "subject": subject, "values": list(values.values())}
            for (row, subject), values in self._values.items()
        ]
        return json.dumps({**about, "readings": readings}, indent=1) + "\n"


def read(text: str, references: Sequence[str]) -> Report:
    """Parse the JSON of a run."""
    return Report(
        [
            Taken(each["subject"], turn, Reading(each["row"], each["unit"], value))
            for each in json.loads(text)["readings"]
            for turn, value in enumerate(each["values"])
        ],
        references,
    )


def rounded(value: float) -> str:
    """Return a number with its significant digits."""
    if value >= 100 or value == 0:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
