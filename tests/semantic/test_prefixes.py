"""The prefixes of known models, by the names that services give them."""

import pytest

from search_mcp.semantic.prefixes import Prefixes, prefixes_of

PASSAGES = Prefixes("Represent this sentence for searching relevant passages: ")
E5 = Prefixes("query: ", "passage: ")
NOMIC = Prefixes("search_query: ", "search_document: ")

NAMES = [
    ("nomic-embed-text", NOMIC),
    ("nomic-embed-text:v1.5", NOMIC),
    ("text-embedding-nomic-embed-text-v1.5@q8_0", NOMIC),
    ("nomic-ai/nomic-embed-text-v2-moe", NOMIC),
    ("intfloat/multilingual-e5-small", E5),
    ("E5-large-v2", E5),
    ("multilingual-e5-large-instruct", Prefixes()),
    ("mxbai-embed-large", PASSAGES),
    ("BAAI/bge-small-en-v1.5", PASSAGES),
    ("bge-large", PASSAGES),
    ("bge-large-zh-v1.5", Prefixes()),
    ("bge-m3", Prefixes()),
    ("snowflake-arctic-embed:22m", PASSAGES),
    ("snowflake-arctic-embed2", Prefixes()),
    ("Snowflake/snowflake-arctic-embed-l-v2.0", Prefixes()),
    ("embeddinggemma:300m", Prefixes("task: search result | query: ", "title: none | text: ")),
    ("all-minilm", Prefixes()),
    ("text-embedding-3-small", Prefixes()),
    ("one5-base", Prefixes()),
]


@pytest.mark.parametrize(("model", "prefixes"), NAMES)
def test_prefixes(model: str, prefixes: Prefixes) -> None:
    assert prefixes_of(model) == prefixes


def test_a_model_that_wants_an_instruction() -> None:
    found = prefixes_of("Qwen/Qwen3-Embedding-0.6B")
    assert found.query.startswith("Instruct: ")
    assert found.query.endswith("\nQuery:")
    assert found.text == ""
