"""Cross-validate a constant of the search, or list the synonyms that each data set gains from.

    python benchmarks/search/cross_validation.py --data DIR search_mcp.search.expansion:_SYNONYM 0.4 0.2
    python benchmarks/search/cross_validation.py --data DIR --mix livemcp+toucan --synonyms
    python benchmarks/search/cross_validation.py --data DIR --model MODEL search_mcp.search.meaning:_WEIGHT 1.3 0.0

For each data set, the value with the best mean nDCG@10 on the other sets is used. A mix belongs to the set of its
queries, so both are left out together. A value that is better only on the set that chose it was learnt by heart.
The first value is the present one, `--data` has at least two sets. The formats are those of run.py.
"""

import argparse
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

from engines import Searcher, ours
from run import HERE, averages, data_sets, measures, table

from search_mcp.search import expansion, word_lists
from search_mcp.search.analysis import words
from search_mcp.search.stems import stem

Rows = dict[tuple[str, str], float]
"""nDCG@10 by data set and kind of query."""
Asked = Sequence[Mapping[str, object]]


def set_of(name: str) -> str:
    """Return the data set that the queries of a set or mix are from."""
    return name.partition(" in ")[0]


def rows_of(searchers: Mapping[str, tuple[Searcher, Asked]]) -> Rows:
    return {
        (name, kind): means[0]
        for name, (searcher, queries) in searchers.items()
        for kind, means in averages(searcher, queries).items()
    }


def validate(searchers: Mapping[str, tuple[Searcher, Asked]], constant: str, values: Sequence[str]) -> None:
    """Print the rows of each value, and those of the value that the other sets choose."""
    module_name, _, attribute = constant.partition(":")
    module = import_module(module_name)
    kind = type(getattr(module, attribute))
    measured: dict[str, Rows] = {}
    for value in values:
        setattr(module, attribute, kind(value))
        measured[value] = rows_of(searchers)
    chosen = {left_out: _best_elsewhere(measured, left_out) for left_out in {set_of(name) for name in searchers}}
    lines: list[list[object]] = []
    for name, asked in measured[values[0]]:
        value = chosen[set_of(name)]
        shown = [measured[each][name, asked] for each in values]
        lines.append([f"{name}: {asked}", *shown, measured[value][name, asked], value])
    columns = list(zip(*lines, strict=True))[1:-1]
    lines.append(["**macro average**", *map(statistics.fmean, columns), ""])
    table((f"nDCG@10 by {attribute}", *values, "chosen by the other sets", "value"), lines)


def _best_elsewhere(measured: Mapping[str, Rows], left_out: str) -> str:
    def mean(value: str) -> float:
        return statistics.fmean(gain for (name, _), gain in measured[value].items() if set_of(name) != left_out)

    return max(measured, key=mean)


def synonyms(searchers: Mapping[str, tuple[Searcher, Asked]]) -> None:
    """Print the sum over the queries of each set of the nDCG@10 that each line of the synonyms adds."""
    lines = list(word_lists.lines(word_lists.SYNONYMS))
    groups = [[stem(word) for word in line.split()] for line in lines]
    containing: dict[str, list[int]] = defaultdict(list)
    for number, group in enumerate(groups):
        for word in group:
            containing[word].append(number)
    every = word_lists.synonyms()
    gains: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for name, (searcher, queries) in searchers.items():
        for query in queries:
            text, right = str(query["query"]), query["relevant"]
            asked = {number for word in words(text) for number in containing.get(stem(word.casefold()), ())}
            whole = measures(searcher(text, 10), right)[0]
            for number in asked:
                without = _without(every, groups, containing, number)
                expansion.synonyms = lambda without=without: without
                gains[number][set_of(name)] += whole - measures(searcher(text, 10), right)[0]
                expansion.synonyms = word_lists.synonyms
    sets = sorted({set_of(name) for name in searchers})
    notable = [
        (lines[number], gain) for number, gain in gains.items() if any(abs(each) > 0.05 for each in gain.values())
    ]
    notable.sort(key=lambda pair: -max(pair[1].values()))
    table(("synonyms", *sets), [[line, *(gain.get(each, 0.0) for each in sets)] for line, gain in notable])


def _without(
    every: Mapping[str, tuple[str, ...]],
    groups: Sequence[Sequence[str]],
    containing: Mapping[str, Sequence[int]],
    left_out: int,
) -> dict[str, tuple[str, ...]]:
    related = dict(every)
    for word in groups[left_out]:
        others = (other for number in containing[word] if number != left_out for other in groups[number])
        related[word] = tuple(other for other in dict.fromkeys(others) if other != word)
    return related


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("constant", nargs="?", help="MODULE:NAME")
    parser.add_argument("values", nargs="*", help="numbers, the present one first")
    parser.add_argument("--synonyms", action="store_true", help="list the synonyms that each set gains from")
    parser.add_argument("--data", type=Path, default=HERE)
    parser.add_argument("--mix", action="append", default=[])
    parser.add_argument("--model", type=Path, metavar="FOLDER", help="search by meaning, too; see meaning.py")
    options = parser.parse_args()
    if not options.synonyms and not options.values:
        parser.error("expected a constant and its values, or --synonyms")
    sets = data_sets(options.data, options.mix)
    build = import_module("meaning").hybrid(options.model) if options.model else ours
    searchers = {name: (build(tools), queries) for name, tools, queries in sets}
    if options.synonyms:
        synonyms(searchers)
    else:
        if len({set_of(name) for name in searchers}) < 2:
            parser.error("--data needs at least two data sets")
        validate(searchers, options.constant, options.values)


if __name__ == "__main__":
    main()
