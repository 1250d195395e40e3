"""Tables that fit the width of the terminal.

Decides which columns are left out, which cells are wrapped, and when each row becomes a block of lines instead.
Cells are cleaned, single lines. Pure, except for the console that measures and wraps.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

READABLE_COLUMN: Final = 24
"""Width in columns below which running text is placed under the other cells instead of beside them."""
READABLE_NAME: Final = 40
"""The same for names."""
_GAP: Final = 2
_NARROWEST_NAMES: Final = 16

Styled = Callable[[int, str], Text]
"""Returns a styled cell, given its position in the row and its text."""


@dataclass(frozen=True)
class Table:
    """A table.

    If a row has fewer cells than headings, its last cell spans the rest; a single cell is a heading of the rows below.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Sequence[str]
    """Headings of the right-aligned columns."""
    dispensable: Sequence[str]
    """Headings of the columns to leave out if the table is too wide, in this order."""
    is_cut: bool
    """Whether the last cell is cut to one line instead of wrapped."""
    has_names: bool
    """Whether the last cells are names, which are hard to read in parts."""
    legend: Mapping[str, str]
    """The meaning of headings; written below the table for the columns that are shown."""


def laid_out(table: Table, styled: Styled, console: Console) -> Iterator[Text]:
    """Yield a table as lines that fit the console."""
    positions = [*range(len(table.headings))]
    for left_out in (None, *table.dispensable):
        positions = [each for each in positions if table.headings[each] != left_out]
        grid = _Grid(table, positions, styled, console)
        if grid.fits():
            break
    yield from grid.lines() if grid.fits() else _stacked(table, positions, styled, console)
    shown = (table.headings[each] for each in positions)
    if legend := "; ".join(f"{each}: {table.legend[each]}" for each in shown if each in table.legend):
        yield Text()
        yield from _wrapped(Text(f"{legend}.", "dim"), 0, console)


class _Grid:
    """A table with some of its columns, and the cells of a row side by side."""

    def __init__(self, table: Table, positions: Sequence[int], styled: Styled, console: Console) -> None:
        self._table, self._positions, self._styled, self._console = table, positions, styled, console
        self._widths = {each: self._width(each) for each in positions}
        self._limit_names()

    def _width(self, position: int) -> int:
        spanning = len(self._table.headings) - 1
        cells = [row[position] for row in self._table.rows if position < len(row) - (len(row) <= spanning)]
        return max(map(cell_len, [self._table.headings[position], *cells]))

    def _limit_names(self) -> None:
        """Put a few long names on lines of their own, so that they do not narrow the texts of all rows."""
        if len(self._positions) != 2:
            return
        limit = max(_NARROWEST_NAMES, self._console.width * 2 // 5)
        lengths = [cell_len(row[0]) for row in self._table.rows if len(row) > 1]
        short = [length for length in lengths if length <= limit]
        if len(short) < len(lengths) <= 4 / 3 * len(short):
            self._widths[0] = max([*short, cell_len(self._table.headings[0])])

    def fits(self) -> bool:
        readable = READABLE_NAME if self._table.has_names else READABLE_COLUMN
        *before, last = self._widths.values()
        return sum(before) + min(last, readable) + _GAP * len(before) <= self._console.width

    def lines(self) -> Iterator[Text]:
        if any(self._table.headings):
            yield from self._line([Text(each, "bold") for each in self._table.headings])
        for row in self._table.rows:
            if len(row) == 1:
                yield from _wrapped(Text(row[0], "bold"), 0, self._console)
            else:
                yield from self._line([self._styled(position, cell) for position, cell in enumerate(row)])

    def _line(self, cells: Sequence[Text]) -> Iterator[Text]:
        last = self._positions[-1] if len(cells) == len(self._table.headings) else len(cells) - 1
        before = Text()
        for position in self._positions:
            if position >= last:
                break
            text = cells[position].copy()
            if cell_len(text.plain) > self._widths[position]:
                yield text
                text = Text()
            before += self._padded(text, position)
            before.append(" " * _GAP)
        text = cells[last].copy()
        if len(cells) == len(self._table.headings) and self._table.headings[last] in self._table.numbers:
            text = self._padded(text, last)
        indent = cell_len(before.plain)
        if self._table.is_cut:
            text.truncate(max(1, self._console.width - indent), overflow="ellipsis")
        for number, line in enumerate(text.wrap(self._console, max(1, self._console.width - indent)) or [Text()]):
            line.rstrip()
            whole = (before if number == 0 else Text(" " * indent)) + line
            whole.rstrip()
            yield whole

    def _padded(self, text: Text, position: int) -> Text:
        missing = self._widths[position] - cell_len(text.plain)
        if self._table.headings[position] in self._table.numbers:
            text.pad_left(missing)
        else:
            text.pad_right(missing)
        return text


def _stacked(table: Table, positions: Sequence[int], styled: Styled, console: Console) -> Iterator[Text]:
    """Yield a block of lines per row: the first cell, and the others below it."""
    has_labels = len(table.headings) > 2
    if has_labels and table.headings[0]:
        yield from _wrapped(Text(table.headings[0], "bold"), 0, console)
    for row in table.rows:
        if len(row) == 1:
            yield from _wrapped(Text(row[0], "bold"), 0, console)
            continue
        spans = len(row) < len(table.headings)
        for position, cell in enumerate(row):
            is_spanning = spans and position == len(row) - 1
            if not cell or (position not in positions and not is_spanning):
                continue
            heading = table.headings[position] if has_labels and position and not is_spanning else ""
            text = Text.assemble((heading and f"{heading}: ", "bold"), styled(position, cell))
            yield from _wrapped(text, 2 if position else 0, console)


def _wrapped(text: Text, indent: int, console: Console) -> Iterator[Text]:
    for line in text.wrap(console, max(1, console.width - indent)):
        line.rstrip()
        yield Text(" " * indent) + line
