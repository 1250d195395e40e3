"""Tools and prompts under unique names, and the spellings that find them."""

import re
import weakref
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from catalog.samples import CHART, CLOCK, catalog, listed, merge, names, server, shown_by, tool, tools
from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.items import OWN_NAMES, accepted, fold, stable_suffix
from search_mcp.catalog.named_items import NamedOnce
from search_mcp.catalog.profiles import PROFILES
from search_mcp.catalog.remarks import problems
from search_mcp.catalog.shown_names import ShownNames
from search_mcp.config.schema import ServerConfig
from search_mcp.model.names import Kind
from search_mcp.model.servers import Entry, ServerList
from search_mcp.wire import payload

HASH = "_[0-9a-f]{6}"


BEFORE = "x[0-9a-f]{6}_"


NAMES = [
    # servers with their tools, the canonical names
    pytest.param({"files": ["read_file", "write_file"]}, ["files.read_file", "files.write_file"], id="plain"),
    pytest.param({"b": ["x"], "a": ["z", "y"]}, ["b.x", "a.z", "a.y"], id="config order, then the backend's"),
    pytest.param({"my.server": ["a.b.c"]}, ["my.server.a.b.c"], id="dots in both parts"),
    pytest.param({"a-b_1": ["C-d_2"]}, ["a-b_1.C-d_2"], id="allowed characters"),
    pytest.param({"my server": ["read/file:now"]}, ["my_server.read_file_now"], id="odd characters"),
    pytest.param({"ファイル": ["読む"]}, ["____.__"], id="no letters of ours"),
    pytest.param({"s": ["é", "e\u0301", "🙂", "\ud83d"]}, ["s._", "s.e_", "s._" + HASH, "s._" + HASH], id="characters"),
    pytest.param({"s": ["a b", "a/b"]}, ["s.a_b", "s.a_b" + HASH], id="two that would coincide"),
    pytest.param({"s": ["a_b", "a-b", "a.b"]}, ["s.a_b", "s.a-b" + HASH, "s.a.b" + HASH], id="after folding"),
    pytest.param({"s": ["Read", "read"]}, ["s.Read", "s.read"], id="cases differ"),
    pytest.param({"a": ["b.c"], "a.b": ["c"]}, ["a." + BEFORE + "b_c", "a.b.c"], id="across servers"),
    pytest.param({"a": ["_b"], "a_": ["b"]}, ["a." + BEFORE + "b", "a_.b"], id="across servers after folding"),
    pytest.param({"a": ["b"], "a_": ["b"]}, ["a.b", "a_.b"], id="a spelling with __ of another's name"),
    pytest.param(
        {"a": ["_c", "c"], "a_": ["c"]}, [f"a.{BEFORE}c", "a.c", "a_.c"], id="after a spelling became ambiguous"
    ),
    pytest.param({"a": []}, [], id="no tools"),
    pytest.param({}, [], id="no servers"),
]


@pytest.mark.parametrize(("given_", "then"), NAMES)
def test_canonical_names(given_: dict[str, list[str]], then: list[str]) -> None:
    items = listed(given_)
    assert len(items) == len(then)
    for item, pattern in zip(items, then, strict=True):
        assert re.fullmatch(pattern.replace(".", r"\."), item.name), item.name
    assert [(item.server, item.key) for item in items] == [(name, key) for name, keys in given_.items() for key in keys]
    assert names(items) == list(items.names())


def test_a_name_that_anticipates_the_suffix_of_another_does_not_take_its_place() -> None:
    foreseen = f"b_c_{stable_suffix('a_b', 'c')}"
    items = listed({"a": ["b_c", foreseen], "a_b": ["c"]})
    assert len({fold(name) for name in names(items)}) == len(items) == 3
    for item in items:
        assert items.find(item.name) is item


@pytest.mark.parametrize(
    ("prefix", "then"),
    [
        pytest.param(None, ["files.read"], id="its name"),
        pytest.param("fs", ["fs.read"], id="another word"),
        pytest.param("f s", ["f_s.read"], id="odd characters"),
        pytest.param("", ["read"], id="bare"),
    ],
)
def test_the_prefix_of_an_entry_begins_its_names(prefix: str | None, then: list[str]) -> None:
    assert names(listed({"files": ["read"]}, prefix=prefix)) == then


def test_of_two_equal_bare_names_the_second_is_reported() -> None:
    merged = catalog((server("a", prefix=""), tools("read", "x")), (server("b", prefix=""), tools("read", "y")))
    assert names(merged.tools()) == ["read", "x", "y"]
    assert list(problems(merged)) == [("b", "read is also the bare name of a tool of 'a'; give one of them a prefix")]
    found = merged.tools().find("read")
    assert found is not None
    assert found.server == "a"


def test_bare_names_that_coincide_only_when_folded_get_a_suffix() -> None:
    merged = catalog((server("a", prefix=""), tools("read-file")), (server("b", prefix=""), tools("read_file")))
    first, second = names(merged.tools())
    assert first == "read-file"
    assert re.fullmatch("read_file" + HASH, second)
    because = "because read_file reads like read-file, which is another tool of 'a'"
    assert list(problems(merged)) == [("b", f"its tool read_file is called {second}, {because}")]


def test_a_name_that_begins_like_those_of_another_server_is_reported() -> None:
    merged = catalog((server("git"), tools("hub_create", "log")), (server("git-hub"), tools("create")))
    (item, *_) = merged.tools()
    because = "because git.hub_create begins like the names of server 'git-hub'"
    assert list(problems(merged)) == [("git", f"its tool hub_create is called {item.name}, {because}")]
    assert re.fullmatch(f"git.{BEFORE}hub_create", item.name)
    assert merged.tools().find("git.hub_create") is item  # an exact match finds its own tool
    assert merged.tools().find("git_hub_create") is merged.tools().find("git-hub.create")


def test_a_name_that_folds_to_one_of_our_own_is_reported() -> None:
    merged = catalog((server("search"), tools("tools")), (server("bare", prefix=""), tools("call-tool")))
    assert {(name, problem.partition(", because ")[2]) for name, problem in problems(merged)} == {
        ("search", "search.tools reads like search_tools, which is search-mcp's own"),
        ("bare", "call-tool reads like call_tool, which is search-mcp's own"),
    }
    for profile in PROFILES:
        shown = ShownNames(merged.tools(), profile)
        assert not {fold(shown[item]) for item in merged.tools()} & set(OWN_NAMES)


SPELLINGS = [
    # spelling, the tool it means
    pytest.param("files.read-file", ("files", "read-file"), id="canonical"),
    pytest.param("files__read-file", ("files", "read-file"), id="with __"),
    pytest.param("files_read_file", ("files", "read-file"), id="folded"),
    pytest.param("files__read_file", ("files", "read-file"), id="with __ and folded"),
    pytest.param("files-read-file", ("files", "read-file"), id="folded otherwise"),
    pytest.param("my.server.a.b", ("my.server", "a.b"), id="dots"),
    pytest.param("my_server__a_b", ("my.server", "a.b"), id="dots folded"),
    pytest.param("read-file", None, id="without its server"),
    pytest.param("files.Read-file", None, id="in another case"),
    pytest.param("files.read-file ", None, id="with a space behind"),
    pytest.param("mcp__x__files.read-file", None, id="with a client's prefix"),
    pytest.param("", None, id="nothing"),
    pytest.param("files", None, id="the server"),
    pytest.param("\ud83d", None, id="half a character"),
]


@pytest.mark.parametrize(("spelling", "then"), SPELLINGS)
def test_every_spelling_of_a_name_finds_its_tool(spelling: str, then: tuple[str, str] | None) -> None:
    found = listed({"files": ["read-file", "write"], "my.server": ["a.b"]}).find(spelling)
    assert (found and (found.server, found.key)) == then


def test_a_spelling_that_could_mean_two_means_neither() -> None:
    items = listed({"a": ["_c", "c"]})
    assert items.find("a___c") == items[0]
    assert items.find("a__c") == items[1]  # `a.c` spelled with __; folded it could also be `a._c`
    assert items.find("a-_c") is None


def test_the_canonical_name_is_always_good() -> None:
    merged = catalog((server("bare", prefix=""), tools("a__b", "a_b")), (server("a"), tools("b")))
    for item in merged.tools():
        assert merged.tools().find(item.name) is item


def test_a_tool_is_also_found_by_the_name_of_its_server() -> None:
    """`server.tool` finds a tool under any prefix, unless `server` is the prefix of another server."""
    items = catalog(
        (server("long", prefix="l", rename={"read": "open"}), tools("read")),
        (server("bare", prefix=""), tools("read")),
        (server("l", prefix="bare"), tools("read")),
    ).tools()
    spellings = {"long.open": "long", "l.open": "long", "bare.read": "l", "read": "bare", "l.read": None}
    found = {name: items.find(name) for name in spellings}
    assert {name: item and item.server for name, item in found.items()} == spellings


ODD = st.text("aA_.- é", max_size=4) | st.text(max_size=5)


SERVERS = st.dictionaries(
    ODD.filter(bool),
    st.tuples(st.none() | ODD, st.lists(ODD.filter(bool), unique=True, max_size=6)),
    max_size=5,
)


@given(SERVERS)
# The folded name of the first server's tool is `server__tool` of the second; another tool has that name exactly.
@example({"_.": (None, ["__"]), "A": ("::", [".", "_"])})
def test_names_are_a_bijection_and_unique_after_folding(servers: dict[str, tuple[str | None, list[str]]]) -> None:
    merged = merge(servers)
    items = merged.tools()
    given_ = [(name, key) for name, (_, keys) in servers.items() for key in keys]
    refused = [name for name, problem in items.collisions if "is also the bare name" in problem]
    assert len(items) + len(refused) == len(given_)
    assert len({(item.server, item.key) for item in items}) == len(items)
    assert all(servers[name][0] == "" for name in refused)
    assert len({fold(item.name) for item in items}) == len(items)
    for item in items:
        assert re.fullmatch(r"[A-Za-z0-9_.-]+", item.name)
        assert items.find(item.name) is item
        folded = items.find(fold(item.name))
        if folded is not None and folded is not item:  # then the exact `server__tool` of another server comes first
            assert merged.prefixes.admits_as_written(folded.server, fold(item.name))
            assert f"{folded.prefix}__{accepted(folded.key)}" == fold(item.name)
    assert names(merge(servers).tools()) == names(items)


BARE = [
    # servers with their tools, name, then
    pytest.param({"a": ["x"], "b": ["y"]}, "x", "a.x", id="only one has it"),
    pytest.param({"a": ["get-it"], "b": []}, "get_it", "a.get-it", id="folded"),
    pytest.param({"a": ["x"], "b": ["x"]}, "x", None, id="two have it"),
    pytest.param({"a": ["x-y"], "b": ["x_y"]}, "x_y", None, id="two have it, folded"),
    pytest.param({"a": ["search_tools"], "b": []}, "search_tools", None, id="one of our own"),
    pytest.param({"a": ["git_x"], "git": []}, "git_x", None, id="it begins with another's prefix"),
    pytest.param({"a": ["git_x"], "git": ["git_x"]}, "git_x", "git.git_x", id="with its owner's prefix"),
    pytest.param({"a": ["x"], "a.b": ["c.x"]}, "c.x", "a.b.c.x", id="with a dot"),
    pytest.param({"a": ["x"], "b": []}, "y", None, id="no server has it"),
]


@pytest.mark.parametrize(("given_", "name", "then"), BARE)
def test_a_bare_name_finds_the_tool_of_the_only_server_that_has_it(
    given_: dict[str, list[str]], name: str, then: str | None
) -> None:
    merged = catalog(*((server(each), tools(*own)) for each, own in given_.items()))
    item = merged.tools().find_bare(name)
    assert (None if item is None else item.name) == then
    assert merged.tools().find(name) is None  # a bare name is not a spelling of a full name


def test_a_withheld_tool_keeps_its_bare_name_from_others() -> None:
    theirs = ServerList((tool("x"),), changed=frozenset({"x"}))
    assert catalog((server("a", pin_tools=True), theirs), (server("b"), tools("x"))).tools().find_bare("x") is None
    assert catalog((server("a"), theirs), (server("b"), tools("y"))).tools().find_bare("x") is not None


def test_apps_call_the_tools_of_servers_with_apps_by_the_names_that_only_one_has() -> None:
    items = catalog(
        (
            server("a"),
            ServerList((shown_by("clock", CLOCK), tool("tick"), tool("buy", _meta={"ui": {"visibility": ["model"]}}))),
        ),
        (server("b", rename={"hush": "shown"}), ServerList((shown_by("chart", CHART), tool("tick"), tool("hush")))),
        (server("c"), ServerList((tool("hush"), tool("alone")))),
    ).tools()
    assert {name: item.name for name, item in items.for_apps.items()} == {
        "clock": "a.clock",
        "chart": "b.chart",
        "hush": "b.shown",
    }


def test_the_first_server_that_names_an_app_has_it() -> None:
    pages = [ServerList((shown_by("clock", CLOCK), shown_by(name, f"ui://{name}"))) for name in ("a", "b")]
    items = catalog((server("a"), pages[0]), (server("b"), pages[1])).tools()
    assert items.apps == {CLOCK: "a", "ui://a": "a", "ui://b": "b"}


@pytest.mark.parametrize(("name", "then"), [("s.a", True), ("s__b", True), ("s_a", False), ("a", False)])
def test_a_name_carries_a_prefix_as_it_is_written(name: str, then: bool) -> None:
    assert listed({"s": ["a"]}).carries_prefix(name) is then


def test_equal_definitions_are_named_once_for_all_clients() -> None:
    once = NamedOnce()

    def named(*other: ServerConfig, tool: str = "echo", changed: frozenset[str] = frozenset(), **entry: Any) -> object:
        catalog = Catalog([ServerConfig(name="a", command="x", **entry), *other], once)
        fields = {"name": payload.encode(tool), "inputSchema": payload.encode({"type": "object"})}
        catalog.put("a", Kind.TOOLS, ServerList((Entry(tool, fields), Entry("say", fields)), changed=changed))
        return catalog.tools()

    first = named()
    assert named(env={"TOKEN": "another"}) is first
    for another in (
        named(ServerConfig(name="a_b", command="x")),  # a rival of its prefix
        named(tool="echoes"),
        named(prefix="b"),
        named(pinned=("echo",)),
        named(rename={"echo": "say_again"}),
        named(describe={"echo": "Say it."}),
        named(deny=("say",)),
        named(pin_tools=True, changed=frozenset({"say"})),
    ):
        assert another is not first
    kept = weakref.ref(first)
    del first
    assert kept() is None
