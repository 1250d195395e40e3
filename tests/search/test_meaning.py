"""Fusion of words and meaning: similarities are given as numbers, as a model would measure them."""

from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from search_samples import TOOLS, index_of, tool

from search_mcp.search import Document, Effect, Index, build, build_hybrid, compared, text_of
from search_mcp.search.meaning import LONGEST_TEXT, weight
from search_mcp.search.query import parse

INDEX = index_of(*TOOLS)
NAMES = [document.name for document in TOOLS]


def ranked(query: str, similarities: Mapping[str, float], index: Index = INDEX, **rest: bool) -> list[str]:
    meaning = compared(similarities, **rest)
    return [hit.name for hit in index.answer(query, 20, meaning=meaning).hits]


def test_a_tool_with_other_words_is_found_by_its_meaning() -> None:
    assert "fs.move_file" not in [hit.name for hit in INDEX.search("give it another title", 20)]
    assert ranked("give it another title", {**dict.fromkeys(NAMES, 0.1), "fs.move_file": 0.8})[0] == "fs.move_file"


def test_a_tool_with_other_words_and_another_meaning_is_not_found() -> None:
    assert ranked("an umbrella", dict.fromkeys(NAMES, 0.1)) == []


def test_the_words_decide_between_equally_similar_tools() -> None:
    expected = [hit.name for hit in INDEX.search("read a file", 5)]
    assert ranked("read a file", dict.fromkeys(NAMES, 0.4))[:5] == expected


@pytest.mark.parametrize(
    "query",
    [
        *("fs.read_file", "readFile", "github"),  # names
        *("server:git commit", '"commit logs"', "branch -commit"),  # operators
        *(
            "現在の時刻",
            "Datei lesen",
            "leer el archivo",
            "créer une branche",
        ),  # languages that the model does not know
    ],
)
def test_the_answer_is_not_changed(query: str) -> None:
    similar = {name: position / 20 for position, name in enumerate(NAMES)}
    assert ranked(query, similar) == [hit.name for hit in INDEX.search(query, 20)]


def test_a_model_of_all_languages_is_asked_in_all_of_them() -> None:
    similar = {"time.get_current_time": 0.7}
    assert ranked("いま何時ですか", similar, knows_all_languages=True)[0] == "time.get_current_time"


def test_a_name_or_a_misspelling_in_a_request_makes_it_no_other_language() -> None:
    request = "show the café of the address where my friends meet every week"
    assert weight(parse(request), compared({}), 100, 1 / 11) == weight(parse(request), compared({}), 100) > 0
    assert weight(parse(request), compared({}), 100, 0.2) == 0
    assert weight(parse(request), compared({}, knows_all_languages=True), 100, 1.0) > 0


@pytest.mark.parametrize(
    "query", ["fs.read_file", "readFile", "server:git commit", '"commit logs"', "branch -commit", " "]
)
def test_the_meaning_of_an_exact_query_is_not_needed(query: str) -> None:
    assert not INDEX.uses_meaning(query)
    assert INDEX.uses_meaning("commit logs")


def test_only_admitted_tools_are_found() -> None:
    hits = INDEX.answer("give it another title", 20, server="git", meaning=compared(dict.fromkeys(NAMES, 0.5))).hits
    assert {hit.name.partition(".")[0] for hit in hits} == {"git"}


def test_a_tool_without_a_vector_is_neither_first_nor_last_for_that() -> None:
    documents = [tool("a", f"look_{name}", "Look at photographs.") for name in ("near", "new", "far")]
    similar = {"a.look_near": 0.9, "a.look_far": 0.1}
    assert ranked("look at photographs", similar, index_of(*documents)) == ["a.look_near", "a.look_new", "a.look_far"]


def test_a_destructive_tool_of_equal_meaning_comes_later() -> None:
    erase = Document("a.erase", "a", "erase", "Clean.", effect=Effect.DESTROYS)
    show = Document("a.show", "a", "show", "Clean.", effect=Effect.READS)
    assert ranked("tidy up", {"a.erase": 0.5, "a.show": 0.5}, index_of(erase, show)) == ["a.show", "a.erase"]


def test_a_similar_tool_fits_and_a_dissimilar_one_does_not() -> None:
    query = "which branch of the tree has the nest"

    def fits(similarity: float) -> bool:
        return INDEX.answer(query, 1, meaning=compared(dict.fromkeys(NAMES, similarity))).fits

    assert (fits(0.0), fits(0.9)) == (False, True)


def test_a_tool_with_a_few_of_the_words_fits_only_if_its_meaning_is_similar() -> None:
    query = "create a document in the repository"

    def fits(similarity: float) -> bool:
        return INDEX.answer(query, 1, meaning=compared(dict.fromkeys(NAMES, similarity))).fits

    assert INDEX.answer(query, 1).fits  # no similarity is known
    assert (fits(0.1), fits(0.6)) == (False, True)


def test_unrelated_tools_lose_nothing() -> None:
    assert ranked("read a file", dict.fromkeys(NAMES, -0.3)) == ranked("read a file", dict.fromkeys(NAMES, 0.0))


def test_the_weight_falls_with_length_and_size() -> None:
    meaning = compared({})
    words = [weight(parse("paint " * count), meaning, 100) for count in (1, 4, 12, 40)]
    assert words[0] == words[1] > words[2] > words[3] > 0
    sizes = [weight(parse("paint it"), meaning, count) for count in (0, 1, 400, 5_000, 20_000)]
    assert sizes[0] == sizes[1] == sizes[2] > sizes[3] > sizes[4] > 0


@given(st.permutations(NAMES), st.sampled_from(["give it another title", "read a file", "what changed lately?"]))
def test_the_order_of_the_catalogue_does_not_matter(order: list[str], query: str) -> None:
    similar = {name: len(name) / 40 for name in NAMES if name != "fs.read_file"}
    shuffled = index_of(*sorted(TOOLS, key=lambda document: order.index(document.name)))
    expected = INDEX.answer(query, 20, meaning=compared(similar))
    assert shuffled.answer(query, 20, meaning=compared({name: similar[name] for name in order if name in similar})) == (
        expected
    )


def test_the_explanation_has_the_part_of_the_meaning() -> None:
    meaning = compared({"fs.move_file": 0.6})
    explanation = INDEX.explain("give it another title", "fs.move_file", meaning)
    assert explanation is not None
    assert explanation.score == explanation.meaning_score > 0
    assert "similar meaning (" in str(explanation)
    named = INDEX.explain("move_file", "fs.move_file", meaning)
    assert named is not None
    assert "similar meaning (" not in str(named)


@pytest.mark.parametrize("server", [None, "many"])
def test_the_explanation_has_what_the_score_gained(server: str | None) -> None:
    erase = [Document(f"many.erase_{n}", "many", f"erase_{n}", "Clean.", effect=Effect.DESTROYS) for n in range(600)]
    index = index_of(*erase, Document("other.sweep", "other", "sweep", "Clean.", effect=Effect.READS))
    meaning = compared({"many.erase_7": 0.5})
    query = "tidy up"
    (found,) = index.answer(query, 1, server=server, meaning=meaning).hits
    explanation = index.explain(query, "many.erase_7", meaning, server=server)
    assert explanation is not None
    assert found.name == "many.erase_7"
    assert found.score == pytest.approx(explanation.meaning_score)


def test_the_explanation_is_unchanged_without_meaning() -> None:
    assert "meaning" not in str(INDEX.explain("read a file", "fs.read_file"))


def test_the_text_of_a_tool() -> None:
    assert text_of(tool("a", "getPullRequest_v2", "  Shows it. ")) == "get Pull Request v 2: Shows it."
    assert text_of(tool("a", "検索", "探す")) == "検索: 探す"
    assert len(text_of(tool("a", "b", "long " * 500))) == LONGEST_TEXT


def test_both_halves_as_one_function() -> None:
    tools = [
        {"server": "a", "tool": "weather", "description": "Forecast for a city"},
        {"server": "b", "tool": "mail", "description": "Send a letter"},
    ]

    def comparing(texts: Sequence[str]) -> Callable[[str], Sequence[float]]:
        assert texts == ["weather: Forecast for a city", "mail: Send a letter"]
        return lambda query: [0.8, 0.1] if "umbrella" in query else [0.0, 0.0]

    search = build_hybrid(tools, comparing)
    assert [name for name, _ in search("umbrella needed", 1)] == ["a.weather"]
    assert search("send letter", 5) == build(tools)("send letter", 5)
