"""English terms for words of other languages, and the word lists they come from."""

import pytest

from search_mcp.search.analysis import is_spaceless, word_terms
from search_mcp.search.stems import stem
from search_mcp.search.translations import of_term, within
from search_mcp.search.word_lists import EAST_ASIAN, EUROPEAN, fillers, synonyms, translations

ENGLISH = synonyms().keys() | fillers()


def foreign_words(file: str) -> list[str]:
    return [word for _, words in translations(file) for word in words]


@pytest.mark.parametrize(
    ("written", "english"),
    [
        ("lesen", ["read"]),
        ("Schreibt", ["write"]),
        ("Dateiinhalt", ["file"]),  # the beginning of a compound
        ("archivos", ["file"]),
        ("BÚSQUEDA", ["search"]),
        ("busqueda", ["search"]),
        ("télécharger", ["download"]),
        ("файлы", ["file"]),
        ("zahlen", ["pay", "number", "count"]),  # zählen without its accent
        ("da", []),
        ("qwertz", []),
        ("", []),
    ],
)
def test_words_with_spaces_between_them(written: str, english: list[str]) -> None:
    term = word_terms(written)[-1] if written else ""
    assert sorted(of_term(term)) == sorted(map(stem, english))


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("ファイルを読む", {"ファイル": ["file"], "読": ["read"]}),
        ("读取文件内容", {"读": ["read"], "文件": ["file"], "内容": ["content"]}),
        ("文件夹", {"文件夹": ["folder"]}),  # not 文件, a file
        ("파일목록", {"파일": ["file"], "목록": ["list"]}),
        ("pdfファイル", {"ファイル": ["file"]}),
        ("予定を見せて", {"予定": ["schedule", "event"], "見せ": ["show"]}),
        ("請願", {}),
        ("file", {}),
        ("", {}),
    ],
)
def test_words_within_a_text_without_spaces(text: str, pieces: dict[str, list[str]]) -> None:
    assert dict(within(text)) == {piece: tuple(map(stem, english)) for piece, english in pieces.items()}


def test_a_long_text_is_read_to_its_limit() -> None:
    assert 0 < len(list(within("読" * 1_000_000))) < 1_000


@pytest.mark.parametrize("file", [EUROPEAN, EAST_ASIAN])
def test_every_line_is_an_english_word_and_words_of_other_languages(file: str) -> None:
    every = [english for english, _ in translations(file)]
    assert len(set(every)) == len(every)
    for english, words in translations(file):
        assert english.isascii(), english
        assert english.islower(), english
        assert len(set(words)) == len(words), english


def test_each_word_is_in_the_right_list() -> None:
    assert [word for word in foreign_words(EAST_ASIAN) if not all(map(is_spaceless, word))] == []
    assert [word for word in foreign_words(EUROPEAN) if any(map(is_spaceless, word))] == []


def test_no_word_means_something_else_in_english() -> None:
    terms = {word: word_terms(word.removesuffix("-"))[-1] for word in foreign_words(EUROPEAN)}
    assert [word for word, term in terms.items() if term in ENGLISH] == []
    beginnings = tuple(term for word, term in terms.items() if word.endswith("-"))
    assert [word for word in ENGLISH if word.startswith(beginnings)] == []
    assert [term for term in beginnings if len(term) < (4 if term.isascii() else 3)] == []


def test_no_beginning_covers_another_word_for_the_same_english_word() -> None:
    for _, words in translations(EUROPEAN):
        beginnings = [word_terms(word[:-1])[-1] for word in words if word.endswith("-")]
        for word in words:
            term = word_terms(word.removesuffix("-"))[-1]
            covering = [each for each in beginnings if term.startswith(each)]
            assert len(covering) == word.endswith("-"), word
