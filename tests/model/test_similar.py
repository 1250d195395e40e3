"""Suggestions of similar names: helpful ones, best first, and none that mislead."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.model.similar import LONGEST_NAME, closest, nearest

NAMES = [
    "files.read_text_file",
    "files.read_media_file",
    "files.write_file",
    "git.git_status",
    "git.git_log",
    "time.get_current_time",
    "検索.ファイルを読む",
]


@pytest.mark.parametrize(
    ("name", "first"),
    [
        pytest.param("files.read_txt_file", "files.read_text_file", id="a letter short"),
        pytest.param("files.raed_text_file", "files.read_text_file", id="two letters swapped"),
        pytest.param("FILES.READ_TEXT_FILE", "files.read_text_file", id="another case"),
        pytest.param("files__read_text_file", "files.read_text_file", id="another separator"),
        pytest.param("read_text_file", "files.read_text_file", id="no server"),
        pytest.param("mcp_files_write_file", "files.write_file", id="a client's prefix"),
        pytest.param("git.status", "git.git_status", id="a word short"),
        pytest.param("検索.ファイルを読", "検索.ファイルを読む", id="Japanese"),
    ],
)
def test_the_name_that_was_meant_comes_first(name: str, first: str) -> None:
    assert nearest(name, NAMES)[0] == first


@pytest.mark.parametrize("name", ["", " ", "...", "zzqx", "🙂"])
def test_a_text_unlike_all_names_has_no_suggestions(name: str) -> None:
    assert nearest(name, NAMES) == []


def test_a_name_much_less_similar_than_the_best_is_left_out() -> None:
    assert nearest("time.get_curent_time", NAMES) == ["time.get_current_time"]
    assert nearest("files.read_txt_file", NAMES)[:2] == ["files.read_text_file", "files.read_media_file"]


def test_endless_names_are_compared_by_their_beginning_and_suggested_whole() -> None:
    endless = "files.read_" + "x" * 10**6
    assert nearest("files.read_" + "x" * LONGEST_NAME, [*NAMES, endless]) == [endless]


def test_without_names_there_are_no_suggestions() -> None:
    assert nearest("files.read", []) == []


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_suggestions_are_limited(limit: int) -> None:
    many = [f"files.read_{number}" for number in range(20)]
    assert len(nearest("files.read", many, limit)) == limit
    assert len(nearest("files.read", many)) == 5


def test_only_the_start_of_an_endless_name_counts() -> None:
    assert nearest("files.write_file".ljust(LONGEST_NAME, "x") + "y" * 10**6, NAMES) == nearest(
        "files.write_file".ljust(LONGEST_NAME, "x"), NAMES
    )


@given(st.text(), st.lists(st.text(max_size=20), max_size=20, unique=True), st.integers(1, 6))
def test_suggestions_are_distinct_names_and_repeatable(name: str, names: list[str], limit: int) -> None:
    found = nearest(name, names, limit)
    assert len(found) == len(set(found)) <= limit
    assert set(found) <= set(names)
    assert nearest(name, iter(names), limit) == found


@pytest.mark.parametrize(
    ("word", "least", "meant"),
    [("uvz", 0.6, "uvx"), ("nodde", 0.7, "node"), ("evn", 0.65, None), ("node", 0.7, "node"), ("", 0.7, None)],
)
def test_the_closest_of_a_few_words(word: str, least: float, meant: str | None) -> None:
    assert closest(word, ["uvx", "node", "docker"], least) == meant


def test_of_thousands_of_long_names_the_ends_are_compared_too() -> None:
    uris = [f"file:///{'folder/' * 40}file-{number}.txt" for number in range(5000)]
    assert uris[31] in nearest(f"file:///{'folder/' * 40}fil-31.txt", uris)
