"""Word lists: well formed, without duplicates and useless entries, and read by the first search only."""

import subprocess
import sys
import unicodedata
import zipfile
from collections.abc import Sequence
from importlib.resources import files
from itertools import pairwise, permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import search_mcp
from search_mcp.search import word_lists
from search_mcp.search.analysis import words
from search_mcp.search.query import plain
from search_mcp.search.stems import stem
from search_mcp.search.word_lists import WordListError, entries, fillers, implications, lines, read

EVERY = (
    word_lists.SYNONYMS,
    word_lists.FILLERS,
    word_lists.FILLER_PHRASES,
    word_lists.QUESTIONS,
    word_lists.EUROPEAN,
    word_lists.EAST_ASIAN,
)


# All files


def test_every_file_is_read() -> None:
    assert sorted(each.name for each in files("search_mcp.search").joinpath("data").iterdir()) == sorted(EVERY)


@pytest.mark.parametrize("file", EVERY)
def test_a_file_has_a_heading_and_a_uniform_format(file: str) -> None:
    text = read(file)
    assert text.startswith("# ")
    assert text.endswith("\n")
    assert text == unicodedata.normalize("NFC", text)
    assert all(line == " ".join(line.split()) and len(line) <= 120 for line in text.splitlines())
    assert all(line == line.lower() for _, line in lines(text))


# Each file


def synonyms() -> list[list[str]]:
    return [line.split() for _, line in lines(read(word_lists.SYNONYMS))]


def test_synonyms_are_groups_of_plain_words() -> None:
    for group in synonyms():
        assert len(group) <= 12, group
        assert all(word.isascii() and word.isalnum() for word in group), group


def test_the_words_of_a_group_of_synonyms_have_different_stems() -> None:
    for group in synonyms():
        assert len(set(map(stem, group))) == len(group), group


def test_every_group_of_synonyms_adds_to_those_above_it() -> None:
    related: set[tuple[str, ...]] = set()
    for group in synonyms():
        pairs = set(permutations(map(stem, group), min(len(group), 2)))
        assert not pairs <= related, group
        related |= pairs


def test_fillers_are_in_order_and_unique() -> None:
    found: list[str] = []
    for section in read(word_lists.FILLERS).split("\n\n"):
        listed = [word for _, line in lines(section) for word in line.split()]
        assert listed == sorted(listed)
        found += listed
    assert len(set(found)) == len(found)
    assert all([word] == words(word.casefold()) for word in found)


def test_filler_phrases_are_in_order_and_unique() -> None:
    phrases = [line for _, line in lines(read(word_lists.FILLER_PHRASES))]
    assert all(one < other for one, other in pairwise(phrases))
    assert all(word_lists.filler_phrases().sub("", f"notes {phrase} here") == "notes  here" for phrase in phrases)


def test_every_beginning_of_a_question_is_recognized() -> None:
    beginnings = [beginning for beginning, _ in implications(word_lists.QUESTIONS, read(word_lists.QUESTIONS))]
    assert len(set(beginnings)) == len(beginnings)
    for beginning in beginnings:
        assert plain(f"{beginning} notes").implied == word_lists.questions()[beginning]
        assert set(word_lists.questions()[beginning]).isdisjoint(fillers())


# The format

WORD = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)
NOISE = st.sampled_from(["", "# a comment", "#", "  ", "\t"])


@given(st.lists(st.tuples(st.lists(WORD, min_size=2, max_size=5), st.lists(NOISE, max_size=3))))
def test_entries_that_are_written_are_read(written: Sequence[tuple[list[str], list[str]]]) -> None:
    text = "".join(f"{line}\n" for words, noise in written for line in (*noise, " ".join(words)))
    assert list(entries("any.txt", text)) == [(word, others) for (word, *others), _ in written]


@given(st.lists(st.tuples(WORD, st.lists(WORD, min_size=1, max_size=5))))
def test_implications_that_are_written_are_read(written: Sequence[tuple[str, list[str]]]) -> None:
    text = "".join(f"{beginning}: {' '.join(implied)}\n" for beginning, implied in written)
    assert list(implications("any.txt", text)) == [(beginning, tuple(implied)) for beginning, implied in written]


def test_an_entry_of_one_word_is_an_error() -> None:
    with pytest.raises(WordListError, match=r"data/any\.txt, line 3: expected other words after 'three'"):
        list(entries("any.txt", "# heading\none two\nthree\n"))


@pytest.mark.parametrize("line", ["what get", "what:", ": get"])
def test_a_question_without_implied_words_is_an_error(line: str) -> None:
    with pytest.raises(WordListError, match=r"data/any\.txt, line 1: expected 'beginning: implied words'"):
        list(implications("any.txt", line))


# Where and when they are read

FIRST_SEARCH = """
import sys
opened = []
sys.addaudithook(lambda event, args: event == "open" and opened.append(str(args[0])))
read = lambda: sorted({name for name in FILES if any(path.endswith(name) for path in opened)})
from search_mcp.search import build
search = build([{"server": "notes", "tool": "read_note", "description": "Read a note."}])
print(read())
print(search("what is in this memo", 1)[0][0], read())
"""


def test_they_are_read_by_the_first_search() -> None:
    code = f"FILES = {EVERY}{FIRST_SEARCH}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    before, after = done.stdout.splitlines()
    assert before == "[]"
    assert after == f"notes.read_note {sorted(set(EVERY) - {word_lists.EUROPEAN, word_lists.EAST_ASIAN})}"


ZIPPED = """
import search_mcp.search as search
print(search.__file__)
print(search.build([{"server": "notes", "tool": "read_note", "description": "Read a note."}])("lire memo", 1)[0][0])
"""


def test_they_are_found_in_a_zip_file(tmp_path: Path) -> None:
    package, archive = Path(search_mcp.__file__).parent, tmp_path / "package.zip"
    with zipfile.ZipFile(archive, "w") as written:
        for path in (package / "__init__.py", *(package / "search").rglob("*.*")):
            if path.suffix in (".py", ".txt"):
                written.write(path, path.relative_to(package.parent))
    code = f"import sys; sys.path.insert(0, {str(archive)!r})\n{ZIPPED}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    place, found = done.stdout.splitlines()
    assert place.startswith(str(archive))
    assert found == "notes.read_note"
