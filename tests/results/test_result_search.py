"""Searches in kept results: lines by regular expressions, parts of JSON by paths, and expressions that never end."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from search_mcp.results import result_search
from search_mcp.results.result_search import LONGEST_EXPRESSION, Found, Search, search, search_apart
from search_mcp.wire import payload
from search_mcp.wire.structs import replace

ROOM = 700
LINES = "\n".join(f"{number} {'match' if number % 10 == 5 else 'other'}" for number in range(1, 41))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "text"


def find(file: Path, text: str, *, room: int = ROOM, offset: int = 0, **wanted: str) -> Found:
    file.write_text(text, encoding="utf-8", newline="")
    return search(Search(str(file), ((0, len(text)),), room, offset, **wanted))


# Lines


def test_matching_lines_come_with_numbers_offsets_and_the_lines_around_them(file: Path) -> None:
    found = find(file, "zero\nfirst\nsecond match\nthird\nfourth\nfifth match\nsixth", pattern="match$")
    assert found.text.splitlines() == [
        "2-5- first", "3:11: second match", "4-24- third", "5-30- fourth", "6:37: fifth match", "7-49- sixth",
    ]  # fmt: skip
    assert found.about == "2 matches, each as line:offset: text; all are shown"


def test_groups_that_are_apart_are_separated(file: Path) -> None:
    found = find(file, LINES, pattern="match", room=10_000)
    assert found.text.splitlines()[:8] == [
        "4-24- 4 other", "5:32: 5 match", "6-40- 6 other", "--",
        "14-108- 14 other", "15:117: 15 match", "16-126- 16 other", "--",
    ]  # fmt: skip


def test_neighbouring_matches_are_shown_once(file: Path) -> None:
    found = find(file, "a1\na2\nb\na3", pattern="a")
    assert found.text.splitlines() == ["1:0: a1", "2:3: a2", "3-6- b", "4:8: a3"]


def test_a_search_goes_on_at_the_next_offset_until_all_is_shown(file: Path) -> None:
    shown: list[str] = []
    offset = 0
    for _ in range(20):
        found = find(file, LINES, pattern="match", offset=offset, room=100)
        assert len(found.text) <= 100
        shown += [line.split(": ")[1] for line in found.text.splitlines() if ": " in line]
        if "all are shown" in found.about:
            break
        offset = int(found.about.rpartition(" ")[2])
    assert shown == [f"{number} match" for number in (5, 15, 25, 35)]


@pytest.mark.parametrize("pattern", ["日本\\d+", "(?i)NEEDLE", "x(?=y)", "^日"])
def test_a_long_line_is_shown_around_each_match(file: Path, pattern: str) -> None:
    text = "日" * 5000 + "日本42 needle xy" + "語" * 5000 + "日本43 needle xy" + "👩\u200d👩" * 500
    found = find(file, text, pattern=pattern, room=2000)
    hits = found.text.splitlines()
    assert len(hits) == (1 if pattern == "^日" else 2)
    for hit in hits:
        number, offset, extract = hit.split(":", 2)
        assert number == "1"
        assert text[int(offset) :].startswith(extract.strip().strip("…"))
        assert len(extract) < 250


def test_a_long_line_is_continued_inside_it(file: Path) -> None:
    text = ("x" * 990 + "needle    ") * 100
    seen: list[int] = []
    offset = 0
    while len(seen) < 100:
        found = find(file, text, pattern="needle", offset=offset, room=1000)
        seen += [int(line.split(":")[1]) for line in found.text.splitlines()]
        if "next offset" not in found.about:
            break
        offset = int(found.about.rpartition(" ")[2])
    assert len(seen) == len(set(seen)) == 100


@pytest.mark.parametrize("text", ["", "a\nb\n"])
def test_no_match_says_so(file: Path, text: str) -> None:
    found = find(file, text, pattern="zzz")
    assert found == Found("", f"no line matches; the text has {text.count(chr(10))} lines")


def test_an_empty_match_ends(file: Path) -> None:
    assert find(file, "a\nb\n" + "x" * 1000, pattern="y*").about.startswith("13 matches")


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "(?P<a>x)(?P<a>y)", "a{1,99999999999999999999}"])
def test_a_wrong_pattern_is_explained(file: Path, pattern: str) -> None:
    found = find(file, "x", pattern=pattern)
    assert found.is_error
    assert found.about.startswith("pattern is not a regular expression of Python: ")


# Parts of JSON

PEOPLE: dict[str, Any] = {"people": [{"name": "Ada", "age": 36}, {"name": "ボブ", "age": 2}], "a/b": {"~": [1.5, None]}}

PATHS = [
    ("/people/1/name", "ボブ", "a string"),
    ("/people/0", '{"name":"Ada","age":36}', "an object with name, age"),
    ("/a~1b/~0", "[1.5,null]", "an array of 2"),
    ("people[?age > `10`].name", '["Ada"]', "an array of 1"),
    ("length(people)", "2", "a number"),
    ("people[].{n: name}", '[{"n":"Ada"},{"n":"ボブ"}]', "an array of 2, the first an object with n"),
    ("contains(people[].name, 'Ada')", "true", "a boolean"),
]


@pytest.mark.parametrize(("path", "text", "shape"), PATHS)
def test_a_path_selects_a_part(file: Path, path: str, text: str, shape: str) -> None:
    found = find(file, json.dumps(PEOPLE, ensure_ascii=False, indent=1), path=path)
    assert found == Found(text, f"{shape}, {len(text)} characters")


WRONG_PATHS = [
    ("/people/2", "path: /people has no '2'; it is an array of 2, the first an object with name, age"),
    ("/nobody", "path: the whole has no 'nobody'; it is an object with people, a/b"),
    ("/people/-", "path: /people has no '-'; it is an array of 2"),
    ("/people/0/name/x", "path: /people/0/name has no 'x'; it is a string"),
    ("people[", "path fails as JMESPath: "),
    ("nothing(people)", "path fails as JMESPath: "),
    ("sum(people)", "path fails as JMESPath: "),
]


@pytest.mark.parametrize(("path", "about"), WRONG_PATHS)
def test_a_wrong_path_is_explained(file: Path, path: str, about: str) -> None:
    found = find(file, json.dumps(PEOPLE), path=path)
    assert found.is_error
    assert found.about.startswith(about)


def test_a_path_that_selects_nothing_says_what_there_is(file: Path) -> None:
    assert find(file, json.dumps(PEOPLE), path="persons") == Found(
        "null", "path selects nothing; an object with people, a/b"
    )


def test_a_long_part_is_read_in_parts(file: Path) -> None:
    words = "日本語👩\u200d👩\u200d👧" * 300
    whole, offset, parts = json.dumps({"a": [words]}), 0, list[str]()
    while True:
        found = find(file, whole, path="a[0]", offset=offset, room=500)
        parts.append(found.text)
        if "this is the end" in found.about:
            break
        offset = int(found.about.partition("next offset ")[2].partition(",")[0])
    assert "".join(parts) == words


def test_several_json_texts_are_an_array(file: Path) -> None:
    file.write_text('{"n":1}\n{"n":2}')
    wanted = Search(str(file), ((0, 7), (8, 15)), ROOM, path="[].n")
    assert search(wanted).text == "[1,2]"


@pytest.mark.parametrize("text", ["no JSON", '{"a": 1', "[" * 300 + "]" * 300])
def test_other_text_has_no_parts(file: Path, text: str) -> None:
    found = find(file, text, path="/a")
    assert (found.is_error, found.about) == (True, "path needs JSON, and this text is not JSON; use pattern or offset")


# In a process of its own

LIMITED = "from search_mcp.results import result_search as it; it.{}; it.main()"


def run_apart(wanted: Search, program: tuple[str, ...]) -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, *program]
    return subprocess.run(command, input=payload.encode_bytes(wanted), capture_output=True, timeout=60)


def test_a_search_apart_finds_the_same(file: Path) -> None:
    file.write_text("a\nneedle ✓\nb", encoding="utf-8")
    wanted = Search(str(file), (), ROOM, pattern="n.*✓")
    assert search_apart(wanted) == search(wanted)


def test_a_pattern_that_never_ends_is_ended(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "-c", LIMITED.format("SECONDS = 1")
    monkeypatch.setattr(result_search, "PROGRAM", program)
    file.write_text("a" * 5000)
    wanted = Search(str(file), (), ROOM, pattern="(a|a)*b")
    assert search_apart(wanted).is_error
    # The process ends itself, also if the one that started it is gone.
    ended = run_apart(wanted, program)
    assert (ended.returncode, ended.stderr.splitlines()[0]) == (1, b"Timeout (0:00:01)!")


@pytest.mark.skipif(sys.platform != "linux", reason="only the time is limited")
def test_a_path_that_takes_all_memory_is_ended(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "-c", LIMITED.format("MOST_MEMORY = 200 << 20")
    monkeypatch.setattr(result_search, "PROGRAM", program)
    file.write_text("[1]")
    wanted = Search(str(file), ((0, file.stat().st_size),), ROOM, path="[@,@]" + "|[@,@]" * 60)
    found = search_apart(wanted)
    assert found == Found("", "path: the search fails: it may need too much memory; simplify it", is_error=True)
    # The process raises an error; a crash would leave a core dump.
    ended = run_apart(wanted, program)
    assert (ended.returncode, ended.stderr.split()[-1:]) == (1, [b"MemoryError"])


@pytest.mark.parametrize("key", ["pattern", "path"])
def test_a_long_expression_is_refused(file: Path, key: str) -> None:
    file.write_text("x")
    wanted = replace(Search(str(file), (), ROOM), **{key: "x" * (LONGEST_EXPRESSION + 1)})
    assert search_apart(wanted) == Found("", f"{key} is longer than 2,000 characters", is_error=True)


def test_a_file_that_is_gone_is_an_error(file: Path) -> None:
    with pytest.raises(FileNotFoundError):
        search_apart(Search(str(file), (), ROOM, pattern="x"))
