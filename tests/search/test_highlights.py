"""Highlighted parts of a text that a query found."""

import pytest

from search_mcp.search.analysis import Analyzer, words
from search_mcp.search.highlights import spans


@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        ("file", "Reads a file.", ["file"]),
        ("files", "Reads a file, or FILES.", ["file", "FILES"]),
        ("read", "fs.read_file readFile reading", ["read", "read", "reading"]),
        ("github", "GitHub issues", ["GitHub"]),
        ("read", "thread spread", []),
        ("créer", "Créer un fichier", ["Créer"]),
        ("検索", "ファイルを検索する", ["検索"]),
        ("検", "検索", ["検"]),
        ("파일", "파일을 찾는다", ["파일"]),
        ("file", "", []),
    ],
)
def test_spans(query: str, text: str, marked: list[str]) -> None:
    terms = set(Analyzer().terms(words(query)))
    assert [text[start:end] for start, end in spans(text, terms)] == marked
