"""Measure the ranks of right tools, and how often a search reports that no tool fits.

python benchmarks/search/fits.py                            the queries of honesty.jsonl; also with --model MODEL
python benchmarks/search/fits.py --servers 6 --seed 2       each query of the recorded ones, with and without the right
                                                            servers, among six random servers
python benchmarks/search/fits.py --servers 6 --data DIR --name livemcp
                                                            the same with a set in the evaluator's format
"""

import argparse
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import Any

from engines import Tool
from run import HERE, document_of, index_of, measures, read_lines, table, tools_of

from search_mcp.search import Answer, Document, compared, text_of

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


def honesty(ask: Ask, queries: Sequence[Mapping[str, Any]]) -> None:
    """Print the ranks, the false alarms and the misses of each kind of query."""
    lines = [_line(kind, ask, [each for each in queries if each["type"] == kind]) for kind in _kinds(queries)]
    lines.append(_line("**all**", ask, queries))
    table(("kind", "queries", "hit@1", "hit@3", "hit@5", "nDCG@10", "false alarms", "of none", "misses"), lines)


def _line(kind: str, ask: Ask, queries: Sequence[Mapping[str, Any]]) -> list[object]:
    found = [(ask(query["query"]), query["relevant"]) for query in queries]
    right = [(answer, [hit.name for hit in answer.hits], wanted) for answer, wanted in found if wanted]
    hits = [fmean(not set(names[:most]).isdisjoint(wanted) for _, names, wanted in right) for most in (1, 3, 5)]
    gain = fmean(measures(names, wanted)[0] for _, names, wanted in right)
    alarms = fmean(not answer.fits for answer, _, _ in right)
    none = [answer.fits for answer, wanted in found if not wanted]
    return [kind, len(right), *hits, gain, alarms, len(none), fmean(none) if none else ""]


def _kinds(queries: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(each["type"] for each in queries))


def without_servers(options: argparse.Namespace) -> None:
    """Print how often a query is answered with "nothing fits", with its right servers and without them."""
    chance = random.Random(options.seed)
    by_server: dict[str, list[Document]] = {}
    for tool in tools_of(options.data, options.name):
        by_server.setdefault(tool["server"], []).append(document_of(tool, tool["server"]))
    asked, alarms, flagged = Counter[str](), Counter[str](), Counter[str]()
    for query in read_lines(options.data / f"{options.name}.queries.jsonl"):
        right = [server for server in by_server if any(name.startswith(f"{server}.") for name in query["relevant"])]
        others = chance.sample(rest := sorted(by_server.keys() - set(right)), min(options.servers, len(rest)))
        present = [*others[: max(0, options.servers - len(right))], *right]
        asked[query["type"]] += 1
        for servers, count in ((present, alarms), (others, flagged)):
            index = index_of(document for server in servers for document in by_server[server])
            count[query["type"]] += not index.answer(query["query"], 5).fits
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
        honesty(asking(tools_of(HERE, "recorded"), options.model), read_lines(HERE / "honesty.jsonl"))


if __name__ == "__main__":
    main()
