"""Limits of the lists of one server, and the remarks on entries that are left out."""

import pytest

from search_mcp.catalog.list_limits import (
    LARGEST_ENTRY,
    MEMBER_BYTES,
    MOST_BYTES,
    MOST_ENTRIES,
    MOST_MEMBERS,
    cut,
    size,
)
from search_mcp.model.names import Kind
from search_mcp.model.servers import Entry, ServerList
from search_mcp.wire.structs import Raw

LIMITS = "the lists of a server may have 5,000 entries and 16 MiB together"
ENTRY = Entry("x", {"name": Raw(b'"x"')})
LARGE = Entry("x", {"x": Raw(b"0" * (LARGEST_ENTRY - 1 - MEMBER_BYTES))})


def entries(*given: Entry) -> ServerList:
    return ServerList(given, rejected=("one has no name",))


CUTS = [
    # lists, how many of each are taken, remarks
    pytest.param({}, {}, {}, id="no lists"),
    pytest.param({Kind.TOOLS: entries(ENTRY)}, {Kind.TOOLS: 1}, {}, id="a short list"),
    pytest.param(
        {Kind.TOOLS: entries(*[ENTRY] * (MOST_ENTRIES + 2))},
        {Kind.TOOLS: MOST_ENTRIES},
        {Kind.TOOLS: f"tools: the first 5,000 are taken and the others are left out: {LIMITS}"},
        id="too many entries",
    ),
    pytest.param(
        {Kind.RESOURCES: entries(ENTRY), Kind.TOOLS: entries(*[ENTRY] * MOST_ENTRIES)},
        {Kind.TOOLS: MOST_ENTRIES, Kind.RESOURCES: 0},
        {Kind.RESOURCES: f"resources: the first 0 are taken and the others are left out: {LIMITS}"},
        id="tools come before resources",
    ),
    pytest.param(
        {Kind.TEMPLATES: entries(ENTRY), Kind.SKILLS: entries(*[ENTRY] * MOST_ENTRIES), Kind.PROMPTS: entries(ENTRY)},
        {Kind.PROMPTS: 1, Kind.SKILLS: MOST_ENTRIES - 1, Kind.TEMPLATES: 0},
        {
            Kind.SKILLS: f"skills: the first 4,999 are taken and the others are left out: {LIMITS}",
            Kind.TEMPLATES: f"templates: the first 0 are taken and the others are left out: {LIMITS}",
        },
        id="skills come behind prompts and before templates",
    ),
    pytest.param(
        {Kind.PROMPTS: entries(*[LARGE] * (MOST_BYTES // LARGEST_ENTRY + 1)), Kind.TEMPLATES: entries(ENTRY)},
        {Kind.PROMPTS: MOST_BYTES // LARGEST_ENTRY, Kind.TEMPLATES: 0},
        {
            Kind.PROMPTS: f"prompts: the first 16 are taken and the others are left out: {LIMITS}",
            Kind.TEMPLATES: f"templates: the first 0 are taken and the others are left out: {LIMITS}",
        },
        id="too many bytes",
    ),
]


@pytest.mark.parametrize(("lists", "counts", "remarks"), CUTS)
def test_lists_are_cut_in_a_fixed_order(
    lists: dict[Kind, ServerList], counts: dict[Kind, int], remarks: dict[Kind, str]
) -> None:
    taken = cut(lists)
    assert {kind: len(page.entries) for kind, page in taken.items()} == counts
    for kind, page in taken.items():
        assert page.entries == lists[kind].entries[: counts[kind]]
        assert page.rejected == (*lists[kind].rejected, *([remarks[kind]] if kind in remarks else []))


def test_definitions_of_many_members_are_cut_before_their_objects_take_much_memory() -> None:
    wide = Entry("x", {str(number): Raw(b"1") for number in range(MOST_MEMBERS)})
    taken = cut({Kind.TOOLS: entries(*[wide] * 1000)})[Kind.TOOLS]
    assert 200_000 < len(taken.entries) * MOST_MEMBERS < 250_000


def test_the_size_of_a_definition_is_that_of_its_keys_and_values() -> None:
    assert size({"name": Raw(b'"x"'), "a": Raw(b"[ 1 ]")}) == len('name"x"a[ 1 ]')
