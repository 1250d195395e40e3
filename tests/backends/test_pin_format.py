"""The file with the accepted definitions of a server."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.backends.pin_format import read, written
from search_mcp.backends.pin_records import PROMPTS, TOOLS, Record, judge, opened, with_all_accepted

names = st.text(max_size=3)
texts = st.sampled_from([b'{"name":"%d"}' % n for n in range(3)])
sections = st.dictionaries(
    st.sampled_from([TOOLS, PROMPTS]), st.dictionaries(names, texts, min_size=1, max_size=3), max_size=2
)


@given(st.lists(st.tuples(st.sampled_from(["one", "other"]), sections), max_size=5), st.booleans())
def test_a_record_is_read_as_it_was_written(listings: list[tuple[str, Any]], accepts: bool) -> None:
    record = Record()
    for label, seen in listings:
        record, _ = judge(record, label, seen)
        if accepts:
            record = with_all_accepted(record, opened(record, label, seen))
    assert read(written(record).splitlines(keepends=True)) == record


@pytest.mark.parametrize("lost", [1, 2])
def test_a_record_that_ends_early_is_damaged(lost: int) -> None:
    record, _ = judge(Record(), "legacy", {TOOLS: {"a": b"{}", "b": b"{}"}})
    lines = written(record).splitlines(keepends=True)
    with pytest.raises(ValueError, match="lines of 2"):
        read(lines[:-lost])
