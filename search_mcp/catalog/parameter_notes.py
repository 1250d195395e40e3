"""What the description of a parameter says of its values, in a few characters: `IANA name`, `seconds`, `e.g. main`.

A signature has room for a format, a unit, a few values or an example, but not for sentences. The texts come from
servers, so a note has only letters, digits and some signs: it cannot look like a part of the signature. Pure.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import islice

from search_mcp.model.visible import visible

LONGEST_READ = 300
"""Most characters of a parameter's description that are read."""
LONGEST_TEXT = 4_000
"""Most characters of a tool's description that are read."""
LONGEST_NOTE = 40
"""Most characters of a note."""
EXAMPLE = "e.g. "
"""The beginning of a note with an example."""
MOST_VALUES = 8
"""Most values of a list; a longer list is more likely to be prose."""
MOST_SENTENCES = 100
"""Most lines and sentences of a tool's description that are read."""

_compiled = cache(re.compile)  # compiled for the first signature, not at the start

_DATE = r"[YMDymd]{2,4}(?:[-/.]?[YMDymd]{2,4}){1,2}(?:[T ]HH:?[Mm]{2}(?::?[Ss]{2})?Z?)?|HH:[Mm]{2}(?::[Ss]{2})?"
_FORMATS = {
    "IANA name": r"IANA",
    "ISO 8601": r"ISO[ -]?8601",
    "RFC 3339": r"RFC[ -]?3339",
    "Unix time": r"[Uu]nix (?:time|epoch)",
    "base64": r"[Bb]ase64",
    "comma-separated": r"[Cc]omma[- ]separated",
    "glob": r"[Gg]lob",
    "regex": r"[Rr]egexp?|[Rr]egular [Ee]xpression",
    "absolute path": r"[Aa]bsolute (?:\w+ )?path",
    "JSON": r"JSON (?:string|text|object|array)|(?:as|in) JSON",
}
"""Formats of texts, each with the words that mean it. A date or time is a format that says more."""
# One of two formats is none: "absolute path, or a path relative to the current folder".
_FORMAT = rf"\b(?:({_DATE})|(?<!or )(?:{'|'.join(f'({words})' for words in _FORMATS.values())})(?!,? or ))\b"
_UNITS = (
    "milliseconds|seconds|minutes|hours|days|weeks|months|years|bytes|kilobytes|megabytes|characters|words|lines|pixels"
    "|tokens|percent|degrees|meters|kilometers|(?:0|1|zero|one)-based"
)
_SAFE = r"[\w ./:@#+*?=&%~!$-]"
_QUOTED = rf"'({_SAFE}+)'|\"({_SAFE}+)\"|`({_SAFE}+)`"
_EXAMPLE = (
    rf"(?i)(?:\be\.g\.|\bfor (?:example|instance)|\bsuch as|\bexamples?:|\blike|例[:：]|예[:：])[,:：]?\s*(?:{_QUOTED})"
    rf"|(?:\be\.g\.|\bsuch as|\bexamples?:)[,:]?\s*([\w./:@#+*-]{{1,{LONGEST_NOTE}}}+)(?=[,);]| or |$)"
)
_ANOTHER = rf"[^.;'\"`\n]{{0,60}}(?:,| and| or) (?:{_QUOTED})"
"""A second example: the first alone can mislead, as in `like '*.md' in this folder, or '**/*.md' in subfolders`."""
_DOCUMENTED = r"(?m)^[ \t]*+(?:[-*][ \t]*+)?[`*]*+(\w++)[`*]*+[ \t]*+(?:\([^)\n]*\))?:[ \t]+(\S.*)"
_CHOICE = r"(?i)\b(?:one of|either|whether|options?|must be|can be|possible|allowed|valid|supported)\b"
_LISTED = r"(?i)\bone of:? ((?:[\w.-]+(?:, or |, | or )){1,7}[\w.-]+)"


def text_note(description: str) -> str:
    """Write what a description says of a text: its format, else the few values that it may have, else an example."""
    about = description[:LONGEST_READ]
    if found := list(_compiled(_FORMAT).finditer(about)):
        dates = [each[1] for each in found if each[1]]
        return dates[0] if dates else [*_FORMATS][(found[0].lastindex or 0) - 2]
    example = _compiled(_EXAMPLE).search(about)
    if example is None:
        return _fitting("|".join(_values(about)))
    examples = filter(None, (example, _compiled(_ANOTHER).match(about, example.end())))
    written = [next(filter(None, each.groups())).rstrip(".:").strip() for each in examples]
    return _fitting(f"{EXAMPLE}{', '.join(written)}") or _fitting(f"{EXAMPLE}{written[0]}")


def number_note(name: str, description: str) -> str:
    """Write the unit of a number, unless its name has it."""
    found = _compiled(rf"(?i)\b(?:{_UNITS})\b").search(description[:LONGEST_READ])
    unit = found[0].lower() if found else ""
    return "" if unit.rstrip("s") in name.lower() else unit


def notes_in_text(description: str, names: Iterable[str]) -> Mapping[str, str]:
    """Return what a tool's description says of parameters that have none of their own.

    That is a line such as `path: the file`, as in the documentation of a function, else a sentence with the name.
    """
    wanted, said = set(names), dict[str, str]()
    if not wanted:
        return said
    text = description[:LONGEST_TEXT]
    for name, about in _compiled(_DOCUMENTED).findall(text):
        if name in wanted:
            said.setdefault(name, about)
    for sentence in islice(_sentences(text), MOST_SENTENCES):
        for name in wanted.intersection(_compiled(r"\w+").findall(sentence)):
            if name not in said and text_note(sentence):
                said[name] = sentence
    return said


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences after the first, which says what the tool does and is shown anyway."""
    return islice((each for each in _compiled(r"(?<=[.!?])\s+|\n+").split(text) if each), 1, None)


def _values(about: str) -> list[str]:
    """Return the values of a list, quoted or after `one of`; empty if they may be anything else."""
    listed = _compiled(_LISTED).search(about)
    if listed is not None:
        values = _compiled(r", or |, | or ").split(listed[1].rstrip("."))
    elif _compiled(_CHOICE).search(about):
        values = [next(filter(None, each)) for each in _compiled(_QUOTED).findall(about)]
    else:
        return []
    values = list(dict.fromkeys(values))
    if {*values} == {"true", "false"}:  # a case of several: "true or false for a checkbox, else the text"
        return []
    return values if 2 <= len(values) <= MOST_VALUES and all(" " not in each for each in values) else []


def _fitting(note: str) -> str:
    """Return a note if it is short and every character of it can be seen."""
    return note if len(note) <= LONGEST_NOTE and note.isprintable() and visible(note) == note else ""
