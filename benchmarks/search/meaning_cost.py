"""Cost of the search by meaning: time, memory and size on disk, with a real process that makes the vectors.

    python benchmarks/search/meaning_cost.py MODEL

Needs `psutil`. The 20,000 vectors are random numbers, because making them would take minutes; comparing them does not
depend on their values.
"""

import argparse
import itertools
import math
import statistics
import subprocess
import tempfile
import time
from array import array
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import numpy
import psutil
from engines import Tool
from run import HERE, TIMED_QUERIES, data_sets, document_of, grown, index_of, table

from search_mcp import search
from search_mcp.search.documents import POOL
from search_mcp.search.meaning import Meaning, text_of
from search_mcp.semantic import choice, models
from search_mcp.semantic.encoder import loaded
from search_mcp.semantic.lines import Compared, Local, Query, Texts
from search_mcp.semantic.meanings import Similarities
from search_mcp.semantic.vector_store import MOST_VECTORS, VectorStore
from search_mcp.wire import payload

SMALL, LARGE = 500, 20_000
BYTES_A_MEGABYTE = 1e6
LOOK_SECONDS = 0.2


class Process:
    """The process that makes vectors, and what it is asked."""

    def __init__(self, model: Path, file: Path) -> None:
        self.started = time.perf_counter()
        self._process = subprocess.Popen(choice.command(file), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._numbers = itertools.count()
        self._send(Local(str(model)))

    def use(self, texts: Sequence[str]) -> None:
        self._send(Texts(0, list(texts)))

    def ask(self, query: str) -> tuple[Compared, float]:
        """Ask for the similarities of a query; return them and the time in milliseconds."""
        began = time.perf_counter()
        self._send(Query(next(self._numbers), 0, query, POOL))
        assert self._process.stdout is not None
        answer = payload.typed(self._process.stdout.readline(), Compared)
        return answer, _milliseconds_since(began)

    def complete(self, query: str) -> None:
        """Wait until every text has a vector."""
        while self.ask(query)[0].missing:
            time.sleep(LOOK_SECONDS)

    @property
    def megabytes(self) -> float:
        """The resident memory."""
        return psutil.Process(self._process.pid).memory_info().rss / BYTES_A_MEGABYTE

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _send(self, line: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(payload.encode_bytes(line) + b"\n")
        self._process.stdin.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    model = parser.parse_args().model
    _, tools, asked = next(data_sets(HERE, ()))
    queries = [each["query"] for each in asked][:TIMED_QUERIES]
    with tempfile.TemporaryDirectory() as folder:
        _background(model, Path(folder) / "small.sqlite3", tools[:SMALL], queries)
        _queries(model, Path(folder) / "large.sqlite3", grown(tools, LARGE), queries)


def _background(model: Path, file: Path, tools: Sequence[Tool], queries: Sequence[str]) -> None:
    """Make the vectors of some hundred tools."""
    with closing(Process(model, file)) as process:
        process.use(search.texts_of(tools))
        process.ask(queries[0])
        first = time.perf_counter() - process.started
        process.complete(queries[0])
        whole = time.perf_counter() - process.started
        spent = sorted(process.ask(query)[1] for query in queries)
        lines = [
            ("the first answer, s after the start", first),
            (f"all vectors of {len(tools)} tools, s after the start", whole),
            ("a query, p50 ms", statistics.median(spent)),
            ("a query, p99 ms", _last(spent)),
            ("memory of the process, MB", process.megabytes),
            ("vectors on disk, MB", file.stat().st_size / BYTES_A_MEGABYTE),
            (
                "model on disk, MB",
                sum(each.stat().st_size for each in map(model.joinpath, models.read(model).digests)) / BYTES_A_MEGABYTE,
            ),
        ]
    table(("a process of low priority", "one run"), lines)


def _queries(model: Path, file: Path, tools: Sequence[Tool], queries: Sequence[str]) -> None:
    """Ask queries among many tools, as `serve` does: the process compares, then both halves are fused."""
    documents = [document_of(tool, tool["server"]) for tool in tools]
    texts = [text_of(document) for document in documents]
    names = [document.name for document in documents]
    positions = {name: position for position, name in enumerate(names)}
    _fill(model, file, texts)
    index = index_of(documents)

    def by_both(query: str) -> None:
        answer, _ = process.ask(query)
        nearest = [names[position] for position in answer.nearest]
        index.answer(query, 10, meaning=Meaning(Similarities(positions, array("f", answer.similarities)), nearest))

    with closing(Process(model, file)) as process:
        process.use(texts)
        process.complete(queries[0])
        lines = [
            ("by words", *_times(lambda query: index.answer(query, 10), queries)),
            ("the similarities, from the process", *_times(process.ask, queries)),
            ("by words and meaning, with both", *_times(by_both, queries)),
        ]
        table((f"a query among {len(tools):,} tools, ms", "p50", "p99"), lines)
        print(f"Memory of the process: {process.megabytes:.0f} MB.\n")


def _fill(model: Path, file: Path, texts: Sequence[str]) -> None:
    """Store random vectors for all texts."""
    encoder = loaded(model)
    store, width = VectorStore(file, encoder.identity), len(encoder.query("width"))
    chance = numpy.random.default_rng(1)
    wanted = list(dict.fromkeys(texts))[:MOST_VECTORS]
    rows = chance.standard_normal((len(wanted), width)).astype("<f4")
    rows /= numpy.linalg.norm(rows, axis=1, keepdims=True)
    store.write({text: row.astype("<f2").tobytes() for text, row in zip(wanted, rows, strict=True)})


def _times(act: Callable[[str], object], queries: Sequence[str]) -> tuple[float, float]:
    spent = []
    for query in queries:
        began = time.perf_counter()
        act(query)
        spent.append(_milliseconds_since(began))
    spent.sort()
    return statistics.median(spent), _last(spent)


def _last(spent: Sequence[float]) -> float:
    """Return the 99th percentile of sorted times."""
    return spent[math.ceil(len(spent) * 0.99) - 1]


def _milliseconds_since(began: float) -> float:
    return (time.perf_counter() - began) * 1e3


if __name__ == "__main__":
    main()
