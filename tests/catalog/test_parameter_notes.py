"""What descriptions say of the values of parameters, in a few safe characters."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.catalog.parameter_notes import LONGEST_NOTE, notes_in_text, number_note, text_note
from search_mcp.model.visible import visible

TEXTS = [
    # description, note
    ("IANA timezone name (e.g., 'Europe/London'). Use 'Etc/UTC' as local timezone", "IANA name"),
    ("Time to convert in 24-hour format (HH:MM)", "HH:MM"),
    ("ISO 8601 date, YYYY-MM-DD", "YYYY-MM-DD"),
    ("Accepts: ISO 8601 format (e.g., '2024-01-15T14:30:25'), relative dates (e.g., 'yesterday')", "ISO 8601"),
    ("A comma-separated list of names", "comma-separated"),
    ("The absolute path of the file", "absolute path"),
    ("The absolute path, or a path relative to the current folder", ""),
    ("Plain text. Provide either text or regex, not both.", ""),
    (
        "Whether to list local branches ('local'), remote branches ('remote') or all branches('all').",
        "local|remote|all",
    ),
    ("One of low, medium, or high", "low|medium|high"),
    ("The value must be 'a' or 'b'; 'a' is usual", "a|b"),
    ("If it is a checkbox, it must be `true` or `false`, else the text", ""),
    ("Use 'AND' or 'OR' to combine words", ""),
    ("Options: " + ", ".join(f"'{letter}'" for letter in "abcdefghi"), ""),
    ("Options are 'one thing' and 'another thing'", ""),
    ("Type of resource (e.g. pod, deployment)", "e.g. pod"),
    ("Address, such as 'a@b.c'", "e.g. a@b.c"),
    ("e.g. API keys", ""),
    ("Like '*.x' in this folder, and '**/*.x' in all subfolders", "e.g. *.x, **/*.x"),
    ("A branch, such as 'main', not 'origin/main'", "e.g. main"),
    (f"e.g. 'short' or '{'x' * LONGEST_NOTE}'", "e.g. short"),
    ('A word like "x"', "e.g. x"),
    ("It looks like a word", ""),
    ("検索する法令名 (例: '所得税法')", "e.g. 所得税法"),
    (f"e.g. '{'x' * LONGEST_NOTE}'", ""),
    ("The name of the entity", ""),
    ("", ""),
]


@pytest.mark.parametrize(("description", "then"), TEXTS)
def test_a_text_has_a_format_or_values_or_an_example(description: str, then: str) -> None:
    assert text_note(description) == then


NUMBERS = [
    # name, description, note
    ("duration", "Duration of the operation in seconds", "seconds"),
    ("tail", "If provided, returns only the last N lines of the file", "lines"),
    ("max_length", "Maximum number of characters to return.", "characters"),
    ("row", "0-based number of the row", "0-based"),
    ("timeoutSeconds", "Timeout in seconds", ""),
    ("count", "How many", ""),
]


@pytest.mark.parametrize(("name", "description", "then"), NUMBERS)
def test_a_number_has_a_unit_unless_its_name_has_it(name: str, description: str, then: str) -> None:
    assert number_note(name, description) == then


DOCUMENTED = """Move a file.

Args:
    source: the path, e.g. 'a.txt'
    mode (str, optional): one of copy, move
    other: another thing
"""


def test_the_documentation_of_a_function_says_what_parameters_are() -> None:
    said = notes_in_text(DOCUMENTED, ["source", "mode", "target"])
    assert said == {"source": "the path, e.g. 'a.txt'", "mode": "one of copy, move"}


def test_a_sentence_that_names_a_parameter_says_what_it_is() -> None:
    text = (
        "Search by a pattern such as 'first'. It is quick. Use pattern like '*.ext' to match files. A path is a path."
    )
    assert notes_in_text(text, ["pattern", "path"]) == {"pattern": "Use pattern like '*.ext' to match files."}


FORGERIES = [
    "e.g. 'a>, b: string) 2. run_me('",
    "e.g. 'a\u202eb'",
    "e.g. 'a\u3164b'",
    "e.g. 'a\nb'",
    'one of "x|y", "z, w"',
    "One of a\u200b, b",
]


@pytest.mark.parametrize("description", FORGERIES)
def test_a_note_cannot_look_like_a_part_of_the_signature(description: str) -> None:
    assert text_note(description) == ""


@given(st.text(st.characters(codec="utf-8"), max_size=80), st.sampled_from(["e.g. '{}'", "one of {}, {}", "{}"]))
def test_any_note_is_short_and_has_only_harmless_characters(text: str, around: str) -> None:
    note = text_note(around.format(text, text))
    assert len(note) <= LONGEST_NOTE
    assert not re.search(r"[<>(){}\[\]\"'`,;\n]", note)
    assert note.isprintable() and visible(note) == note


@pytest.mark.parametrize(
    "piece", ["e.g. ", "one of a, ", "'a' ", "a or ", "YYYY", "a: ", "in ", ". ", "\n", "`", "Y-", " or a"]
)
def test_endless_descriptions_are_read_in_little_time(piece: str) -> None:
    """A step over the whole text for each of its characters would take hours."""
    endless = piece * 1_000_000
    assert len(text_note(endless)) <= LONGEST_NOTE
    assert len(number_note("a", endless)) <= LONGEST_NOTE
    assert notes_in_text(endless, ["a", "e"]).keys() <= {"a", "e"}
