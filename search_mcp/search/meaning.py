"""Fusion of the words' scores with the similarity of meanings, which a sentence model measures.

Decides how much a similarity counts and which text of a tool is compared. Knows no model: similarities are given.

The similarity is added to the score in units of the query's information: what all of its words are worth together. So
it decides where few words match: no tool has a high score then, and a similar tool comes first. A long request
describes a situation with many of its words, so its similarity counts less, as synonyms do. In a large catalogue, more
tools are similar by chance.
"""

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from search_mcp.search.analysis import PART, length, words
from search_mcp.search.documents import POOL, Document
from search_mcp.search.query import Query

LEAST = 0.2  # similarity of a tool that is found by it alone; unrelated texts are below that
LONGEST_TEXT = 600  # characters compared of a tool; models read 100 to 500 words, and the first sentence says most

_WEIGHT = 0.9  # of a similarity of 1, in units of the query's information. Results are alike from 0.7 to 1.0
_SHORT = 8  # words; similarity counts less in longer requests. Results are alike from 6 to 12
_DECREASE = 1.5  # its exponent; with 1, requests of several sentences lose
_USUAL_SIZE = 500  # tools; similarity counts less in larger catalogues. Results are alike from 300 to 1,000
_LEAST_KNOWN = 0.5  # share of the letters; with fewer of them, the language of the query is not known to the model
_MOST_FOREIGN = 0.2  # share of the words; from it on, the same. Requests in English have names and misspellings


@dataclass(frozen=True)
class Meaning:
    """Similarities of a query to tools, by name: 0 for unrelated texts, 1 for equal ones.

    A tool may be missing: its vector is not made yet.
    """

    similarities: Mapping[str, float]
    nearest: Sequence[str]
    """The most similar tools, the first `POOL` of them at least; equally similar ones by name."""
    knows_all_languages: bool = False
    """Whether the model was trained on more than English."""


def compared(similarities: Mapping[str, float], knows_all_languages: bool = False) -> Meaning:
    """Return the meaning of a query, for similarities that are all here."""
    nearest = heapq.nsmallest(POOL, similarities, key=lambda name: (-similarities[name], name))
    return Meaning(similarities, nearest, knows_all_languages)


def text_of(document: Document) -> str:
    """Return the text of a tool that a model compares with a query."""
    return text(document.tool, document.description)


def text(tool: str, description: str) -> str:
    """Return the text of a tool that a model compares with a query."""
    parts = chain.from_iterable(PART.findall(word) if word.isascii() else [word] for word in words(tool))
    return f"{' '.join(parts)}: {description.strip()}"[:LONGEST_TEXT]


def is_exact(query: Query) -> bool:
    """Return whether a query selects tools exactly: by a server, a quote or an excluded word."""
    return bool(query.servers or query.exact or query.without)


def weight(query: Query, meaning: Meaning, count: int, foreign_share: float = 0.0) -> float:
    """Return the weight of a similarity of 1 for a query among `count` tools; 0 if it must not change the order.

    `foreign_share` is the share of its words that are not English.
    """
    if is_exact(query):
        return 0.0
    known = 1.0 if meaning.knows_all_languages else _share_in_latin_letters(query.text)
    if known < _LEAST_KNOWN or (foreign_share >= _MOST_FOREIGN and not meaning.knows_all_languages):
        return 0.0
    brevity: float = min(1.0, _SHORT / max(length(" ".join(query.words)), 1)) ** _DECREASE
    rarity: float = (math.log(_USUAL_SIZE) / math.log(max(count, _USUAL_SIZE))) ** 2
    return _WEIGHT * known * brevity * rarity


def completed(similarities: Mapping[str, float], names: Iterable[str]) -> dict[str, float]:
    """Return the similarities of some tools; those without a vector get the mean of the others."""
    found = {name: similarities.get(name) for name in names}
    known = sorted(similarity for similarity in found.values() if similarity is not None)
    mean = sum(known) / len(known) if known else 0.0
    return {name: mean if similarity is None else similarity for name, similarity in found.items()}


def _share_in_latin_letters(text: str) -> float:
    letters = [character for character in text if character.isalpha()]
    return sum(character.isascii() for character in letters) / len(letters) if letters else 0.0
