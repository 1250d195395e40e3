"""What of a tool is searched: its fields, how much each counts, and how long each usually is.

Knows the shape of a tool; knows nothing of queries or postings.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Document:
    """One tool as search sees it. `name` is the catalogue's canonical name: opaque here."""

    name: str
    server: str
    tool: str
    description: str = ""
    input_schema: Mapping[str, Any] | None = None
    server_title: str = ""
    server_description: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()


class Field(NamedTuple):
    """A part of a tool's text."""

    label: str
    weight: float
    usual_length: int  # terms; a field this long is neither rewarded nor punished


NAME = Field("name", 4.0, 4)
SUMMARY = Field("summary", 2.5, 12)
DESCRIPTION = Field("description", 0.5, 40)
PARAMETERS = Field("parameters", 1.0, 6)
PARAMETER_TEXT = Field("parameter text", 0.5, 30)
SERVER = Field("server", 1.0, 4)
SERVER_TEXT = Field("server text", 1.0, 20)
FIELDS = (NAME, SUMMARY, DESCRIPTION, PARAMETERS, PARAMETER_TEXT, SERVER, SERVER_TEXT)

_DEEPEST = 3  # levels of nested parameters that are read
_SENTENCE_ENDS = (". ", ".\n", "\n", "。", "！", "？", "! ", "? ")


def tool_texts(document: Document) -> Iterator[tuple[Field, str]]:
    """Yield the texts that belong to this tool alone."""
    summary, rest = _first_sentence(document.description)
    yield NAME, document.tool
    yield SUMMARY, summary
    yield DESCRIPTION, rest
    names: list[str] = []
    texts: list[str] = []
    _read_parameters(document.input_schema, names, texts, _DEEPEST)
    yield PARAMETERS, " ".join(names)
    yield PARAMETER_TEXT, " ".join(texts)


def server_texts(document: Document) -> Iterator[tuple[Field, str]]:
    """Yield the texts it shares with its server's other tools."""
    yield SERVER, f"{document.server} {document.server_title} {document.category} {' '.join(document.tags)}"
    yield SERVER_TEXT, document.server_description


def _first_sentence(text: str) -> tuple[str, str]:
    text = text.strip()
    ends = [at + len(mark.rstrip()) for mark in _SENTENCE_ENDS if (at := text.find(mark)) >= 0]
    end = min(ends, default=len(text))
    return text[:end], text[end:]


def _read_parameters(schema: Any, names: list[str], texts: list[str], depth: int) -> None:
    if not isinstance(schema, Mapping) or depth == 0:
        return
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        for name, value in properties.items():
            names.append(str(name))
            if isinstance(value, Mapping):
                if isinstance(text := value.get("description"), str):
                    texts.append(text)
                if isinstance(choices := value.get("enum"), list):
                    texts.extend(choice for choice in choices if isinstance(choice, str))
                _read_parameters(value, names, texts, depth - 1)
    _read_parameters(schema.get("items"), names, texts, depth - 1)
