"""The nearest names: helpful ones, best first, and none that mislead."""

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
def test_nothing_is_like_this(name: str) -> None:
    assert nearest(name, NAMES) == []


def test_what_is_much_less_alike_than_the_best_is_not_suggested_beside_it() -> None:
    assert nearest("time.get_curent_time", NAMES) == ["time.get_current_time"]
    assert nearest("files.read_txt_file", NAMES)[:2] == ["files.read_text_file", "files.read_media_file"]


def test_endless_names_are_compared_by_their_beginning_and_suggested_whole() -> None:
    endless = "files.read_" + "x" * 10**6
    assert nearest("files.read_" + "x" * LONGEST_NAME, [*NAMES, endless]) == [endless]


def test_there_are_no_names() -> None:
    assert nearest("files.read", []) == []


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_gives_only_so_many(limit: int) -> None:
    many = [f"files.read_{number}" for number in range(20)]
    assert len(nearest("files.read", many, limit)) == limit
    assert len(nearest("files.read", many)) == 5


def test_only_the_start_of_an_endless_name_counts() -> None:
    assert nearest("files.write_file".ljust(LONGEST_NAME, "x") + "y" * 10**6, NAMES) == nearest(
        "files.write_file".ljust(LONGEST_NAME, "x"), NAMES
    )


@given(st.text(), st.lists(st.text(max_size=20), max_size=20, unique=True), st.integers(1, 6))
def test_gives_some_of_the_names_each_once_and_always_the_same(name: str, names: list[str], limit: int) -> None:
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
