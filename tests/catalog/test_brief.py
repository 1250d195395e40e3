"""Descriptions cut to their first sentence, without a word cut in two, and the names of required parameters."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.catalog.brief import brief, with_parameters
from search_mcp.model.visible import one_line

BRIEF = [
    # given, limit, then
    pytest.param("Reads a file.", 120, "Reads a file.", id="one sentence"),
    pytest.param("Reads a file. Then more.", 120, "Reads a file.", id="the first of two"),
    pytest.param("Reads a file", 120, "Reads a file", id="no end"),
    pytest.param("  Reads\n  a\tfile.  ", 120, "Reads a file.", id="white space"),
    pytest.param("Reads a file\n\nArgs:\n  path: x", 120, "Reads a file", id="a paragraph"),
    pytest.param("Reads a file\nof text. More.", 120, "Reads a file of text.", id="a line is no paragraph"),
    pytest.param("Really? Yes.", 120, "Really?", id="a question"),
    pytest.param("Now! And then.", 120, "Now!", id="an exclamation"),
    pytest.param('Says "hello." Then more.', 120, 'Says "hello.', id="a quotation"),
    pytest.param("Reads files (e.g. text files) whole. More.", 120, "Reads files (e.g. text files) whole.", id="e.g."),
    pytest.param(
        "Files, i.e. text, vs. data, etc. and more. X.", 120, "Files, i.e. text, vs. data, etc. and more.", id="etc."
    ),
    pytest.param("By J. R. Smith. More.", 120, "By J. R. Smith.", id="initials"),
    pytest.param("Takes 1.5 s with v2.0 of node.js. More.", 120, "Takes 1.5 s with v2.0 of node.js.", id="dots inside"),
    pytest.param("See https://a.b/c.d?e=f for it. More.", 120, "See https://a.b/c.d?e=f for it.", id="an address"),
    pytest.param("", 120, "", id="nothing"),
    pytest.param(" \n ", 120, "", id="white space only"),
    pytest.param("ファイルを読む。次の文。", 120, "ファイルを読む。", id="Japanese"),
    pytest.param("本当？はい。", 120, "本当？", id="Japanese question"),
    pytest.param("すごい！次。", 120, "すごい！", id="Japanese exclamation"),
    pytest.param("半角｡次｡", 120, "半角｡", id="half-width"),
    pytest.param("读取文件的内容。然后返回。", 120, "读取文件的内容。", id="Chinese"),
    pytest.param("파일을 읽습니다. 그리고 저장합니다.", 120, "파일을 읽습니다.", id="Korean"),
    pytest.param("파일을 읽을까요? 네.", 120, "파일을 읽을까요?", id="Korean question"),
    pytest.param("Reads the whole file", 10, "Reads the…", id="cut behind a word"),
    pytest.param("Reads the whole file", 14, "Reads the…", id="not inside the next"),
    pytest.param("Reads the whole file", 16, "Reads the whole…", id="right behind it"),
    pytest.param("Reads, slowly: the file", 8, "Reads…", id="no comma before the mark"),
    pytest.param("Reads it now", 12, "Reads it now", id="at the limit"),
    pytest.param("読むことができるファイル", 6, "読むことが…", id="Japanese has no spaces"),
    pytest.param("读取文件的全部内容", 5, "读取文件…", id="Chinese has no spaces"),
    pytest.param("파일을 읽고 내용을 보여줍니다", 9, "파일을 읽고…", id="Korean has spaces"),
    pytest.param("ファイルをread_text_fileで読む", 10, "ファイルを…", id="a Latin word in Japanese"),
    pytest.param("Pneumonoultramicroscopic", 6, "Pneum…", id="a word that is longer than the limit"),
]


@pytest.mark.parametrize(("text", "limit", "then"), BRIEF)
def test_a_description_is_cut_to_its_first_sentence(text: str, limit: int, then: str) -> None:
    assert brief(text, limit) == then


@given(st.text() | st.text("ab .,;。あ字한e.g\n", max_size=60), st.integers(1, 80))
def test_a_brief_description_is_a_beginning_within_the_limit(text: str, limit: int) -> None:
    short = brief(text, limit)
    assert len(short) <= limit
    assert one_line(short) == short
    whole = one_line(text)
    assert whole.startswith(short.removesuffix("…"))
    assert brief(short, limit) == short


@given(st.lists(st.text("abc", min_size=1, max_size=8), min_size=1, max_size=20), st.integers(9, 60))
def test_no_word_is_cut(words: list[str], limit: int) -> None:
    short = brief(" ".join(words), limit)
    assert short.removesuffix("…").split() == words[: len(short.removesuffix("…").split())]


WORDS = [f"wo{number:02}" for number in range(30)]
REQUIRED = [
    # description, required, then
    pytest.param("Edit a file.", ["path", "edits"], "Edit a file (path, edits)", id="the full stop goes"),
    pytest.param("Edit a file", ["path"], "Edit a file (path)", id="no full stop"),
    pytest.param("Edit a file!", ["path"], "Edit a file! (path)", id="another end"),
    pytest.param("ファイルを読む。", ["path"], "ファイルを読む (path)", id="a Japanese end"),
    pytest.param("Files, folders etc.", ["path"], "Files, folders etc. (path)", id="an abbreviation keeps its own"),
    pytest.param("Edit a file.", [], "Edit a file.", id="none is required"),
    pytest.param("Edit a file.", None, "Edit a file.", id="nothing is said of it"),
    pytest.param("Edit a file.", "path", "Edit a file.", id="no list"),
    pytest.param("", ["path"], "(path)", id="no description"),
    pytest.param("Edit.", ["path", 5, {}], "Edit (path)", id="members that are no names"),
    pytest.param("Edit.", ["a b", "x)\n- y", '"'], 'Edit ("a b", "x)\\n- y", "\\"")', id="no plain words"),
    pytest.param("Edit.", ["x" * 5000], 'Edit ("' + "x" * 100 + '…")', id="an endless name"),
    pytest.param("Edit.", ["パス", "first-name", "$id"], "Edit (パス, first-name, $id)", id="other plain words"),
    pytest.param("Edit.", WORDS, f"Edit ({', '.join(WORDS[:25])}, … 5 more)", id="too many"),
    pytest.param("Edit.", ["path", "path"], "Edit (path)", id="twice the same"),
]


@pytest.mark.parametrize(("description", "required", "then"), REQUIRED)
def test_required_parameters_are_appended(description: str, required: object, then: str) -> None:
    assert with_parameters(description, {"type": "object", "required": required}) == then


TEXT = {"type": "string"}
EDIT = {"type": "object", "properties": {"all": TEXT, "old": TEXT, "new": TEXT}, "required": ["old", "new"]}
LONG, MANY = "x" * 90, ", ".join(f"o{number:02}?" for number in range(15))
PARAMETERS = [
    # properties, required, the rest of the schema, then
    pytest.param({"a": TEXT, "b": TEXT}, ["b"], {}, "(b, a?)", id="optional ones come last"),
    pytest.param({"a": TEXT}, [], {}, "(a?)", id="none is required"),
    pytest.param({"edit": EDIT}, ["edit"], {}, "(edit: {old, new, all?})", id="an object"),
    pytest.param({"edits": {"items": EDIT}}, ["edits"], {}, "(edits: {old, new, all?}[])", id="a list of objects"),
    pytest.param({"edit": EDIT}, [], {}, "(edit?)", id="an object that is optional"),
    pytest.param({"names": {"items": TEXT}}, ["names"], {}, "(names)", id="a list of texts"),
    pytest.param({"a": {"properties": {"b": EDIT}}}, ["a"], {}, "(a: {b?})", id="an object in an object"),
    pytest.param(
        {"e": {"$ref": "#/$defs/E"}}, ["e"], {"$defs": {"E": EDIT}}, "(e: {old, new, all?})", id="a reference"
    ),
    pytest.param({"e": {"$ref": "#/properties/e"}}, ["e"], {}, "(e)", id="a reference to itself"),
    pytest.param(dict.fromkeys(map("o{:02}".format, range(25)), TEXT), [], {}, f"({MANY}, … 10 more)", id="too many"),
    pytest.param({"a": {"properties": {LONG: TEXT, "y": TEXT}}}, ["a"], {}, f"(a: {{{LONG}?, … 1 more}})", id="long"),
    pytest.param({"a": {"properties": {"b)\n- c": TEXT}}}, ["a"], {}, '(a: {"b)\\n- c"?})', id="no plain words"),
    pytest.param({"a": 5, "b": None}, ["a"], {}, "(a, b?)", id="no schemas"),
]


@pytest.mark.parametrize(("properties", "required", "rest", "then"), PARAMETERS)
def test_parameters_are_appended(
    properties: Mapping[str, object], required: list[str], rest: Mapping[str, object], then: str
) -> None:
    written = with_parameters("", {"properties": properties, "required": required, **rest})
    assert written == then


def test_many_required_parameters_are_counted() -> None:
    schema = {"type": "object", "required": [f"parameter_{number}" for number in range(100_000)]}
    assert len(with_parameters("Does it.", schema)) < 200
