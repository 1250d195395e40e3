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
