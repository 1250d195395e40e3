"""The terms of texts."""

import pytest

from search_mcp.search.analysis import LONGEST_WORD, Analyzer, fold, is_identifier, length, spellings, words


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", []),
        ("read the files", ["read", "the", "fil"]),
        ("read_file.now", ["read", "fil", "now"]),
        ("readFile", ["read", "fil", "readfil"]),
        ("HTTPServer", ["http", "serv", "httpserv"]),
        ("s3", ["s", "3", "s3"]),
        ("Ｆｉｌｅ", ["fil"]),
        ("Café cafe", ["caf", "caf"]),
        ("東京", ["東", "京", "東京"]),
        ("ﾃｽﾄ", ["テ", "ス", "ト", "テス", "スト"]),
        ("API仕様", ["api", "仕", "様", "仕様"]),
        ("날씨", ["날", "씨", "날씨"]),
        ("\ud800 \x00 --", []),
    ],
)
def test_terms(text: str, terms: list[str]) -> None:
    assert Analyzer().terms(words(text)) == terms


@pytest.mark.parametrize("spelling", ["fs.read_file", "fs__read_file", "fsReadFile", "FS READ FILE", "ｆｓ/read-file"])
def test_all_spellings_of_a_name_have_one_folded_form(spelling: str) -> None:
    assert fold(spelling) == "fsreadfile"


def test_long_words_are_cut() -> None:
    assert Analyzer().terms(["x" * 1_000]) == ["x" * LONGEST_WORD]


def test_a_full_cache_is_emptied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Analyzer, "_LIMIT", 2)
    analyzer = Analyzer()
    assert analyzer.terms(["one", "two", "three", "one"]) == ["one", "two", "thre", "one"]
    assert len(analyzer) <= 2


def test_spellings_are_words_that_can_be_mistyped() -> None:
    assert list(spellings(["readFile", "List", "s3", "42", "東京", "café"])) == ["read", "file", "list", "café"]


@pytest.mark.parametrize(("text", "size"), [("", 0), ("read a file", 3), ("取引先の一覧", 4), ("피자 주문", 4)])
def test_length_is_in_words(text: str, size: int) -> None:
    assert length(text) == size


@pytest.mark.parametrize(
    ("word", "is_one"),
    [("9f3c2ab", True), ("x2x4z", True), ("B08N5W4NNB", True), ("sha256", False), ("3D", False), ("readFile", False)],
)
def test_identifiers_have_letters_and_digits_that_alternate(word: str, is_one: bool) -> None:
    assert is_identifier(word) is is_one
