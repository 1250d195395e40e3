"""Measure the ranks of right tools, and how often a search reports that no tool fits.

python benchmarks/search/fits.py                            the queries of honesty.jsonl; with --model MODEL, each
                                                            share without the model, and with it
python benchmarks/search/fits.py --servers 6 --seed 2       each query of the recorded ones, with and without the right
                                                            servers, among six random servers
python benchmarks/search/fits.py --servers 6 --data DIR --name livemcp
                                                            the same with a set in the evaluator's format
"""

import argparse
import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import Any

from engines import Tool
from run import HERE, document_of, index_of, measures, read_lines, table, tools_of

from search_mcp.search import Answer, compared, text_of

MEASURES = ("hit@1", "hit@3", "hit@5", "nDCG@10", "false alarms", "right first", "misses")
Ask = Callable[[str], Answer]


def asking(tools: Sequence[Tool], model: Path | None) -> Ask:
    """Return the function that answers a query."""
    documents = [document_of(tool, tool["server"]) for tool in tools]
    index = index_of(documents)
    if model is None:
        return lambda query: index.answer(query, 10)
    compare = import_module("meaning").comparing(model)(list(map(text_of, documents)))
    names = [document.name for document in documents]

    def ask(query: str) -> Answer:
        similarities = dict(zip(names, compare(query), strict=True))
        return index.answer(query, 10, meaning=compared(similarities, knows_all_languages=True))

    return ask


def honesty(engines: Sequence[Ask], queries: Sequence[Mapping[str, Any]]) -> None:
    """Print the ranks of each kind of query, its false alarms and its misses, as shares of queries, for each engine."""
    kinds = [*dict.fromkeys(each["type"] for each in queries), ""]
    lines: list[list[object]] = []
    for kind in kinds:
        some = [each for each in queries if kind in each["type"]]
        found = [_shares(ask, some) for ask in engines]
        right = sum(bool(each["relevant"]) for each in some)
        cells = (", ".join(map("{:.2f}".format, each)) for each in zip(*found, strict=True))
        lines.append([kind or "**all**", right, len(some) - right, *cells])
    table(("kind", "queries", "none fits", *MEASURES), lines)


def _shares(ask: Ask, queries: Sequence[Mapping[str, Any]]) -> list[float]:
    right, misses = [], []
    for query in queries:
        answer, wanted = ask(query["query"]), set(query["relevant"])
        if not wanted:
            misses.append(answer.fits)
            continue
        names = [hit.name for hit in answer.hits]
        hits = [not wanted.isdisjoint(names[:most]) for most in (1, 3, 5)]
        alarm = not answer.fits
        right.append((*hits, measures(names, wanted)[0], alarm, alarm and hits[0]))
    return [*map(fmean, zip(*right, strict=True)), fmean(misses or [math.nan])]


def without_servers(options: argparse.Namespace) -> None:
    """Print how often a query is answered with "nothing fits", with its right servers and without them."""
    chance = random.Random(options.seed)
    by_server: dict[str, list[Tool]] = {}
    for tool in tools_of(options.data, options.name):
        by_server.setdefault(tool["server"], []).append(tool)
    asked, alarms, flagged = Counter[str](), Counter[str](), Counter[str]()
    for query in read_lines(options.data / f"{options.name}.queries.jsonl"):
        right = [server for server in by_server if any(name.startswith(f"{server}.") for name in query["relevant"])]
        others = chance.sample(rest := sorted(by_server.keys() - set(right)), min(options.servers, len(rest)))
        present = [*others[: max(0, options.servers - len(right))], *right]
        asked[query["type"]] += 1
        for servers, count in ((present, alarms), (others, flagged)):
            ask = asking([tool for server in servers for tool in by_server[server]], options.model)
            count[query["type"]] += not ask(query["query"]).fits
    lines = [(kind, count, alarms[kind] / count, flagged[kind] / count) for kind, count in asked.items()]
    table(("kind", "queries", "flagged with", "flagged without"), lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, metavar="FOLDER", help="search by meaning, too; see meaning.py")
    parser.add_argument("--servers", type=int, help="number of servers in the catalogue")
    parser.add_argument("--data", type=Path, default=HERE, metavar="DIR")
    parser.add_argument("--name", default="recorded")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.servers is not None:
        without_servers(options)
    else:
        tools = tools_of(HERE, "recorded")
        engines = [asking(tools, model) for model in dict.fromkeys((None, options.model))]
        honesty(engines, read_lines(HERE / "honesty.jsonl"))


if __name__ == "__main__":
    main()
