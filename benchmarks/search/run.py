"""Measure the search: quality of the results, speed, and size of the answers.

    python benchmarks/search/run.py                                         on the recorded catalogue beside this file
    python benchmarks/search/run.py --data DIR --mix livemcp+toucan         on any folder in the evaluator's format
    python benchmarks/search/run.py --speed                                 one part only; also --quality, --answers

A folder holds `NAME.tools.jsonl` (or `.gz`) and `NAME.queries.jsonl`. `--mix A+B` asks A's queries among the tools of
both. The tables are Markdown; README.md holds those of the recorded catalogue. Times are CPU time of one process.
"""

import argparse
import gzip
import json
import math
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from engines import ENGINES, Build, Searcher, Tool

from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.profiles import CANONICAL, Audience
from search_mcp.catalog.shown_names import Spellings
from search_mcp.config.schema import ServerConfig
from search_mcp.model.names import Kind, State
from search_mcp.model.servers import Entry, ServerFacts, ServerList, Status
from search_mcp.own_tools.own_tools import OwnTools
from search_mcp.search import Document, Index
from search_mcp.wire import payload

HERE = Path(__file__).parent
METRICS = ("nDCG@10", "recall@5", "hit@5")
SIZES = (1_000, 20_000)  # tools
TIMED_QUERIES = 200
SLOW_QUERIES = 20  # for engines that read every tool for every query
CHARACTERS_A_TOKEN = 4.3  # in answers in English, measured with the tokenizer o200k_base (npm gpt-tokenizer)


# The data


def read_lines(path: Path) -> list[dict[str, Any]]:
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def tools_of(folder: Path, name: str) -> list[dict[str, Any]]:
    plain = folder / f"{name}.tools.jsonl"
    return read_lines(plain if plain.exists() else plain.with_name(f"{plain.name}.gz"))


def data_sets(folder: Path, mixes: Sequence[str]) -> Iterator[tuple[str, list[dict[str, Any]], list[dict[str, Any]]]]:
    """Yield name, tools and queries."""
    suffix = ".queries.jsonl"
    for path in sorted(folder.glob(f"*{suffix}")):
        name = path.name.removesuffix(suffix)
        yield name, tools_of(folder, name), read_lines(path)
    for mix in mixes:
        name, _, others = mix.partition("+")
        queries = read_lines(folder / f"{name}{suffix}")
        # As in the evaluator: whole tasks with typing mistakes are left out of the mix.
        queries = [query for query in queries if not query["type"].startswith("task_")]
        yield f"{name} in {others}", tools_of(folder, name) + tools_of(folder, others), queries


# Quality


def measures(ranked: Sequence[str], relevant: Iterable[str]) -> tuple[float, ...]:
    """Return nDCG@10, recall@5 and hit@5 of one answer."""
    right = set(relevant)
    hits = [found in right for found in ranked[:10]]
    gain = sum(hit / math.log2(rank + 2) for rank, hit in enumerate(hits))
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(len(right), 10)))
    return gain / ideal, sum(hits[:5]) / len(right), float(any(hits[:5]))


def averages(searcher: Searcher, queries: Sequence[Mapping[str, Any]]) -> dict[str, tuple[float, ...]]:
    """Return the mean of each measure by kind of query."""
    by_kind: dict[str, list[tuple[float, ...]]] = {}
    for query in queries:
        measured = measures(searcher(query["query"], 10), query["relevant"])
        by_kind.setdefault(query["type"], []).append(measured)
    return {kind: tuple(map(statistics.fmean, zip(*rows, strict=True))) for kind, rows in by_kind.items()}


def quality(folder: Path, mixes: Sequence[str], engines: Mapping[str, Build]) -> None:
    rows: dict[str, tuple[int, list[tuple[float, ...]]]] = {}
    for name, tools, queries in data_sets(folder, mixes):
        found = [averages(build(tools), queries) for build in engines.values()]
        for kind in found[0]:
            count = sum(query["type"] == kind for query in queries)
            rows[kind if folder == HERE else f"{name}: {kind}"] = count, [each[kind] for each in found]
        print(f"{name}: {len(tools)} tools, {len(queries)} queries", file=sys.stderr)
    for position, metric in enumerate(METRICS):
        lines = [[kind, count, *(each[position] for each in found)] for kind, (count, found) in rows.items()]
        columns = zip(*(line[2:] for line in lines), strict=True)
        lines.append(["**macro average**", sum(line[1] for line in lines), *map(statistics.fmean, columns)])
        table((metric, "queries", *engines), lines)


# Speed


def grown(tools: Sequence[Tool], size: int) -> list[Tool]:
    """Grow a catalogue with copies that differ in the server, in one omitted word and in one changed word."""
    chance = random.Random(1)
    every = list(tools)
    chance.shuffle(every)
    for number in range(size - len(every)):
        tool = dict(every[chance.randrange(len(tools))])
        words = (tool["description"] or "").split(" ")
        if len(words) > 3:
            del words[chance.randrange(len(words))]
            words[chance.randrange(len(words))] += chance.choice(["s", "er", "ing", "x", str(chance.randrange(99))])
        tool.update(
            description=" ".join(words), server=f"{tool['server']}-{number % 97}", tool=f"{tool['tool']}_{number}"
        )
        every.append(tool)
    return every[:size]


def timed(act: Callable[[], Any]) -> tuple[float, Any]:
    """Call a function; return the CPU time in milliseconds and the result."""
    started = time.process_time()
    result = act()
    return (time.process_time() - started) * 1e3, result


def times_of(build: Build, tools: Sequence[Tool], queries: Sequence[str]) -> tuple[float, list[float]]:
    """Return the CPU time of building the index and of each query, in milliseconds."""
    build(tools[:20])  # warm up: imports are not measured
    built, searcher = timed(lambda: build(tools))
    probe, _ = timed(lambda: searcher(queries[0], 10))
    asked = queries[: SLOW_QUERIES if probe > 20 else None]
    return built, sorted(timed(lambda query=query: searcher(query, 10))[0] for query in asked)


def speed(folder: Path, mixes: Sequence[str], engines: Mapping[str, Build]) -> None:
    sets = list(data_sets(folder, mixes))
    _, tools, _ = max(sets, key=lambda each: len(each[1]))
    queries = [query["query"] for _, _, asked in sets for query in asked]
    random.Random(4).shuffle(queries)
    for size in SIZES:
        catalogue = grown(tools, size)
        measured = {name: times_of(build, catalogue, queries[:TIMED_QUERIES]) for name, build in engines.items()}
        index, reference = measured["SQLite FTS5"][0], statistics.fmean(measured["SQLite FTS5"][1])
        lines = []
        for name, (built, spent) in measured.items():
            mean, last = statistics.fmean(spent), spent[math.ceil(len(spent) * 0.99) - 1]
            lines.append([name, built, built / index, mean, mean / reference, last])
        heading = f"{size:,} tools"
        table((heading, "index ms", "/ FTS5", "query ms", "/ FTS5", "query p99 ms"), lines)
    come_and_go(grown(tools, SIZES[-1]))


def come_and_go(tools: Sequence[Tool]) -> None:
    """Measure adding a server of 50 tools to a large index, and removing it."""
    index = index_of(document_of(tool, tool["server"]) for tool in tools)
    guests = [document_of(tool, "guest") for tool in tools[:50]]
    rounds = [(timed(lambda: index.add("guest", guests))[0], timed(lambda: index.remove("guest"))[0]) for _ in range(9)]
    enters, leaves = (statistics.median(each) for each in zip(*rounds, strict=True))
    print(
        f"Adding a server of 50 tools to an index of {len(tools):,} takes {enters:.1f} ms, "
        f"removing it {leaves:.1f} ms.\n"
    )


def index_of(documents: Iterable[Document]) -> Index:
    """Index tools server by server."""
    by_server: dict[str, list[Document]] = {}
    for document in documents:
        by_server.setdefault(document.server, []).append(document)
    index = Index()
    for server, group in by_server.items():
        index.add(server, group)
    return index


def document_of(tool: Tool, server: str) -> Document:
    return Document(f"{server}.{tool['tool']}", server, tool["tool"], tool["description"], tool.get("inputSchema"))


# Answers


def answers(folder: Path, mixes: Sequence[str]) -> None:
    """Measure the size of the answers of `search_tools`."""
    lines = []
    for name, tools, queries in data_sets(folder, mixes):
        own = own_tools(tools)
        for detail in ("name", "signature", "full"):
            texts, data = zip(*(answer(own, query["query"], detail) for query in queries), strict=True)
            for label, sizes in (("text", sorted(texts)), ("structuredContent", sorted(data))):
                middle, late = sizes[len(sizes) // 2], sizes[int(len(sizes) * 0.95)]
                lines.append([f"{name}: {detail}, {label}", middle, middle / CHARACTERS_A_TOKEN, late, sizes[-1]])
    table(("five results", "median characters", "about tokens", "p95", "most"), lines)


def own_tools(tools: Sequence[Tool]) -> OwnTools:
    pages: dict[str, list[Entry]] = {}
    for tool in tools:
        schema = {"type": "object", **(tool.get("inputSchema") or {})}
        fields = {"description": payload.encode(tool["description"]), "inputSchema": payload.encode(schema)}
        pages.setdefault(tool["server"], []).append(Entry(tool["tool"], fields))
    catalog = Catalog([ServerConfig(name=server, command="x") for server in pages])
    for server, entries in pages.items():
        catalog.put(server, Kind.TOOLS, ServerList(tuple(entries)))
    facts = {server: ServerFacts("", ()) for server in pages}
    statuses = [Status(server, State.READY) for server in pages]
    return OwnTools(Spellings(catalog), lambda: facts, lambda: statuses, lambda: 120)


def answer(own: OwnTools, query: str, detail: str) -> tuple[int, int]:
    """Return the number of characters of an answer's text and of its data."""
    raw = own.run("search_tools", {"query": query, "detail": detail}, Audience(CANONICAL, False))
    result = json.loads(bytes(raw))
    data = json.dumps(result["structuredContent"], ensure_ascii=False, separators=(",", ":"))
    return len(result["content"][0]["text"]), len(data)


# The output


def table(heading: Sequence[object], lines: Iterable[Sequence[object]]) -> None:
    print(f"| {' | '.join(map(str, heading))} |")
    print(f"|---|{'---:|' * (len(heading) - 1)}")
    for line in lines:
        print(f"| {' | '.join(map(_cell, line))} |")
    print()


def _cell(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.3f}" if value < 10 else f"{value:,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE, metavar="DIR")
    parser.add_argument("--mix", action="append", default=[], metavar="A+B")
    parser.add_argument("--engines", default=",".join(ENGINES), help="by name, with commas between")
    for part in ("quality", "speed", "answers"):
        parser.add_argument(f"--{part}", action="store_true")
    parser.add_argument("--model", type=Path, metavar="FOLDER", help="compare the engines with a sentence model, too")
    options = parser.parse_args()
    engines = {name: ENGINES[name] for name in options.engines.split(",")}
    if options.model:
        engines |= import_module("meaning").engines_with(options.model)
    every = not (options.quality or options.speed or options.answers)
    if options.quality or every:
        quality(options.data, options.mix, engines)
    if options.speed or every:
        speed(options.data, options.mix, engines)
    if options.answers or every:
        answers(options.data, options.mix)


if __name__ == "__main__":
    main()
