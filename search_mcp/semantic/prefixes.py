"""The words that some models expect before a query and before a text, chosen by the name of the model. Pure.

The names are those of the models' makers, which Ollama, LM Studio and others keep as a part of theirs. A wrong prefix
is worse than none, so other models get none.
"""

import re
from typing import NamedTuple


class Prefixes(NamedTuple):
    """What is put before a query, and before a text that queries are compared with."""

    query: str = ""
    text: str = ""


_PASSAGES = Prefixes("Represent this sentence for searching relevant passages: ")
_BY_NAME = (
    # pattern in the name, prefixes as on the model's own page
    ("nomic-embed-text", Prefixes("search_query: ", "search_document: ")),
    (r"(?<![a-z0-9])e5-(?:small|base|large)(?!.*instruct)", Prefixes("query: ", "passage: ")),
    ("embeddinggemma", Prefixes("task: search result | query: ", "title: none | text: ")),
    ("mxbai-embed-large", _PASSAGES),
    (r"(?<![a-z0-9])bge-(?:small|base|large)(?!-zh)", _PASSAGES),
    (r"arctic-embed(?!2|.*v2)", _PASSAGES),
    (
        "qwen3-embedding",
        Prefixes("Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"),
    ),
)


def prefixes_of(model: str) -> Prefixes:
    """Return the prefixes of a model; empty ones for a model that needs none or is not known."""
    return next((each for pattern, each in _BY_NAME if re.search(pattern, model.lower())), Prefixes())
