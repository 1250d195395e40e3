"""Answers of `search_tools`: ways of asking, bad input, size, and a catalogue that changes."""

import itertools
import json
import statistics
import time
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
import recorded
from hypothesis import given, settings
from hypothesis import strategies as st
from search_samples import TOOLS

from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.profiles import CANONICAL, Audience
from search_mcp.catalog.shown_names import Spellings
from search_mcp.config.schema import ServerConfig
from search_mcp.model.names import Era, Kind, State
from search_mcp.model.servers import Entry, ServerCapabilities, ServerFacts, ServerList, Status
from search_mcp.own_tools.arguments import MOST_NAMED
from search_mcp.own_tools.own_tools import OwnTools
from search_mcp.own_tools.search_results import ANSWER_LENGTH
from search_mcp.wire import payload

HERE = Audience(CANONICAL, False)
LONGEST = 2 * ANSWER_LENGTH  # characters: the text has the same content as the data


def entry(name: str, description: str = "", schema: Mapping[str, Any] | None = None) -> Entry:
    body = {"description": description, "inputSchema": {"type": "object", **(schema or {})}}
    return Entry(name, {key: payload.encode(value) for key, value in body.items()})


class Search:
    """The search tool over a catalogue."""

    def __init__(self, servers: Mapping[str, Iterable[Entry]]) -> None:
        self.catalog = Catalog([ServerConfig(name=name, command="x") for name in servers])
        self.statuses = [Status(name, State.READY) for name in servers]
        self.known = self.facts(servers)
        self.own = OwnTools(Spellings(self.catalog), lambda: self.known, lambda: self.statuses, lambda: 120)
        for server, entries in servers.items():
            self.put(server, entries)

    @staticmethod
    def facts(servers: Iterable[str], description: str = "") -> dict[str, ServerFacts]:
        return {name: ServerFacts(description, ()) for name in servers}

    def put(self, server: str, entries: Iterable[Entry]) -> None:
        self.catalog.put(server, Kind.TOOLS, ServerList(tuple(entries)))

    def answer(self, query: str, **more: Any) -> tuple[str, Any]:
        """Return the text and the data; an answer to a query is never an error."""
        result = json.loads(payload.encode_bytes(self.own.run("search_tools", {"query": query, **more}, HERE)))
        assert "isError" not in result
        return result["content"][0]["text"], result["structuredContent"]

    def names(self, query: str, **more: Any) -> list[str]:
        results: list[str] = self.answer(query, detail="name", **more)[1]["results"]
        return results

    def steps(self) -> int:
        """Advance the index until it is complete; return the number of steps."""
        count = 1
        while self.own.finders["tools"].advance():
            count += 1
        return count


def by_server(tools: Iterable[Mapping[str, Any]]) -> dict[str, list[Entry]]:
    servers: dict[str, list[Entry]] = {}
    for tool in tools:
        servers.setdefault(tool["server"], []).append(entry(tool["tool"], tool["description"], tool["inputSchema"]))
    return servers


SAMPLES = [
    {"server": each.server, "tool": each.tool, "description": each.description, "inputSchema": each.input_schema}
    for each in TOOLS
]
ASCII = [
    each for each in SAMPLES if str(each["server"]).isascii()
]  # the names of others are changed before they are listed
SHARED = Search(by_server(ASCII))
ISSUE = "github.create_issue(title?: string, body?: string)"


# Ways of asking


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("server:github issue", "github.list_issues"),
        ("server:github create", "github.create_issue"),
        ("issue server:github -create", "github.list_issues"),
        ('"pull request"', "github.merge_pull_request"),
        ('"time zone" convert', "time.convert_time"),
        ("file -read -write -list -search", "fs.move_file"),
        ("slack", "slack.add_reaction"),
        ("SLACK", "slack.add_reaction"),
        ("github.merge_pull_request", "github.merge_pull_request"),
        ("github__merge_pull_request", "github.merge_pull_request"),
        ("github_merge_pull_request", "github.merge_pull_request"),
        ("githubMergePullRequest", "github.merge_pull_request"),
        ("mergePullRequest", "github.merge_pull_request"),
        ("MERGE-PULL-REQUEST", "github.merge_pull_request"),
        ("merge pull request", "github.merge_pull_request"),
        ("search_files", "fs.searchFiles"),
        ("How do I rename a file?", "fs.move_file"),
        ("rename file", "fs.move_file"),
        ("wether forcast", "weather.forecast"),
    ],
)
def test_the_best_tool_comes_first(query: str, first: str) -> None:
    assert SHARED.names(query)[0] == first


def test_a_pasted_message_of_100_words() -> None:
    message = (
        "Hi all, sorry for the wall of text. Yesterday the client called and he was not amused: the page that he had "
        "been promised for Monday was still not there. I told him that we would look at it first thing in the morning. "
        "So please take a screenshot of the page as it is now, and then post a message to the channel of the web team "
        "with what you see. If it is really broken, create an issue about it in the repository, so that we do not "
        "forget it again. I am on the train until noon and can only read mail. Thank you so much, you save my day!"
    )
    assert len(message.split()) > 100
    assert {"web.take_screenshot", "slack.post_message", "github.create_issue"} <= set(SHARED.names(message))


def test_japanese_and_korean_are_found_under_callable_names() -> None:
    servers = {
        "books": [
            entry("create_invoice", "請求書を作成します。"),
            entry("list_partners", "取引先の一覧を取得します。"),
        ],
        "pizza": [entry("order", "피자를 주문합니다."), entry("track", "배달 상태를 조회합니다.")],
    }
    search = Search(servers)
    assert search.names("請求書を発行したい")[0] == "books.create_invoice"
    assert search.names("取引先 一覧")[0] == "books.list_partners"
    assert search.names("피자 시켜줘")[0] == "pizza.order"
    assert search.names("배달상태 조회")[0] == "pizza.track"


@pytest.mark.parametrize("spelling", ["slack", "SLACK", " Slack "])
def test_the_case_of_a_server_name_does_not_matter(spelling: str) -> None:
    assert {name.split(".")[0] for name in SHARED.names("message channel", server=spelling)} == {"slack"}


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("gti", "similar: github, git, time"),
        ("xyzzyqwfp", "servers: fs, git, github, slack, time, maps, weather, db, web, mail"),
    ],
)
def test_an_unknown_server_in_a_query_is_told(name: str, named: str) -> None:
    told = f"There is no server {name!r} ({named}), so the name was searched as a word."
    text, data = SHARED.answer(f"server:{name} create issue")
    assert text.splitlines()[0] == told
    assert data["note"].startswith(told)


@pytest.mark.parametrize(
    "query", ["server:GitHub create issue", "http://server:80 create issue", "note:foo create issue"]
)
def test_a_query_without_an_unknown_server_has_no_note(query: str) -> None:
    assert "There is no server" not in SHARED.answer(query)[0]


# Content of an answer


def test_a_result_has_no_reason_or_score() -> None:
    text, data = SHARED.answer("create an issue in a repository", limit=1)
    assert text == f"1. {ISSUE}\n   Create a new issue in a repository."
    assert data == {"results": [f"{ISSUE}: Create a new issue in a repository."]}


@pytest.mark.skipif(not recorded.IS_THERE, reason="the recorded catalogue is in the repository only")
def test_a_typical_answer_is_short() -> None:
    search = Search(by_server(recorded.tools()))
    answers = [search.answer(query["query"]) for query in recorded.queries()]
    texts = [len(text) for text, _ in answers]
    assert statistics.median(texts) < 1_000  # 230 tokens
    assert statistics.quantiles(texts, n=20)[-1] < 1_700  # 400 tokens
    data = [len(json.dumps(data, ensure_ascii=False, separators=(",", ":"))) for _, data in answers]
    assert sum(data) <= 1.02 * sum(texts)  # JSON escapes the quotes in descriptions


# Bad input

WORDS = [
    "file",
    "the",
    "-a",
    '"',
    "server:",
    "server:fs",
    '"read file"',
    "読む",
    "피자",
    "\ud800",
    "\x00",
    "…",
    "ß",
    "🙂",
]


@pytest.mark.parametrize(
    "query",
    [
        "",
        " \t\n",
        "the of and a",
        "!?… --- ((()))",
        "-",
        '""',
        "server:",
        "server:nobody",
        'server:"',
        "\x00\x01\x7f",
        "\ud800 file \udfff",
        "ファイルを read するпрочитать ملف 파일",
        "file " * 100_000,
        "x" * 1_000_000,
        "読む" * 100_000,
        "🙂" * 10_000,
        '"' * 5_000,
        "-file " * 12,
        "\u202e\u0301\u200b" * 1_000,
        "SELECT * FROM tools; DROP TABLE tools; --",
        "(?:(?:a+)+)+$",
    ],
    ids=lambda query: f"{query[:12]!a}",
)
def test_bad_input_gets_an_answer_in_bounded_time_and_size(query: str) -> None:
    started = time.process_time()
    text, data = SHARED.answer(query)
    assert time.process_time() - started < 20.0  # takes milliseconds, or far too long if a pattern backtracks
    assert len(text) <= LONGEST
    assert len(json.dumps(data)) <= LONGEST
    assert data["results"] or data["servers"] == [status.server for status in SHARED.statuses]


@given(st.lists(st.sampled_from(WORDS) | st.text(st.characters(codec=None), max_size=8), max_size=30).map(" ".join))
@settings(max_examples=200, deadline=None)
def test_any_mixture_gets_an_answer(query: str) -> None:
    text, data = SHARED.answer(query)
    assert len(text) <= LONGEST
    assert len(data["results"]) <= 5


@given(
    st.lists(st.builds(entry, st.text(max_size=20), st.text(max_size=60)), max_size=6, unique_by=lambda each: each.key),
    st.text(max_size=20),
)
@settings(max_examples=100, deadline=None)
def test_any_catalogue_can_be_searched(entries: list[Entry], query: str) -> None:
    search = Search({"odd": entries, "fs": [entry("read_file", "Reads a file.")]})
    search.answer(query)
    for item in search.catalog.tools():
        assert search.names(item.name, limit=1) == [item.name]


def test_one_name_at_a_thousand_servers() -> None:
    search = Search({f"s{number}": [entry("same", "The same.")] for number in range(1_000)})
    text, data = search.answer("same", limit=50)
    assert len(data["results"]) == 50
    assert len(text) <= LONGEST


def test_a_thousand_servers_are_not_all_named() -> None:
    text, data = Search({f"s{number}": [] for number in range(1_000)}).answer("nothing of this kind")
    assert (data["results"], len(data["servers"])) == ([], MOST_NAMED)
    assert text.endswith(f"s{MOST_NAMED - 1}, … {1_000 - MOST_NAMED} more.")


# A catalogue that changes


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Index one tool in each step."""
    monkeypatch.setattr("search_mcp.own_tools.catalog_index.SLICE_SECONDS", -1.0)


@pytest.mark.usefixtures("small_steps")
def test_the_index_grows_by_one_tool_in_each_step() -> None:
    search = Search({"a": [entry("bake")], "b": [entry("cook")], "c": [entry("fry"), entry("grill")]})
    assert search.steps() == 6  # read the catalogue, add four tools, finish
    assert search.steps() == 1
    search.put("b", [entry("cook"), entry("boil")])
    search.put("c", [entry("fry"), entry("grill")])  # listed again without a change
    assert search.steps() == 4  # read the catalogue, keep one tool, add one, finish
    assert search.names("boil") == ["b.boil"]


@pytest.mark.usefixtures("small_steps")
def test_a_search_completes_the_index_first() -> None:
    search = Search({"a": [entry("bake")], "b": [entry("cook")], "c": [entry("fry")]})
    assert search.own.finders["tools"].advance() is True
    assert [search.names(word) for word in ("bake", "cook", "fry")] == [["a.bake"], ["b.cook"], ["c.fry"]]


@pytest.mark.usefixtures("small_steps")
def test_a_change_between_two_steps_is_followed() -> None:
    search = Search({"a": [entry("bake")], "b": [entry("cook")], "c": [entry("fry")]})
    search.own.finders["tools"].advance()
    for server in "abc":
        search.put(server, [entry(f"paint_{server}", "Paints.")])
    assert search.steps() > 6
    assert search.names("paints") == ["a.paint_a", "b.paint_b", "c.paint_c"]
    assert search.names("bake") == []


@pytest.mark.usefixtures("small_steps")
def test_a_server_that_changes_all_the_time_does_not_delay_a_search() -> None:
    search = Search({"a": [entry("bake")], "b": [entry("cook")]})
    for number in range(100):
        search.put("b", [entry(f"paint_{number}", "Paints.")])
        if not search.own.finders["tools"].advance():
            break
    else:
        pytest.fail("the index is never complete")
    assert search.names("bake") == ["a.bake"]


def test_a_server_that_leaves_is_not_found() -> None:
    search = Search({"a": [entry("bake")], "b": [entry("cook")]})
    assert search.names("cook") == ["b.cook"]
    search.catalog.put("b", Kind.TOOLS, None)
    assert search.names("cook") == []
    assert search.names("bake") == ["a.bake"]


def test_a_new_configuration_indexes_only_the_servers_that_changed() -> None:
    def steps_after(changed: str) -> int:
        search = Search({"a": [entry("bake")], "b": [entry("cook")], "c": [entry("fry")]})
        search.steps()
        index: Any = search.own.finders["tools"]
        index._clock = itertools.count().__next__  # each look at it ends a slice
        search.known = {**search.facts("abc"), **search.facts(changed, "A zebra's kitchen")}
        steps = search.steps()
        assert search.names("zebra") == [name for name in ("a.bake", "b.cook", "c.fry") if name[0] in changed]
        return steps

    assert steps_after("") < steps_after("b") < steps_after("abc")


def test_a_title_that_becomes_known_later_is_searched() -> None:
    search = Search({"a": [entry("bake")], "b": [entry("cook")]})
    assert search.names("zebra") == []
    search.statuses[1] = Status(
        "b", State.READY, capabilities=ServerCapabilities("x", Era.LEGACY, frozenset(), title="Zebra")
    )
    search.put("b", [entry("cook")])
    assert search.names("zebra") == ["b.cook"]
