"""Results of searches, and properties that hold for every catalogue."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search_samples import TOOLS, index_of, tool

from search_mcp.search import Document, Hit, Index, build, documents
from search_mcp.search.documents import Field

INDEX = index_of(*TOOLS)


def names(hits: list[Hit]) -> list[str]:
    return [hit.name for hit in hits]


def first(query: str) -> str:
    return INDEX.search(query, 1)[0].name


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # names, in any spelling
        ("fs.read_file", "fs.read_file"),
        ("fs__read_file", "fs.read_file"),
        ("read_file", "fs.read_file"),
        ("readFile", "fs.read_file"),
        ("READ-FILE", "fs.read_file"),
        ("search_files", "fs.searchFiles"),
        ("search files", "fs.searchFiles"),
        ("forecast", "weather.forecast"),
        ("ｒｅａｄ＿ｆｉｌｅ", "fs.read_file"),
        # common requests
        ("read a file", "fs.read_file"),
        ("rename file", "fs.move_file"),
        ("open issues on github", "github.list_issues"),
        ("What time is it now in Tokyo?", "time.get_current_time"),
        ("create branch", "git.git_create_branch"),
        ("run query on database", "db.execute_sql"),
        ("emoji", "slack.add_reaction"),
        # synonyms
        ("show folder", "fs.list_directory"),
        ("delete or relocate documents", "fs.move_file"),
        ("new bug in a repository", "github.create_issue"),
        ("snapshot of website", "web.take_screenshot"),
        ("temperature tomorrow", "weather.forecast"),
        ("latitude of an address", "maps.geocode"),
        # word forms
        ("committing", "git.git_commit"),
        ("converter of times", "time.convert_time"),
        # typing mistakes
        ("screnshot", "web.take_screenshot"),
        ("wether forcast", "weather.forecast"),
        ("lsit direcotry", "fs.list_directory"),
        ("chanels", "slack.list_channels"),
        # questions
        ("what time is it", "time.get_current_time"),
        ("Which issues are there?", "github.list_issues"),
        ("what changed", "git.git_diff_unstaged"),
        # other languages
        ("ファイルを読む", "fs.read_file"),
        ("读取文件", "fs.read_file"),
        ("파일 읽기", "fs.read_file"),
        ("Datei lesen", "fs.read_file"),
        ("leer archivos", "fs.read_file"),
        ("lire un fichier", "fs.read_file"),
        ("ler o arquivo", "fs.read_file"),
        ("прочитать файл", "fs.read_file"),
        ("Wetterbericht", "weather.forecast"),
        ("メールを送る", "mail.send_email"),
        # a request in many words
        (
            (
                "Hello! I have been working on this all day and I would really like you to please help me to send an "
                "email to my boss about it, so that she knows that I am done and can go home."
            ),
            "mail.send_email",
        ),
        # without spaces between words
        ("請求書を発行", "帳簿.create_invoice"),
        ("取引先 一覧", "帳簿.list_partners"),
        ("피자 시켜줘", "배달.order_pizza"),
        ("배달상태 조회", "배달.track_delivery"),
        ("我想查一下火车票", "铁路.query_tickets"),
        ("帮我订酒店", "铁路.book_hotel"),
        ("票", "铁路.query_tickets"),
    ],
)
def test_the_best_tool_comes_first(query: str, expected: str) -> None:
    assert first(query) == expected


def test_a_long_request_finds_a_tool_for_each_of_its_parts() -> None:
    request = (
        "I am preparing tomorrow's release. First, create an issue in our repository about the broken login page. "
        "Then post a message to the channel of the team with a link to it. "
        "Finally, tell me the weather forecast for the coming days in Lisbon."
    )
    assert {"github.create_issue", "slack.post_message", "weather.forecast"} <= set(names(INDEX.search(request, 5)))


def test_a_long_request_without_spaces_has_parts_too() -> None:
    request = (
        "明日の出張の準備をしています。まず、取引先の一覧を取得して、内容を確認させてください。"
        "その後、請求書を作成して、金額を確認してください。"
    )
    assert set(names(INDEX.search(request, 2))) == {"帳簿.list_partners", "帳簿.create_invoice"}


def test_a_question_prefers_tools_that_get_or_list() -> None:
    index = index_of(
        tool("s", "create_issue", "Create an issue."),
        tool("s", "list_issues", "List what was reported."),
        tool("t", "create_user", "Create a user."),
        tool("t", "list_users", "List all of the users."),
        tool("t", "list_groups", "List all of the groups."),
    )
    assert names(index.search("issue", 5)) == ["s.create_issue", "s.list_issues"]
    assert names(index.search("which issue", 5)) == ["s.list_issues", "s.create_issue"]
    assert names(index.search("create whichever issue", 5))[0] == "s.create_issue"
    assert names(index.search("which pizza", 5)) == []  # implied words find nothing by themselves
    assert "list (" in str(index.explain("which issue", "s.list_issues"))


def test_two_words_also_find_one_compound() -> None:
    index = index_of(
        tool("s", "create_webhook", "Call an address when something happens."),
        tool("t", "search_web", "Search the web."),
        tool("t", "list_hooks", "List each hook."),
    )
    assert "s.create_webhook" in names(index.search("web hook", 3))
    assert "s.create_webhook" not in names(index.search("hook web", 3))


def test_few_tools_in_the_language_of_a_query_do_not_hide_the_others() -> None:
    index = index_of(
        tool("s", "read_file", "Read a file."),
        *(tool("s", f"work_{number}", f"Work on file {number}.") for number in range(20)),
        tool("税", "search", "文件を検索します。"),
    )
    assert names(index.search("读取文件", 1)) == ["s.read_file"]
    assert names(index.search("検索", 1)) == ["税.search"]


def test_a_servers_name_selects_its_tools() -> None:
    assert {name.split(".")[0] for name in names(INDEX.search("slack", 3))} == {"slack"}
    assert {name.split(".")[0] for name in names(INDEX.search("Git", 4))} == {"git"}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("server:github issues", {"github"}),
        ("SERVER:github server:git changes in repository", {"git", "github"}),
        ('server:"github" message', {"github"}),
        ("server:slack", {"slack"}),
    ],
)
def test_a_query_can_be_limited_to_servers(query: str, expected: set[str]) -> None:
    assert {name.split(".")[0] for name in names(INDEX.search(query, 20))} == expected


def test_the_caller_can_limit_a_search_to_a_server() -> None:
    assert set(names(INDEX.search("list", 20, server="slack"))) == {"slack.list_channels"}
    assert INDEX.search("list", 20, server="nobody") == []
    assert INDEX.search("slack", 20, server="github") == []


def test_an_unknown_server_is_a_word() -> None:
    assert first("server:githb list") == "github.list_issues"


def test_words_can_be_excluded() -> None:
    assert "slack.post_message" in names(INDEX.search("message", 20))
    assert "slack.post_message" not in names(INDEX.search("message -channel", 20))
    assert INDEX.search("-message", 20) == []


def test_quoted_words_are_required_if_some_tool_contains_them() -> None:
    assert names(INDEX.search('"overwrite"', 20)) == ["fs.write_file"]
    assert names(INDEX.search('issue "emoji reaction"', 20)) == ["slack.add_reaction"]
    assert names(INDEX.search('issue "no such words"', 20))[0].startswith("github.")


def test_operators_are_plain_text_in_a_long_request() -> None:
    request = (
        'please create a new issue with the title "pull request" in the repository and do not touch -anything else'
    )
    assert first(request) == "github.create_issue"


@pytest.mark.parametrize("query", ["", " ", "\n\t", "!?", "…", "\x00", "\ud800", "xyzzyqwfp"])
def test_an_empty_or_unknown_query_finds_nothing(query: str) -> None:
    assert INDEX.search(query, 5) == []


def test_filler_words_are_searched_if_there_are_no_others() -> None:
    index = index_of(tool("a", "what_is_this", "Say it."), tool("a", "other", "Something."))
    assert names(index.search("what is this", 1)) == ["a.what_is_this"]
    assert names(index.search("what this", 1)) == ["a.what_is_this"]


@pytest.mark.parametrize("limit", [-1, 0])
def test_no_answer_is_longer_than_its_limit(limit: int) -> None:
    assert INDEX.search("file", limit) == []


def test_tools_with_equal_scores_are_in_order_of_their_names() -> None:
    tools = [tool("s", name, "The same.") for name in ("c", "a", "b")]
    assert names(index_of(*tools).search("same", 3)) == ["s.a", "s.b", "s.c"]


def test_of_equal_names_one_is_kept_in_either_order() -> None:
    twins = [tool("s", "twin", "Paint a wall."), tool("s", "twin", "Bake a cake.")]
    for order in (twins, twins[::-1]):
        index = index_of(*order)
        assert len(index) == 1
        assert names(index.search("bake", 5)) == ["s.twin"]
        assert index.search("paint", 5) == []


def test_a_name_of_two_servers_is_found_once() -> None:
    tools = [Document("a.b.c", "a", "b.c", "A cake."), Document("a.b.c", "a.b", "c", "A cake.")]
    assert names(index_of(*tools).search("cake", 5)) == ["a.b.c"]


def test_build_takes_mappings() -> None:
    catalogue: list[dict[str, Any]] = [
        {"server": "s", "tool": "bake", "description": "Bake a cake.", "inputSchema": {"properties": {"flour": {}}}},
        {"server": "s", "tool": "paint", "description": None, "tags": ["colour"], "category": "craft"},
    ]
    search = build(catalogue)
    assert [name for name, _ in search("flour", 5)] == ["s.bake"]
    assert [name for name, _ in search("craft colours", 5)] == ["s.paint"]


@given(st.permutations(TOOLS), st.sampled_from(["list files", "message", "server:git changes", "wether", "取引先"]))
@settings(max_examples=40, deadline=None)
def test_the_order_of_the_catalogue_does_not_matter(tools: list[Document], query: str) -> None:
    assert index_of(*tools).search(query, 20) == INDEX.search(query, 20)


@pytest.mark.parametrize("document", TOOLS, ids=lambda document: document.name)
def test_every_tool_is_found_by_its_names(document: Document) -> None:
    assert first(document.name) == document.name
    assert first(document.tool) == document.name


NAMES = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1, max_size=12)


@given(st.lists(NAMES, min_size=1, max_size=4, unique=True))
@settings(max_examples=100, deadline=None)
def test_every_tool_of_any_name_is_found_by_it(tool_names: list[str]) -> None:
    tools = [Document(f"any.{name}", "any", name) for name in tool_names]
    index = index_of(*TOOLS, *tools)
    for document in tools:
        assert names(index.search(document.name, 1)) == [document.name]


@given(NAMES, st.text(max_size=80))
@settings(max_examples=100, deadline=None)
def test_an_exact_name_is_first_whatever_else_is_added(name: str, description: str) -> None:
    newcomer = Document(f"new.{name}", "new", name, description)
    index = index_of(*TOOLS, newcomer)
    for document in TOOLS:
        assert names(index.search(document.name, 1)) == [document.name]


@given(st.lists(st.builds(tool, st.just("guest"), NAMES, st.text(max_size=40)), max_size=5))
@settings(max_examples=50, deadline=None)
def test_a_removed_server_has_no_effect(tools: list[Document]) -> None:
    index = index_of(*TOOLS)
    queries = ["list files", "mesage chanel", "guest", "forecast", "取引先", *(document.tool for document in tools)]
    index.add("guest", tools)
    index.remove("guest")
    assert len(index) == len(TOOLS)
    assert [index.search(query, 20) for query in queries] == [INDEX.search(query, 20) for query in queries]


LISTS = st.lists(st.sampled_from(TOOLS), max_size=6, unique_by=lambda document: document.tool)
QUERIES = ("list files", "message", "wether", "brnch", "screnshot")


@given(st.lists(LISTS, min_size=1, max_size=5), st.sampled_from(QUERIES))
@settings(max_examples=200)
def test_a_server_that_changes_is_searched_like_a_new_one(lists: list[list[Document]], query: str) -> None:
    index = Index()
    for each in lists:
        documents = [replace(document, name=f"one.{document.tool}", server="one") for document in each]
        index.add("one", documents)
    new = Index()
    new.add("one", documents)
    assert index.search(query, 10) == new.search(query, 10)
    index.remove("one")
    assert index.search(query, 10) == []


def test_only_the_tools_that_changed_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def tool_texts(document: Document) -> Iterator[tuple[Field, str]]:
        read.append(document.tool)
        return documents.tool_texts(document)

    index = Index()
    tools = [tool("fs", f"read_{number}", "Reads.") for number in range(5)]
    index.add("fs", tools)
    monkeypatch.setattr("search_mcp.search.indexed_tools.tool_texts", tool_texts)
    index.add("fs", [*tools[:3], tool("fs", "read_3", "Reads it all.")])
    assert sorted(read) == ["read_3", "read_3", "read_4"]  # as it was and as it is, and what is gone


def test_adding_a_server_again_replaces_its_tools() -> None:
    index = index_of(tool("s", "old", "Bake."), tool("t", "kept", "Bake."))
    index.add("s", [tool("s", "new", "Bake.")])
    assert names(index.search("bake", 5)) == ["s.new", "t.kept"]
    index.remove("nobody")
    assert len(index) == 2


@given(st.text(st.characters(codec=None), max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_text_gets_an_answer(query: str) -> None:
    hits = INDEX.search(query, 5)
    assert len(hits) <= 5
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.name))
    assert INDEX.explain(query, "fs.read_file") is not None


@given(st.text(st.characters(codec=None), max_size=100), st.text(st.characters(codec=None), max_size=100))
@settings(max_examples=100, deadline=None)
def test_any_text_can_be_in_the_catalogue(name: str, description: str) -> None:
    index = index_of(*TOOLS)
    index.add("odd", [Document(name, "odd", name, description, {"properties": {description: name}})])
    index.search(description, 5)
    index.remove("odd")
    assert len(index) == len(TOOLS)


@pytest.mark.parametrize(
    "query",
    [
        "file " * 100_000,
        "a" * 1_000_000,
        "読む" * 100_000,
        "-a " * 12,
        "\ud800" * 10_000,
        "fi1e_Path" * 1_000,
        '"' * 5_000,
    ],
    ids=lambda query: f"{query[:8]!a}",
)
def test_huge_queries_get_an_answer(query: str) -> None:
    assert len(INDEX.search(query, 5)) <= 5


def test_many_tools_of_one_name_are_one_tool() -> None:
    index = Index()
    index.add("s", [tool("s", "same", "Bake a cake.")] * 100_000)
    assert names(index.search("cake", 5)) == ["s.same"]


def test_beyond_the_reading_budget_the_best_still_come_first() -> None:
    crowd = [tool("crowd", f"get_item_{number}", "Get an item from the store.") for number in range(3_000)]
    index = index_of(*crowd, *TOOLS)
    assert names(index.search("get current time", 1)) == ["time.get_current_time"]
    assert names(index.search("get item from weather forecast", 1)) == ["weather.forecast"]
    assert names(index.search("get item 1234", 1)) == ["crowd.get_item_1234"]


def test_an_explanation_is_readable_text() -> None:
    explanation = INDEX.explain("read folder", "fs.read_file")
    assert explanation is not None
    assert explanation.score > 0
    text = str(explanation)
    assert text.startswith("fs.read_file: ")
    assert "read" in text
    assert "in name, summary" in text
    assert "not found: " in text
    assert "directory" in explanation.missing  # a synonym of `folder`


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("fs", "the server"),
        ("readFile", "the tool, in another spelling"),
        ("read_file", "the tool"),
        ("fs__read_file", "the server and the tool, in another spelling"),
        ("fs.read_file", "the server and the tool"),
    ],
)
def test_an_explanation_says_that_the_query_is_a_name(query: str, named: str) -> None:
    assert f"ranked first: the query is the name of {named}\n" in str(INDEX.explain(query, "fs.read_file"))


def test_a_tool_that_does_not_exist_has_no_explanation() -> None:
    assert INDEX.explain("read_file", "fs.nothing") is None
