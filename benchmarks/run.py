"""Measure search-mcp and other programs: one command, one table.

    python benchmarks/run.py                                    every measure of every subject
    python benchmarks/run.py --short                            fewer turns, backends and sizes
    python benchmarks/run.py --subjects floor,search-mcp --measures start,small-call
    python benchmarks/run.py --json FILE                        the raw numbers

A cell is the median of the turns, with its ratios to `direct` and `floor` in brackets. README.md describes the
subjects and the measures.
"""

import argparse
import dataclasses
import itertools
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import calls
import costs
import remote
import shared
import starts
from client import EndedError, OverdueError, WrongAnswerError
from readings import FULL, SHORT, Extent, Measure, Reading
from report import Report, Taken
from subjects import SUBJECTS, Backend, LeftRunningError, RemoteBackend, Server, SharedBackend, Subject

MEASURES: Mapping[str, Measure] = {
    "start": starts.start,
    "hindered-start": starts.hindered_start,
    "small-call": calls.small_call,
    "throughput": calls.throughput,
    "recorded-call": calls.recorded_call,
    "fairness": calls.fairness,
    "longest-wait": calls.longest_wait,
    "large-result": calls.large_result,
    "idle": costs.idle,
    "list-size": costs.list_size,
    "import": costs.import_time,
    "remote-call": remote.small_call,
    "remote-throughput": remote.throughput,
    "remote-result": remote.large_result,
    "remote-start": remote.start,
    "remote-modules": remote.modules,
    "shared-start": shared.start,
    "shared-call": shared.small_call,
    "shared-throughput": shared.throughput,
    "shared-memory": shared.memory,
}
KINDS: Mapping[str, type[Server]] = {"remote-": RemoteBackend, "shared-": SharedBackend}
"""Kinds of servers, by the beginning of the names of their measures."""
NOT_DIRECTLY = {"hindered-start", "fairness", "longest-wait", "idle", "remote-start", "remote-modules", "shared-start"}
"""Measures that are meaningless without a proxy between client and servers."""
OURS = {"recorded-call"}
"""Measures of search-mcp alone."""
FAILURES = (WrongAnswerError, EndedError, OverdueError, LeftRunningError, subprocess.CalledProcessError)


def take(subjects: Sequence[Subject], measures: Sequence[str], extent: Extent) -> tuple[list[Taken], list[str]]:
    """Take all measures of all subjects; return the readings and the failures.

    A subject that fails in a measure has no figures for it, even if it fails in the last turn.
    """
    taken: list[Taken] = []
    failures: list[str] = []
    for name in measures:
        chosen = [subject for subject in subjects if _is_measured(subject, name)]
        with tempfile.TemporaryDirectory(prefix="mcp-", ignore_cleanup_errors=True) as folder:
            taken += _interleaved(name, chosen, extent, Path(folder), failures)
    return taken, failures


def _is_measured(subject: Subject, measure: str) -> bool:
    """Return whether a subject can do what is measured."""
    if subject.name == "direct" and measure in NOT_DIRECTLY:
        return False
    if measure in OURS and subject.name != "search-mcp":
        return False
    kind = next((kind for beginning, kind in KINDS.items() if measure.startswith(beginning)), Backend)
    return kind in subject.reaches


def _interleaved(
    name: str, subjects: Sequence[Subject], extent: Extent, folder: Path, failures: list[str]
) -> list[Taken]:
    """Take one turn of every subject, then the next of each, every time in another order."""
    taken: dict[str, list[Taken]] = {subject.name: [] for subject in subjects}
    running = {subject.name: MEASURES[name](subject, extent, folder / subject.name) for subject in subjects}
    turn = 0
    while running:
        order = list(running)
        for subject in order[turn % len(order) :] + order[: turn % len(order)]:
            _say(f"{name}, turn {turn + 1}: {subject}")
            try:
                readings: list[Reading] | None = next(running[subject], None)
            except FAILURES as exc:
                failures.append(f"{subject}, {name}: {exc}")
                taken[subject].clear()
                readings = None
            if readings is None:
                del running[subject]
            else:
                taken[subject] += [Taken(subject, turn, reading) for reading in readings]
        turn += 1
    _say("")
    return list(itertools.chain.from_iterable(taken.values()))


def _say(what: str) -> None:
    """Print progress on stderr."""
    if sys.stderr.isatty():
        print(f"\r\033[K{what}", end="", file=sys.stderr, flush=True)


def about() -> dict[str, object]:
    """Return the facts needed to interpret the figures."""
    return {"python": platform.python_version(), "platform": platform.platform(), "processors": os.cpu_count()}


def parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser for the options that every run has."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measures", type=_names(MEASURES), default=list(MEASURES), help="with commas between")
    parser.add_argument("--turns", type=int, metavar="N", help="how often each subject is measured")
    parser.add_argument("--short", action="store_true", help="measure less")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the raw numbers")
    return parser


def _names(known: Mapping[str, object]) -> Callable[[str], list[str]]:
    def names(given: str) -> list[str]:
        if unknown := set(given.split(",")) - set(known):
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: choose from {', '.join(known)}")
        return given.split(",")

    return names


def run(subjects: Sequence[Subject], options: argparse.Namespace, references: Sequence[str]) -> int:
    """Measure and print according to the options; return the exit code."""
    extent = SHORT if options.short else FULL
    if options.turns:
        extent = dataclasses.replace(extent, turns=options.turns)
    taken, failures = take(subjects, options.measures, extent)
    report = Report(taken, references)
    print(report.table())
    for failure in failures:
        print(f"\n! {failure}")
    if options.json:
        options.json.write_text(report.json(about()), "utf-8")
    return 1 if failures else 0


def main() -> int:
    described = parser(__doc__)
    described.add_argument("--subjects", type=_names(SUBJECTS), default=list(SUBJECTS), help="with commas between")
    options = described.parse_args()
    references = ["direct", "floor", *(["search-mcp"] if "search-mcp-shared" in options.subjects else [])]
    return run([SUBJECTS[name]() for name in options.subjects], options, references)


if __name__ == "__main__":
    sys.exit(main())
