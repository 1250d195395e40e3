"""Words that must share a stem, and words that must not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.search.stems import stem


@pytest.mark.parametrize(
    "family",
    [
        "file files",
        "list lists listed listing",
        "convert converts converted converting converter",
        "create creates created creating creation creator",
        "query queries",
        "stop stops stopped stopping",
        "add adds added adding",
        "search searches searching searcher",
        "translate translation translator",
        "box boxes",
        "note notes",
    ],
)
def test_forms_of_a_word_share_a_stem(family: str) -> None:
    assert len(set(map(stem, family.split()))) == 1


@pytest.mark.parametrize(
    "pair",
    [
        "version verse",
        "status stat",
        "class clap",
        "us use",
        "user us",
        "red read",
        "bus bust",
        "not notes",
        "them theme",
    ],
)
def test_different_words_have_different_stems(pair: str) -> None:
    one, other = pair.split()
    assert stem(one) != stem(other)


@pytest.mark.parametrize("word", ["", "a", "ing", "s3", "café", "東京", "files2"])
def test_short_and_foreign_words_are_unchanged(word: str) -> None:
    assert stem(word) == word


@given(st.text(alphabet="abdeginorsy", max_size=12))
def test_a_stem_is_never_empty(word: str) -> None:
    assert len(stem(word)) >= min(len(word), 3)
