"""Fail if search-mcp became several times slower than intended.

    python benchmarks/guard.py                  measure briefly, and judge
    python benchmarks/guard.py --read FILE      judge the output of run.py --json

Every figure is judged as a ratio to that of the floor or, where clients share an engine, to that of search-mcp without
it, by the best turn of each: load on the machine makes turns worse, never better. While a figure is out of bounds the
measures are repeated, and only figures out of bounds every time count. The bounds are far from the usual figures: they
detect a change that multiplies a cost, on a machine with other work to do. Use compare.py for smaller changes.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from readings import Extent
from report import Report, read, rounded
from run import take
from subjects import floor, search_mcp, search_mcp_shared

MEASURES = (
    "start",
    "small-call",
    "throughput",
    "large-result",
    "remote-call",
    "remote-throughput",
    "shared-start",
    "shared-call",
    "shared-throughput",
    "shared-memory",
)
LITTLE = Extent(3, (1, 10), 200, 0.5, (64,), (10,))
MOST_RUNS = 4
"""Number of runs before a figure out of bounds counts: other work on the machine spoils a run now and then."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Limit of a ratio to another subject's figure: the most for costs, the least for throughput."""

    row: str
    most: float | None = None
    least: float | None = None
    subject: str = "search-mcp"
    reference: str = "floor"


def _shared(row: str, most: float | None = None, least: float | None = None, reference: str = "floor") -> Bound:
    return Bound(row, most, least, "search-mcp-shared", reference)


BOUNDS = (
    Bound("second start, 1 backend: initialize, ms", most=10),
    Bound("second start, 10 backends: complete list, ms", most=5),
    Bound("small call, 1 backend: p50, ms", most=4),
    Bound("small call, 8 backends: p50, ms", most=4),
    Bound("calls a second, 64 in flight, 1 backend, /s", least=0.2),
    Bound("calls a second, 64 in flight, 8 backends, /s", least=0.08),
    Bound("processor time of a call, 64 in flight, 1 backend, µs", most=4),
    Bound("processor time of a call, 64 in flight, 8 backends, µs", most=8),
    Bound("10 MB result, ms", most=4),
    Bound("small remote call, answers in JSON: p50, ms", most=4),
    Bound("small remote call, answers in streams: p50, ms", most=4),
    Bound("remote calls a second, 64 in flight, /s", least=0.2),
    Bound("processor time of a remote call, 64 in flight, µs", most=3),
    _shared("start beside a client: initialize, ms", most=1, reference="search-mcp"),
    _shared("start of the first client: initialize, ms", most=6, reference="search-mcp"),
    _shared("small call of one of 6 clients: p50, ms", most=4),
    _shared("calls a second of 12 busy clients, /s", least=0.2),
    _shared("processor time of a call of 12 busy clients, µs", most=6),
    _shared("6 clients of 6 servers: memory of all processes, MB", most=0.5, reference="search-mcp"),
    _shared("6 clients of 6 servers: server processes", most=0.17, reference="search-mcp"),
    _shared("6 clients of 6 servers: memory of the process that a client starts, MB", most=1.2),
)


def judge(report: Report) -> dict[str, str]:
    """Return the figures out of bounds, with a sentence each; a missing row is out of bounds."""
    complaints = {}
    rows = {report.label(row): row for row in report.rows}
    for bound in BOUNDS:
        names = bound.subject, bound.reference
        ours, theirs = (report.values(rows.get(bound.row, ""), name) for name in names)
        best = min if bound.most is not None else max
        if not ours or not theirs:
            complaints[bound.row] = f"{bound.row}: it was not measured"
            continue
        ratio = best(ours) / best(theirs)
        if bound.most is not None and ratio > bound.most:
            complaints[bound.row] = f"{bound.row}: {rounded(ratio)} times {bound.reference}'s, more than {bound.most:g}"
        elif bound.least is not None and ratio < bound.least:
            complaints[bound.row] = (
                f"{bound.row}: {rounded(ratio)} times {bound.reference}'s, less than {bound.least:g}"
            )
    return complaints


def _judged_until_content() -> dict[str, str]:
    """Measure and judge until no figure was out of bounds every time, or the runs are used up."""
    complaints = dict.fromkeys((bound.row for bound in BOUNDS), "")
    for _ in range(MOST_RUNS):
        report = _measured()
        print(report.table())
        complaints = {row: said for row, said in judge(report).items() if row in complaints}
        if not complaints:
            break
    return complaints


def _measured() -> Report:
    taken, failures = take([floor(), search_mcp(), search_mcp_shared()], MEASURES, LITTLE)
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
