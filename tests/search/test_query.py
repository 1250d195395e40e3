"""Parsing of queries."""

import pytest

from search_mcp.search.query import LONGEST_QUERY, MOST_WORDS, Query, parse, plain


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("", Query("", ())),
        ("please read the file", Query("please read the file", ("read", "file"))),
        ("what is this", Query("what is this", ("what", "is", "this"), implied=("get", "show", "list", "current"))),
        ("What's the weather?", Query("What's the weather?", ("weather",), implied=("get", "show", "list", "current"))),
        ("“How many” rows", Query("“How many” rows", ("rows",), implied=("get", "list", "count", "number"))),
        ("server:s is it up", Query("is it up", ("s", "is", "it", "up"), implied=("check", "status"), servers=("s",))),
        # not questions: requests, and question words in other places
        ("how do I read a file", Query("how do I read a file", ("read", "file"))),
        ("can you read the file", Query("can you read the file", ("read", "file"))),
        ("read what is new", Query("read what is new", ("read", "new"))),
        ("whatever", Query("whatever", ("whatever",))),
        ("please note my number", Query("please note my number", ("number",))),
        ("note my number", Query("note my number", ("note", "number"))),
        ("for example", Query("for example", ("example",))),
        ("server:github issue", Query("issue", ("github", "issue"), servers=("github",))),
        ('"pull request" list', Query("pull request  list", ("pull", "request", "list"), exact=("pull request",))),
        ("read -directory", Query("read", ("read",), without=("directory",))),
        # no operators: inside a word, before a digit, without a space
        ("e-mail", Query("e-mail", ("e", "mail"))),
        ("5 -3", Query("5 -3", ("5", "3"))),
        ('12" screen"', Query('12" screen"', ("12", "screen"))),
        ("webserver:github", Query("webserver:github", ("webserver", "github"))),
        ("server: github", Query("server: github", ("server", "github"))),
    ],
)
def test_queries(text: str, query: Query) -> None:
    assert parse(text) == query


def test_a_long_request_has_no_operators() -> None:
    text = 'create a file named "notes" in the folder -tmp of server:one with the text of my last message'
    assert parse(text) == plain(text)
    assert parse(text).exact == ()


def test_a_long_request_has_clauses() -> None:
    text = (
        "Read the big file over there and then "
        + "convert it to a much shorter text for me " * 4
        + ". Send it now please!"
    )
    assert [clause[0] for clause in parse(text).clauses] == ["Read", "convert", "Send"]
    assert parse("Read the file. Then send it.").clauses == ()
    assert parse("one two three " * 12).clauses == ()


def test_only_the_beginning_of_a_long_query_is_read() -> None:
    query = parse("file " * 10_000)
    assert len(query.text) <= LONGEST_QUERY
    assert len(query.words) == MOST_WORDS
    assert len(parse("\ufdfa" * LONGEST_QUERY).text) <= LONGEST_QUERY  # one character that stands for eighteen


@pytest.mark.parametrize(
    "question",
    [
        "Welche Commits gibt es?",
        "Quels fichiers y a-t-il ?",
        "¿Qué tablas hay?",
        "Quais arquivos mudaram?",
        "Какие ветки есть?",
        "どのファイルが変更されましたか",
        "这个数据库有哪些表",
        "그 폴더에는 어떤 파일이 있어?",
    ],
)
def test_questions_in_other_languages_imply_to_read(question: str) -> None:
    assert {"get", "show", "list"} <= set(plain(question).implied)


@pytest.mark.parametrize(
    "request_", ["Erstelle einen Branch", "Crée une branche", "ファイルを書いてくれますか", "创建一个分支", "no idea"]
)
def test_requests_in_other_languages_are_no_questions(request_: str) -> None:
    assert plain(request_).implied == ()


@pytest.mark.parametrize(
    ("query", "sought"),
    [
        ("don't delete the notes, list them", ("notes", "list")),
        ("do not edit, read the note", ("read", "note")),
        ("read the note without changing it", ("read", "note")),
        ("Notiz nicht löschen, nur anzeigen", ("Notiz", "nur", "anzeigen")),
        ("ne supprime pas la note", ("note",)),
        ("no borres la nota", ("nota",)),
        ("no internet connection", ("internet", "connection")),
        ("não apague a nota", ("nota",)),
        ("не удаляй файл", ("файл",)),
        ("ノートを削除しないで", ("ノートを",)),
        ("不要删除笔记", ("笔记",)),
        ("노트를 삭제하지 말고", ("노트를",)),
        ("don't delete", ("delete",)),  # nothing else to look for
        ("nicht gespeicherte Dateien", ("nicht", "gespeicherte", "Dateien")),  # describes the files
        ("не прочитанные письма", ("прочитанные", "письма")),
        ("存在しないファイル", ("存在しないファイル",)),
    ],
)
def test_negated_verbs_are_not_looked_for(query: str, sought: tuple[str, ...]) -> None:
    assert plain(query).words == sought
