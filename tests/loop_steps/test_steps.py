"""No step of the event loop takes longer than 50 ms, whatever a server sends.

Steps are measured by the processor time of the thread, and compared with a fixed piece of work that is measured right
before and after them, so that neither a busy nor a slow machine decides. Steps of several times the limit are what this
is after: most of the corpus took 0.2 s, several seconds or for ever before there were bounds.
"""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loop_steps.corpus import CORPUS, LARGE
from loop_steps.visit import TOOL, Hostile, Json, Visit

REFERENCE_SECONDS = 0.002
"""What the fixed piece of work takes on the machine where 50 ms are 50 ms."""
LIMIT_SECONDS = 0.050
TOLERANCE = 4.0
"""Garbage collections, cold caches and virtual machines make a step longer than its work."""


def work() -> None:
    """Do a fixed amount of what search-mcp does: look into dictionaries, cut and join texts."""
    table = {f"name {number}": number for number in range(4000)}
    "".join(key[:4].upper() for key in table if table[key] % 3)
    sorted(table, key=lambda key: key[::-1])


def slowness() -> float:
    """Return how many times longer this machine takes now."""
    taken = []
    for _ in range(15):
        started = time.thread_time()
        work()
        taken.append(time.thread_time() - started)
    return max(1.0, median(taken) / REFERENCE_SECONDS)


LIMIT = LIMIT_SECONDS * TOLERANCE


@pytest.fixture(autouse=True)
def undisturbed() -> Iterator[None]:
    """Log nothing, since pytest keeps every line, and measure no coverage, which takes longer than the steps."""
    logging.disable(logging.CRITICAL)
    tracing = sys.gettrace()
    sys.settrace(None)
    yield
    sys.settrace(tracing)
    logging.disable(logging.NOTSET)


def longest(make: Callable[[], Hostile], folder: Path, limit: float = LIMIT, **options: Any) -> tuple[str, float]:
    """Return the longest step of a visit, in the time of the reference; of three visits if it is over the limit."""
    steps = []
    for attempt in ("first", "second", "third"):
        visit = Visit(make(), folder / attempt, **options)
        before = slowness()
        visit.goes()
        label, seconds = visit.longest()
        steps.append((label, seconds / max(before, slowness())))
        if steps[-1][1] <= limit:
            break
    return min(steps, key=lambda step: step[1])


ALWAYS = {
    *("50 tools of 5,000 properties", "5,000 templates that begin alike", "page of 8 million numbers"),
    *("5,000 names that fold to one", "30 pages of 1,000 tools", "result of 60 MB, not ASCII"),
    *("error data of 200,000 members", "question with 330,000 members"),
}
"""One entry of each sort, which is visited in every run; the others are visited with `-m figures`."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in ALWAYS else pytest.mark.figures) for name in CORPUS]
)
def test_no_step_is_long(name: str, tmp_path: Path) -> None:
    allowed = LIMIT * LARGE.get(name, 1.0)
    label, seconds = longest(CORPUS[name], tmp_path, allowed)
    assert seconds <= allowed, f"{label}: {1e3 * seconds:.0f} ms"


@pytest.mark.figures
@pytest.mark.parametrize("listing", ["full", "search"])
def test_no_step_is_long_in_other_listings(listing: str, tmp_path: Path) -> None:
    label, seconds = longest(CORPUS["5,000 tools of 3 kB"], tmp_path, listing=listing)
    assert seconds <= LIMIT, f"{label}: {1e3 * seconds:.0f} ms"


def test_no_step_is_long_for_a_search_and_a_description_in_one_chunk(tmp_path: Path) -> None:
    """The first search, which makes the index; names that do not exist are compared with all that do."""
    visit = Visit(CORPUS["5,000 tools"](), tmp_path)
    visit.opens()
    names = ["hostile.calm", *(f"hostile.nothing_{number}" for number in range(5))]
    before = slowness()
    search, describe, ping = visit.sends_together(
        "search and describe",
        ("tools/call", {"name": "search_tools", "arguments": {"query": "calm thing"}}),
        ("tools/call", {"name": "describe_tools", "arguments": {"names": names}}),
        ("ping", {}),
    )
    now = max(before, slowness())
    visit.ends()
    assert list(visit.answers)[-3:] == [describe, ping, search]
    assert visit.loop.longest["search and describe"] <= LIMIT * now


def test_a_call_of_another_server_is_answered_between_the_steps(tmp_path: Path) -> None:
    """While a search indexes thousands of tools."""
    visit = Visit(CORPUS["5,000 tools of as many words"](), tmp_path)
    visit.opens()
    search = visit.sends("tools/call", name="search_tools", arguments={"query": "calm"})
    call = visit.sends("tools/call", name="quiet.calm", arguments={})
    visit.ends()
    order = list(visit.answers)
    assert order.index(call) < order.index(search)


# What hypothesis finds

words = st.text(max_size=20) | st.sampled_from(["e.g. ", "\n", "[", "{+a}", "$ref", "\u202e", "x" * 2000])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=8,
)
schemas = st.fixed_dictionaries(
    {"type": st.just("object")},
    optional={
        "properties": st.dictionaries(words, json_values, max_size=6),
        "required": st.lists(words, max_size=6),
        "allOf": st.lists(st.fixed_dictionaries({"$ref": st.just("#")}), max_size=3),
        "$defs": json_values,
    },
)
tools = st.fixed_dictionaries(
    {"name": st.text(min_size=1, max_size=30)},
    optional={
        "description": words,
        "title": json_values,
        "inputSchema": schemas,
        "annotations": json_values,
        "_meta": json_values,
        "outputSchema": json_values,
    },
)


@pytest.mark.figures
@given(
    st.lists(tools, max_size=3),
    st.integers(1, 300),
    st.lists(json_values, max_size=5),
    st.integers(1, 2000),
    st.booleans(),
)
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
def test_no_step_is_long_for_whatever_is_repeated(
    tmp_path_factory: pytest.TempPathFactory,
    some: list[Json],
    repeated: int,
    blocks: list[Json],
    block_count: int,
    is_error: bool,
) -> None:
    """Any definitions many times over, under other names, and any blocks many times over in one result."""
    listed = [TOOL, *({**tool, "name": f"{tool['name']}{copy}"} for copy in range(repeated) for tool in some)]
    call = {"result": {"content": blocks * block_count, "isError": is_error}}
    label, seconds = longest(lambda: Hostile(listed, call=call), tmp_path_factory.mktemp("visit"))
    assert seconds <= LIMIT, f"{label}: {1e3 * seconds:.0f} ms"
