"""Word lists: well formed, without duplicates and useless entries, and read by the first search only."""

import subprocess
import sys
import unicodedata
import zipfile
from importlib.resources import files
from itertools import pairwise, permutations
from pathlib import Path

import pytest

import search_mcp
from search_mcp.search import word_lists
from search_mcp.search.analysis import words
from search_mcp.search.query import plain
from search_mcp.search.stems import stem
from search_mcp.search.word_lists import fillers, lines, read

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
    assert all(line == line.lower() for line in lines(file))


# Each file


def synonyms() -> list[list[str]]:
    return [line.split() for line in lines(word_lists.SYNONYMS)]


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
        listed = [word for line in section.splitlines() if not line.startswith("#") for word in line.split()]
        assert listed == sorted(listed)
        found += listed
    assert len(set(found)) == len(found)
    assert all([word] == words(word.casefold()) for word in found)


def test_filler_phrases_are_in_order_and_unique() -> None:
    phrases = list(lines(word_lists.FILLER_PHRASES))
    assert all(one < other for one, other in pairwise(phrases))
    assert all(word_lists.filler_phrases().sub("", f"notes {phrase} here") == "notes  here" for phrase in phrases)


def test_every_beginning_of_a_question_is_recognized() -> None:
    assert len(word_lists.questions()) == sum(line.count(",") + 1 for line in lines(word_lists.QUESTIONS))
    for beginning, implied in word_lists.questions().items():
        assert beginning and implied
        assert plain(f"{beginning} notes").implied == word_lists.questions()[beginning]
        assert set(word_lists.questions()[beginning]).isdisjoint(fillers())


@pytest.mark.parametrize("file", [word_lists.EUROPEAN, word_lists.EAST_ASIAN])
def test_every_english_word_has_translations(file: str) -> None:
    assert all(others for _, others in word_lists.translations(file))


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
