"""The thesaurus is data; this keeps it well formed."""

from search_mcp.search.fillers import FILLERS
from search_mcp.search.synonyms import GROUPS

LINES = [line for line in GROUPS.splitlines() if line and not line.startswith("#")]


def test_every_line_is_a_group_of_plain_words() -> None:
    for line in LINES:
        group = line.split()
        assert 2 <= len(group) <= 12, line
        assert len(set(group)) == len(group), line
        assert all(word.isascii() and word == word.lower() for word in group), line


def test_no_group_stands_twice() -> None:
    groups = [frozenset(line.split()) for line in LINES]
    assert len(set(groups)) == len(groups)


def test_fillers_are_plain_words() -> None:
    assert all(word.isalpha() and word == word.casefold() for word in FILLERS)
