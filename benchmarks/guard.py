"""Fail if search-mcp became several times slower than it is meant to be.

    python benchmarks/guard.py                  measure a little, and judge it
    python benchmarks/guard.py --read FILE      judge what run.py wrote with --json

Everything is judged as a ratio to the floor, by the best turn of each: a loaded machine makes turns worse, never
better. As long as anything is out of bounds everything is measured again, and only what is so every time counts. The
bounds are far from what is usual: they are there for a change that costs multiples, on a machine with other things to
do; compare.py is for the rest.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from readings import Extent
from report import Report, read, rounded
from run import take
from subjects import floor, search_mcp

MEASURES = ("start", "small-call", "throughput", "large-result")
LITTLE = Extent(3, (1, 10), 200, 0.5, (64,), (10,))
MOST_RUNS = 4
"""How often it is measured before what is out of bounds counts: other things to do spoil a run now and then."""


@dataclass(frozen=True, slots=True)
class Bound:
    """How many times the floor's figure is allowed: at most for what costs, at least for what is achieved."""

    row: str
    most: float | None = None
    least: float | None = None


BOUNDS = (
    Bound("second start, 1 backend: initialize, ms", most=10),
    Bound("second start, 10 backends: complete list, ms", most=5),
    Bound("small call, 1 backend: p50, ms", most=4),
    Bound("small call, 8 backends: p50, ms", most=4),
    Bound("calls a second, 64 in flight, 1 backend, /s", least=0.2),
    Bound("calls a second, 64 in flight, 8 backends, /s", least=0.08),
    Bound("10 MB result, ms", most=4),
)


def judge(report: Report) -> dict[str, str]:
    """Return what is out of bounds, each with a sentence; a row that is missing is."""
    complaints = {}
    rows = {report.label(row): row for row in report.rows}
    for bound in BOUNDS:
        ours, theirs = (report.values(rows.get(bound.row, ""), name) for name in ("search-mcp", "floor"))
        best = min if bound.most is not None else max
        if not ours or not theirs:
            complaints[bound.row] = f"{bound.row}: it was not measured"
            continue
        ratio = best(ours) / best(theirs)
        if bound.most is not None and ratio > bound.most:
            complaints[bound.row] = f"{bound.row}: {rounded(ratio)} times the floor's, more than {bound.most:g}"
        elif bound.least is not None and ratio < bound.least:
            complaints[bound.row] = f"{bound.row}: {rounded(ratio)} times the floor's, less than {bound.least:g}"
    return complaints


def _judged_until_content() -> dict[str, str]:
    """Measure and judge until nothing is left that was out of bounds every time."""
    complaints = dict.fromkeys((bound.row for bound in BOUNDS), "")
    for _ in range(MOST_RUNS):
        report = _measured()
        print(report.table())
        complaints = {row: said for row, said in judge(report).items() if row in complaints}
        if not complaints:
            break
    return complaints


def _measured() -> Report:
    taken, failures = take([floor(), search_mcp()], MEASURES, LITTLE)
    if failures:
        sys.exit("\n".join(failures))
    return Report(taken, ["floor"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--read", type=Path, metavar="FILE")
    options = parser.parse_args()
    complaints = judge(read(options.read.read_text("utf-8"), ["floor"])) if options.read else _judged_until_content()
    for complaint in complaints.values():
        print(f"! {complaint}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
