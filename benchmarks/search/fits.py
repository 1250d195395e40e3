"""Measure how often a search reports that no tool fits, with the right servers and without them.

python benchmarks/search/fits.py                            the recorded catalogue, all servers
python benchmarks/search/fits.py --servers 6 --seed 2       six random servers for each query
python benchmarks/search/fits.py --data DIR --name livemcp  a set in the evaluator's format
"""

import argparse
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from engines import Tool
from run import HERE, read_lines, table, tools_of

from search_mcp.search import Document, Index


def index_of(servers: Sequence[str], by_server: dict[str, list[Document]]) -> Index:
    index = Index()
    for server in servers:
        index.add(server, by_server[server])
    return index


def document(tool: Tool) -> Document:
    server, name = tool["server"], tool["tool"]
    return Document(f"{server}.{name}", server, name, tool["description"] or "", tool.get("inputSchema"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE, metavar="DIR")
    parser.add_argument("--name", default="recorded")
    parser.add_argument("--servers", type=int, help="number of servers in the catalogue; default: all")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    by_server: dict[str, list[Document]] = {}
    for tool in tools_of(options.data, options.name):
        by_server.setdefault(tool["server"], []).append(document(tool))
    asked, alarms, flagged = Counter[str](), Counter[str](), Counter[str]()
    for query in read_lines(options.data / f"{options.name}.queries.jsonl"):
        right = [server for server in by_server if any(name.startswith(f"{server}.") for name in query["relevant"])]
        others = sorted(by_server.keys() - set(right))
        if options.servers is not None:
            others = chance.sample(others, min(options.servers, len(others)))
        present = [*others[: max(0, (options.servers or len(by_server)) - len(right))], *right]
        asked[query["type"]] += 1
        alarms[query["type"]] += not index_of(present, by_server).answer(query["query"], 5).fits
        flagged[query["type"]] += not index_of(others, by_server).answer(query["query"], 5).fits
    lines = [(kind, count, alarms[kind] / count, flagged[kind] / count) for kind, count in asked.items()]
    table(("kind", "queries", "flagged with", "flagged without"), lines)


if __name__ == "__main__":
    main()
