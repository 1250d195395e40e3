"""Declared effects: they order nearly equal tools, and a destructive tool fits only if it covers the query."""

import pytest
from search_samples import index_of

from search_mcp.search import Document, Effect, Index


def index(**effects: Effect) -> Index:
    """Index tools of one server that differ only in name and effect."""
    documents = (
        Document(f"s.{name}", "s", name, "Works on the notes of a project.", effect=effect)
        for name, effect in effects.items()
    )
    return index_of(*documents)


def names(found: Index, query: str) -> list[str]:
    return [hit.name.partition(".")[2] for hit in found.search(query, 10)]


def test_of_equal_tools_the_least_harmful_comes_first() -> None:
    effects = {"a": Effect.DESTROYS, "b": Effect.UNDECLARED, "c": Effect.ADDS, "d": Effect.READS}
    assert names(index(**effects), "notes of the project") == ["d", "c", "b", "a"]
    assert names(index(**effects), "s") == ["d", "c", "b", "a"]  # the server's name


def test_a_destructive_tool_with_a_slightly_better_score_is_not_first() -> None:
    found = index_of(
        Document("s.a", "s", "a", "Notes of a project.", effect=Effect.DESTROYS),
        Document("s.b", "s", "b", "Some notes of a project.", effect=Effect.ADDS),
    )
    assert names(found, "project notes") == ["b", "a"]


def test_a_destructive_tool_is_first_if_its_verb_is_in_the_query() -> None:
    found = index(delete_notes=Effect.DESTROYS, read_notes=Effect.READS, write_notes=Effect.ADDS)
    assert names(found, "delete notes")[0] == "delete_notes"
    assert names(found, "remove a note")[0] == "delete_notes"
    assert names(found, "notes")[0] == "read_notes"


def test_a_question_prefers_tools_that_read() -> None:
    found = index_of(
        Document("s.a", "s", "a", "Changes of notes.", effect=Effect.ADDS),
        Document("s.b", "s", "b", "The changes of all notes in the project.", effect=Effect.READS),
    )
    assert names(found, "changes of notes") == ["a", "b"]
    assert names(found, "which changes of notes") == ["b", "a"]


@pytest.mark.parametrize(
    ("read_only", "destructive", "effect"),
    [
        (True, None, Effect.READS),
        (True, True, Effect.READS),  # "This property is meaningful only when `readOnlyHint == false`"
        (False, True, Effect.DESTROYS),
        (None, True, Effect.DESTROYS),
        (False, None, Effect.DESTROYS),  # the default
        (False, False, Effect.ADDS),
        (None, False, Effect.ADDS),
        (None, None, Effect.UNDECLARED),
        ("yes", 1, Effect.UNDECLARED),
    ],
)
def test_hints(read_only: object, destructive: object, effect: Effect) -> None:
    assert Effect.declared(read_only, destructive) is effect


# Queries that the first tool fits

DELETES = Document("s.delete_note", "s", "delete_note", "Delete a note.", effect=Effect.DESTROYS)
READS = Document("s.read_file", "s", "read_file", "Read a file.", effect=Effect.READS)
LISTS = Document("s.list_files", "s", "list_files", "List the files.", effect=Effect.READS)


@pytest.mark.parametrize(
    ("query", "fits"),
    [
        ("delete a note", True),
        ("remove this memo", True),
        ("delete_note", True),
        ("s", True),
        ("s.read_file", True),
        ("read a file", True),
        ("delete a file", False),  # deletes something else
        ("delete", True),
        ("send an invoice", False),
        ("read the weather forecast for the weekend", False),
        ("zebra", False),
        ("", False),
        ("server:s delete note", True),
    ],
)
def test_whether_the_first_tool_fits(query: str, fits: bool) -> None:
    assert index_of(DELETES, READS, LISTS).answer(query, 5).fits is fits


def test_names_and_values_need_not_be_covered() -> None:
    found = index_of(READS, DELETES)
    assert found.answer("read the file quarkington.zyx", 5).fits
    assert found.answer("read the file 20261122", 5).fits
    assert found.answer("read the file 4b825dc642cb6eb9-9f3c2ab-7d1e0f4", 5).fits


def test_nothing_fits_in_an_empty_index() -> None:
    assert not Index().answer("read a file", 5).fits


def test_nothing_fits_with_a_limit_of_none() -> None:
    assert not index_of(READS).answer("read a file", 0).fits
