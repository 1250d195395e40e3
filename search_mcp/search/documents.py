"""The searched fields of a tool, with the weight and the usual length of each.

Knows the shape of a tool, and nothing of queries or postings.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice
from typing import Any, NamedTuple

POOL = 40  # tools scored in full for a query, or compared with its meaning; with 100, +.0004 nDCG@10
LONGEST_TEXT = 10_000  # characters read of each field; descriptions above 3,000 are rare


class Effect(IntEnum):
    """Declared effect of a tool on the things it works on; of tools with equal scores, the lower value ranks first."""

    READS = 0
    ADDS = 1
    UNDECLARED = 2
    DESTROYS = 3

    @classmethod
    def declared(cls, read_only: object, destructive: object) -> "Effect":
        """Return the effect that two hints of a tool's annotations declare: `readOnlyHint`, `destructiveHint`."""
        if read_only is True:
            return cls.READS
        if isinstance(destructive, bool):
            return cls.DESTROYS if destructive else cls.ADDS
        return cls.DESTROYS if read_only is False else cls.UNDECLARED  # "destructiveHint: ... Default: true"


@dataclass(frozen=True)
class Document:
    """One tool as the search reads it. `name` is the catalogue's canonical name, opaque here."""

    name: str
    server: str
    tool: str
    description: str = ""
    input_schema: Mapping[str, Any] | None = None
    server_title: str = ""
    server_description: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    effect: Effect = Effect.UNDECLARED
    longest_text: int = LONGEST_TEXT
    """Characters read of each field."""


class Field(NamedTuple):
    """A part of a tool's text."""

    label: str
    weight: float
    usual_length: int  # terms; a shorter field counts more, a longer one less


# Varying each weight by half moves nDCG@10 by .003 at most. Leaving out the parameters costs .010, the server's names
# and text .018, the first sentence as a separate field .007. A higher weight for the server's text only favours servers
# that have one.
NAME = Field("name", 4.0, 4)
SUMMARY = Field("summary", 2.5, 12)  # the first sentence of the description
DESCRIPTION = Field("description", 0.5, 40)  # the rest of it
PARAMETERS = Field("parameters", 1.0, 6)
PARAMETER_TEXT = Field("parameter text", 0.5, 30)
SERVER = Field("server", 1.0, 4)
SERVER_TEXT = Field("server text", 1.0, 20)

_MOST_PARAMETERS = 300  # read of one tool, and choices of one parameter
_DEEPEST = 3  # levels of nested parameters read
_SENTENCE_ENDS = (". ", "\n", "。", "！", "？", "! ", "? ")


def tool_texts(document: Document) -> Iterator[tuple[Field, str]]:
    """Yield the texts of the tool itself."""
    longest = document.longest_text
    summary, rest = _first_sentence(document.description[:longest].strip())
    yield NAME, document.tool[:longest]
    yield SUMMARY, summary
    yield DESCRIPTION, rest
    parameters = list(islice(_parameters(document.input_schema, _DEEPEST), _MOST_PARAMETERS))
    yield PARAMETERS, " ".join(name for name, _ in parameters)[:longest]
    yield PARAMETER_TEXT, " ".join(text for _, text in parameters)[:longest]


def server_texts(document: Document) -> Iterator[tuple[Field, str]]:
    """Yield the texts of the tool's server."""
    names = (document.server, document.server_title, document.category, *document.tags)
    yield SERVER, " ".join(names)[:LONGEST_TEXT]
    yield SERVER_TEXT, document.server_description[:LONGEST_TEXT]


def _first_sentence(text: str) -> tuple[str, str]:
    ends = (at + 1 for mark in _SENTENCE_ENDS if (at := text.find(mark)) >= 0)
    end = min(ends, default=len(text))
    return text[:end], text[end:]


def _parameters(schema: object, levels: int) -> Iterator[tuple[str, str]]:
    """Yield the names of a schema's parameters with their texts, outer ones first."""
    if levels == 0 or not isinstance(schema, Mapping):
        return
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        for name, value in properties.items():
            yield str(name), _parameter_text(value)
        for value in properties.values():
            yield from _parameters(value, levels - 1)
    yield from _parameters(schema.get("items"), levels - 1)


def _parameter_text(parameter: object) -> str:
    if not isinstance(parameter, Mapping):
        return ""
    description, choices = parameter.get("description"), parameter.get("enum")
    texts = [description, *(choices[:_MOST_PARAMETERS] if isinstance(choices, list) else ())]
    return " ".join(text for text in texts if isinstance(text, str))
