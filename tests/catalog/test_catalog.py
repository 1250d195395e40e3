"""All lists merged: what each name means, what is let through, and what is made fit to be shown."""

import json
import re
from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.items import OWN_NAMES, Item, accepted, fold, is_allowed, stable_suffix
from search_mcp.catalog.named_items import NamedItems
from search_mcp.catalog.profiles import CANONICAL, PROFILES, Profile
from search_mcp.catalog.repair import LEFT_OUT, OPEN_SCHEMA, repaired
from search_mcp.catalog.shown_names import ShownNames
from search_mcp.config.schema import ServerConfig
from search_mcp.model.names import Kind
from search_mcp.model.servers import Entry, Freshness, ServerList
from search_mcp.wire import payload
from search_mcp.wire.structs import Raw, replace

OBJECT = {"type": "object"}


def server(name: str, **settings: Any) -> ServerConfig:
    return ServerConfig(name=name, command="x", **settings)


def entry(key: str, **members: object) -> Entry:
    return Entry(key, {name: payload.encode(member) for name, member in members.items()})


def tool(name: str, **members: object) -> Entry:
    return entry(name, **{"name": name, "inputSchema": OBJECT, **members})


def tools(*names: str) -> ServerList:
    return ServerList(tuple(tool(name) for name in names))


def catalog(*lists: tuple[ServerConfig, ServerList | None], kind: Kind = Kind.TOOLS) -> Catalog:
    merged = Catalog([config for config, _ in lists])
    for config, page in lists:
        merged.put(config.name, kind, page)
    return merged


def listed(given_: Mapping[str, list[str]], **settings: Any) -> NamedItems:
    """The tools of servers that list these."""
    return catalog(*((server(name, **settings), tools(*names)) for name, names in given_.items())).tools()


def names(items: NamedItems) -> list[str]:
    return [item.name for item in items]


def shape(item: Item) -> Any:
    return json.loads(payload.encode_bytes(item.fields))


# Names

HASH = "_[0-9a-f]{6}"
BEFORE = "x[0-9a-f]{6}_"

NAMES = [
    # servers with their tools, the canonical names
    pytest.param({"files": ["read_file", "write_file"]}, ["files.read_file", "files.write_file"], id="plain"),
    pytest.param({"b": ["x"], "a": ["z", "y"]}, ["b.x", "a.z", "a.y"], id="config order, then the backend's"),
    pytest.param({"my.server": ["a.b.c"]}, ["my.server.a.b.c"], id="dots in both parts"),
    pytest.param({"a-b_1": ["C-d_2"]}, ["a-b_1.C-d_2"], id="what may stay"),
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
def test_names(given_: dict[str, list[str]], then: list[str]) -> None:
    items = listed(given_)
    assert len(items) == len(then)
    for item, pattern in zip(items, then, strict=True):
        assert re.fullmatch(pattern.replace(".", r"\."), item.name), item.name
    assert [(item.server, item.key) for item in items] == [(name, key) for name, keys in given_.items() for key in keys]
    assert names(items) == list(items.names())


def test_a_suffix_is_the_same_in_every_session() -> None:
    assert stable_suffix("s", "a/b") == stable_suffix("s", "a/b") == "fb3c0e"
    assert stable_suffix("sa", "/b") != stable_suffix("s", "a/b") != stable_suffix("s", "a:b")
    first = names(listed({"s": ["a b", "a/b", "x"]}))
    later = names(listed({"s": ["a b", "new", "a/b"], "t": ["a/b"]}))
    assert [first[0], first[1]] == [later[0], later[2]]


def test_a_name_that_anticipates_the_suffix_of_another_does_not_take_its_place() -> None:
    foreseen = f"b_c_{stable_suffix('a_b', 'c')}"
    items = listed({"a": ["b_c", foreseen], "a_b": ["c"]})
    assert len({fold(name) for name in names(items)}) == len(items) == 3
    for item in items:
        assert items.find(item.name) is item


@pytest.mark.parametrize(
    ("name", "then"), [("a.b-c_d", "a_b_c_d"), ("é", "_"), ("", ""), ("aZ09", "aZ09"), ("a__b", "a__b")]
)
def test_folding(name: str, then: str) -> None:
    assert fold(name) == then


# Prefixes


@pytest.mark.parametrize(
    ("prefix", "then"),
    [
        pytest.param(None, ["files.read"], id="its name"),
        pytest.param("fs", ["fs.read"], id="another word"),
        pytest.param("f s", ["f_s.read"], id="odd characters"),
        pytest.param("", ["read"], id="bare"),
    ],
)
def test_prefixes(prefix: str | None, then: list[str]) -> None:
    assert names(listed({"files": ["read"]}, prefix=prefix)) == then


def test_two_bare_names_that_coincide_are_a_problem_of_the_second() -> None:
    merged = catalog((server("a", prefix=""), tools("read", "x")), (server("b", prefix=""), tools("read", "y")))
    assert names(merged.tools()) == ["read", "x", "y"]
    assert list(merged.problems()) == [("b", "read is also the bare name of a tool of 'a'; give one of them a prefix")]
    found = merged.tools().find("read")
    assert found is not None
    assert found.server == "a"


def test_bare_names_that_coincide_only_when_folded_get_a_suffix() -> None:
    merged = catalog((server("a", prefix=""), tools("read-file")), (server("b", prefix=""), tools("read_file")))
    first, second = names(merged.tools())
    assert first == "read-file"
    assert re.fullmatch("read_file" + HASH, second)
    because = "because read_file reads like read-file, which is another tool of 'a'"
    assert list(merged.problems()) == [("b", f"its tool read_file is called {second}, {because}")]


# Whose a name is

NAMELESS = {"name": "x", "prefix": ""}
SHADOWED = [
    # a server whose tool could be taken for another's, the tool, the other, its tool; two spellings of the latter
    pytest.param({"name": "git"}, "hub_create", {"name": "git-hub"}, "create", "git-hub.create", id="-"),
    pytest.param({"name": "git"}, "hub_create", {"name": "git_hub"}, "create", "git_hub.create", id="_"),
    pytest.param({"name": "git"}, "hub_create", {"name": "git.hub"}, "create", "git.hub.create", id="."),
    pytest.param({"name": "git"}, "hub.create", {"name": "git.hub"}, "create", "git.hub.create", id="a dotted name"),
    pytest.param({"name": "git"}, "hub__create", {"name": "git.hub"}, "create", "git.hub__create", id="__ in a name"),
    pytest.param({"name": "google"}, "maps_search", {"name": "google-maps"}, "search", "google-maps.search", id="maps"),
    pytest.param({"name": "aws"}, "docs_read", {"name": "aws-docs"}, "read", "aws-docs.read", id="docs"),
    pytest.param({"name": "a"}, "b__c", {"name": "a__b"}, "c", "a__b.c", id="a separator in a server's name"),
    pytest.param(NAMELESS, "github.create", {"name": "github"}, "create", "github.create", id="bare"),
    pytest.param(NAMELESS, "github_create", {"name": "github"}, "create", "github_create", id="bare, folded"),
    pytest.param(NAMELESS, "github__create", {"name": "github"}, "create", "github__create", id="bare, with __"),
    pytest.param(
        {"name": "x", "prefix": "git"},
        "hub_create",
        {"name": "y", "prefix": "git-hub"},
        "create",
        "git-hub.create",
        id="both set a prefix",
    ),
    pytest.param(
        {"name": "git", "rename": {"c": "hub_create"}},
        "c",
        {"name": "git-hub"},
        "create",
        "git-hub.create",
        id="renamed",
    ),
    pytest.param(
        NAMELESS, "long.open", {"name": "long", "prefix": "l"}, "open", "long.open", id="a name beside a prefix"
    ),
]


@pytest.mark.parametrize("is_first", [True, False], ids=["first", "last"])
@pytest.mark.parametrize(("rival", "taken", "owner", "key", "spelling"), SHADOWED)
def test_no_server_takes_a_name_of_another(
    rival: dict[str, Any], taken: str, owner: dict[str, Any], key: str, spelling: str, is_first: bool
) -> None:
    entries = [(server(**rival), tools(taken)), (server(**owner), tools(key))]
    merged = catalog(*(entries if is_first else entries[::-1]))
    items = {item.server: item for item in merged.tools()}
    one, other = items[rival["name"]], items[owner["name"]]
    assert other.name == f"{other.prefix}.{key}"
    for each in (spelling, other.name, f"{other.prefix}__{key}"):
        assert merged.tools().find(each) is other, each
    # `a__b_c` is the folded name of `c` of server `a__b`, and as it is written one of server `a`.
    is_ambiguous = merged.prefixes.split(fold(other.name))[0] == {one.server}
    assert merged.tools().find(fold(other.name)) is (None if is_ambiguous else other)
    assert merged.tools().find(one.name) is one
    assert merged.prefixes.of_folded(one.name) <= {one.server}
    for profile in PROFILES:
        shown = ShownNames(merged.tools(), profile)
        assert shown.find(other.name) is shown.find(shown[other]) is other
        assert shown.find(shown[one]) is one
        assert merged.prefixes.split(shown[one])[0] <= {one.server}
        assert merged.prefixes.of_folded(shown[one]) <= {one.server}


@pytest.mark.parametrize("order", [("a.b", "a_b"), ("a_b", "a.b")])
def test_a_name_with_two_underscores_reaches_its_server_whatever_another_s_is_folded_to(order: tuple[str, str]) -> None:
    items = listed({name: ["_x" if name == "a.b" else "x"] for name in order})
    for spelling, server_name in [("a.b._x", "a.b"), ("a.b___x", "a.b"), ("a_b.x", "a_b"), ("a_b__x", "a_b")]:
        found = items.find(spelling)
        assert found is not None
        assert found.server == server_name


@pytest.mark.parametrize("lists", [True, False], ids=["lists others", "was never seen"])
@pytest.mark.parametrize("enabled", [True, False], ids=["enabled", "switched off"])
@pytest.mark.parametrize(("rival", "taken", "owner", "key", "spelling"), SHADOWED)
def test_a_name_means_nothing_where_its_owner_does_not_have_it(
    rival: dict[str, Any], taken: str, owner: dict[str, Any], key: str, spelling: str, enabled: bool, lists: bool
) -> None:
    one, other = server(**rival), server(**owner, enabled=enabled)
    merged = Catalog([one])
    merged.configure([one, other] if enabled else [one], (), [] if enabled else [other])
    merged.put(one.name, Kind.TOOLS, tools(taken))
    if enabled and lists:
        merged.put(other.name, Kind.TOOLS, tools("something_else"))
    prefix = other.effective_prefix
    for each in (spelling, f"{prefix}.{key}", f"{prefix}__{key}", fold(f"{prefix}.{key}")):
        assert merged.tools().find(each) is None, each
        for profile in PROFILES:
            assert ShownNames(merged.tools(), profile).find(each) is None, each


def test_a_name_that_would_be_another_server_s_is_a_problem() -> None:
    merged = catalog((server("git"), tools("hub_create", "log")), (server("git-hub"), tools("create")))
    (item, *_) = merged.tools()
    because = "because git.hub_create begins like the names of server 'git-hub'"
    assert list(merged.problems()) == [("git", f"its tool hub_create is called {item.name}, {because}")]
    assert re.fullmatch(f"git.{BEFORE}hub_create", item.name)
    assert merged.tools().find("git.hub_create") is item  # as it is written it is nobody else's
    assert merged.tools().find("git_hub_create") is merged.tools().find("git-hub.create")


def test_a_name_that_would_be_one_of_ours_is_a_problem() -> None:
    merged = catalog((server("search"), tools("tools")), (server("bare", prefix=""), tools("call-tool")))
    assert {(name, problem.partition(", because ")[2]) for name, problem in merged.problems()} == {
        ("search", "search.tools reads like search_tools, which is search-mcp's own"),
        ("bare", "call-tool reads like call_tool, which is search-mcp's own"),
    }
    for profile in PROFILES:
        shown = ShownNames(merged.tools(), profile)
        assert not {fold(shown[item]) for item in merged.tools()} & set(OWN_NAMES)


@pytest.mark.parametrize("order", [("git-hub", "git_hub", "git.hub"), ("git.hub", "git_hub", "git-hub")])
def test_of_prefixes_that_are_equal_once_folded_each_keeps_its_full_names(order: tuple[str, ...]) -> None:
    merged = catalog(*((server(name), tools("create", f"only_{fold(name)}")) for name in order))
    items = merged.tools()
    for name in order:
        found = items.find(f"{name}.create")
        assert found is not None
        assert found.server == name
    folded = items.find("git_hub_create")
    assert folded is not None
    assert folded.name == "git_hub.create"
    assert sum(item.is_suffixed for item in items if item.key == "create") == 2
    assert len(list(merged.problems())) == 4  # the names that only one has differ after folding, but for git_hub's


def test_a_page_does_not_call_a_tool_by_a_name_of_another_server() -> None:
    evil = tool("github.create", _meta={"ui": {"resourceUri": CLOCK}})
    merged = catalog((server("evil"), ServerList((evil,))), (server("github"), None))
    assert merged.tools().for_apps == {}


WORDS = st.sampled_from(["git", "git-hub", "git_hub", "git.hub", "git__hub", "a", "a_", "a.b", "a__b", "é"])
PARTS = st.sampled_from(["hub_c", "hub.c", "hub__c", "c", "b.c", "b__c", "_b", "b", "git.c", "a__b", "search_tools"])
RIVALS = st.dictionaries(WORDS, st.tuples(st.none() | st.just("") | WORDS, st.lists(PARTS, unique=True)), min_size=1)


@given(RIVALS, st.randoms(use_true_random=False), st.sampled_from([*PROFILES, replace(CANONICAL, separator="-")]))
def test_every_name_leads_to_the_server_whose_prefix_it_carries(
    servers: dict[str, tuple[str | None, list[str]]], random: Random, profile: Profile
) -> None:
    merged = merge(servers)
    items, prefixes = merged.tools(), merged.prefixes
    for item in items:
        assert item.server in (prefixes.split(item.name)[0] or {item.server})
    shown = ShownNames(items, profile)
    assert len({fold(shown[item]) for item in items}) == len(items)
    for item in items:
        assert shown.find(shown[item]) is items.find(item.name) is item
        assert item.server in (prefixes.split(shown[item])[0] or {item.server})
    keys = [key for _, listed_ in servers.values() for key in listed_]
    for name in sorted({f"{each}{dot}{key}" for each in servers for dot in ("", ".", "__", "_") for key in keys}):
        for found in (items.find(name), items.find_bare(name), shown.find(name)):
            assert found is None or not prefixes.split(name)[0] or found.server in prefixes.split(name)[0]
    shuffled = list(servers.items())
    random.shuffle(shuffled)
    if not any(prefix == "" for prefix, _ in servers.values()):  # of bare names the first in the file has one
        assert {item.name for item in merge(dict(shuffled)).tools()} == {item.name for item in items}


@given(RIVALS, WORDS, st.lists(PARTS, unique=True), st.integers(0, 3))
def test_a_server_more_does_not_rename_the_tools_of_those_who_own_their_names(
    servers: dict[str, tuple[str | None, list[str]]], name: str, keys: list[str], at: int
) -> None:
    before = merge(servers).tools()
    more = [each for each in servers.items() if each[0] != name]
    more.insert(at, (name, (None, keys)))
    merged = merge(dict(more))
    after = {(item.server, item.key): item.name for item in merged.tools()}
    for item in before:
        owners = merged.prefixes.of_folded(fold(item.name))
        if not item.is_suffixed and item.server != name and owners == {item.server}:
            assert after[item.server, item.key] == item.name


# Finding

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
def test_spellings(spelling: str, then: tuple[str, str] | None) -> None:
    found = listed({"files": ["read-file", "write"], "my.server": ["a.b"]}).find(spelling)
    assert (found and (found.server, found.key)) == then


def test_a_spelling_that_could_mean_two_means_neither() -> None:
    items = listed({"a": ["_c", "c"]})
    assert items.find("a___c") == items[0]
    assert items.find("a__c") == items[1]  # `a.c` with __; folded it would be `a._c` too
    assert items.find("a-_c") is None


def test_the_canonical_name_is_always_good() -> None:
    merged = catalog((server("bare", prefix=""), tools("a__b", "a_b")), (server("a"), tools("b")))
    for item in merged.tools():
        assert merged.tools().find(item.name) is item


ODD = st.text("aA_.- é", max_size=4) | st.text(max_size=5)
SERVERS = st.dictionaries(
    ODD.filter(bool),
    st.tuples(st.none() | ODD, st.lists(ODD.filter(bool), unique=True, max_size=6)),
    max_size=5,
)


def merge(servers: dict[str, tuple[str | None, list[str]]]) -> Catalog:
    return catalog(*((server(name, prefix=prefix), tools(*keys)) for name, (prefix, keys) in servers.items()))


@given(SERVERS)
# The folded name of the first server's tool is `server__tool` of the second, whose plain name another tool has.
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
        if folded is not None and folded is not item:  # then it is `server__tool` of another, as it is written
            assert merged.prefixes.admits_as_written(folded.server, fold(item.name))
            assert f"{folded.prefix}__{accepted(folded.key)}" == fold(item.name)
    assert names(merge(servers).tools()) == names(items)


# Filters and overrides

GLOBS = [
    # allow, deny, tool, then
    ([], [], "read", True),
    (["read"], [], "read", True),
    (["read"], [], "reader", False),
    (["read_*"], [], "read_file", True),
    (["x", "read_*"], [], "read_file", True),
    (["*"], ["write_*"], "write_file", False),
    ([], ["write_*"], "read_file", True),
    (["read"], ["read"], "read", False),
    (["READ"], [], "read", False),
    (["r[ae]ad"], [], "read", True),
    (["r??d"], [], "read", True),
    ([], ["*"], "read", False),
]


@pytest.mark.parametrize(("allow", "deny", "name", "then"), GLOBS)
def test_filters(allow: list[str], deny: list[str], name: str, then: bool) -> None:
    config = server("s", allow=tuple(allow), deny=tuple(deny))
    assert is_allowed(config, name) is then
    assert names(catalog((config, tools(name))).tools()) == ([f"s.{name}"] if then else [])


def test_filters_are_for_tools_and_mean_the_backends_own_names() -> None:
    config = server("s", deny=("a",), rename={"a": "b", "c": "a"})
    assert names(catalog((config, tools("a", "c"))).tools()) == ["s.a"]
    assert names(catalog((config, ServerList((entry("a", name="a"),))), kind=Kind.PROMPTS).prompts()) == ["s.a"]


def test_a_renamed_tool_is_found_by_its_new_name_and_called_by_its_own() -> None:
    items = listed({"s": ["read", "write"]}, rename={"read": "look at"})
    assert names(items) == ["s.look_at", "s.write"]
    found = items.find("s__look_at")
    assert found is not None
    assert found.key == "read"
    assert items.find("s.read") is None


def test_a_description_is_replaced() -> None:
    page = ServerList((tool("a", description="old", title="A"), tool("b", description="stays")))
    first, second = catalog((server("s", describe={"a": 'new "é"'}), page)).tools()
    assert (first.description, second.description) == ('new "é"', "stays")
    assert shape(first)["title"] == "A"


@pytest.mark.parametrize("pinned", ["read", "look"])
def test_a_tool_is_pinned_by_either_name(pinned: str) -> None:
    items = listed({"s": ["read", "write"]}, rename={"read": "look"}, pinned=(pinned,))
    assert [item.pinned for item in items] == [True, False]


@pytest.mark.parametrize(
    ("members", "then"),
    [
        ({"description": "d", "title": "t"}, "d"),
        ({"title": "t"}, "t"),
        ({"description": "", "title": "t"}, "t"),
        ({}, ""),
        ({"description": 5}, ""),
    ],
)
def test_descriptions(members: dict[str, object], then: str) -> None:
    (item,) = catalog((server("s"), ServerList((tool("a", **members),)))).tools()
    assert item.description == then


# Repair

SCHEMAS = [
    # inputSchema as it came (None: none), as it is shown, remarks
    pytest.param(b'{"type":"object"}', b'{"type":"object"}', [], id="sound"),
    pytest.param(b'{ "x":1.0,"type":"object" }', b'{ "x":1.0,"type":"object" }', [], id="untouched"),
    pytest.param(None, bytes(OPEN_SCHEMA), ["it has no inputSchema; any arguments are let through"], id="none"),
    pytest.param(
        b"{}", bytes(OPEN_SCHEMA), ["it has no inputSchema; any arguments are let through"], id="an empty one"
    ),
    pytest.param(
        b"null",
        bytes(OPEN_SCHEMA),
        [
            "its inputSchema has the wrong type and is left out",
            "it has no inputSchema; any arguments are let through",
        ],
        id="null",
    ),
    pytest.param(
        b'{"properties":{"a":{"type":"string"}}}',
        b'{"type":"object","properties":{"a":{"type":"string"}}}',
        ['its inputSchema has no type; "object" is filled in'],
        id="no type",
    ),
    pytest.param(b'{"type":"array"}', None, [LEFT_OUT], id="another type"),
    pytest.param(b'{"type":["object","null"]}', None, [LEFT_OUT], id="a list of types"),
    pytest.param(b'{"type":null}', None, [LEFT_OUT], id="null for a type"),
]


@pytest.mark.parametrize(("raw", "then", "remarks"), SCHEMAS)
def test_schemas(raw: bytes | None, then: bytes | None, remarks: list[str]) -> None:
    bare = entry("a", name="a")
    given_ = bare if raw is None else Entry("a", {**bare.fields, "inputSchema": Raw(raw)})
    fields, said = repaired(Kind.TOOLS, given_)
    assert list(said) == remarks
    merged = catalog((server("s"), ServerList((given_, tool("b")))))
    assert list(merged.problems()) == [("s", f"tools: a: {remark}") for remark in remarks]
    if then is None:
        assert names(merged.tools()) == ["s.b"]
    else:
        assert fields["inputSchema"] == Raw(then)
        assert names(merged.tools()) == ["s.a", "s.b"]


WRONG: list[tuple[str, object]] = [
    ("title", 5),
    ("title", None),
    ("description", {"en": "x"}),
    ("outputSchema", []),
    ("annotations", "x"),
    ("execution", True),
    ("_meta", 1),
    ("icons", {}),
]


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_a_member_of_the_wrong_type_is_left_out(key: str, value: object) -> None:
    given_ = tool("a", zeta=1, **{key: value})
    fields, said = repaired(Kind.TOOLS, given_)
    assert fields == payload.without(given_.fields, key)
    assert said == (f"its {key} has the wrong type and is left out",)


def test_what_is_sound_or_unknown_stays_as_it_is() -> None:
    given_ = tool("a", title="t", icons=[], annotations={"x": 1}, unknown=[1.0], **{"com.example/x": None})
    assert repaired(Kind.TOOLS, given_) == (given_.fields, ())


@pytest.mark.parametrize("kind", [Kind.RESOURCES, Kind.TEMPLATES])
def test_a_resource_without_a_name_is_named_by_its_uri(kind: Kind) -> None:
    fields, said = repaired(kind, entry("x://{é}", uri="x://{é}"))
    assert payload.string(fields["name"]) == "x://{é}"
    assert said == ("it has no name; its URI stands in",)
    named = entry("x://y", uri="x://y", name="n")
    assert repaired(kind, named) == (named.fields, ())


def test_prompts_need_no_schema() -> None:
    given_ = entry("p", name="p", arguments=[{"name": "x"}])
    assert repaired(Kind.PROMPTS, given_) == (given_.fields, ())


def test_items_hold_the_definition() -> None:
    (item,) = listed({"s": ["a"]})
    assert shape(item) == {"name": "a", "inputSchema": OBJECT}
    assert item.input_schema == OBJECT


# What is known


def test_a_list_is_unknown_until_it_is_put() -> None:
    merged = Catalog([server("a"), server("b")])
    assert (merged.is_known("a", Kind.TOOLS), merged.is_unlistable("a", Kind.TOOLS)) == (False, False)
    merged.put("a", Kind.TOOLS, tools("x"))
    assert (merged.is_known("a", Kind.TOOLS), merged.is_unlistable("a", Kind.TOOLS)) == (True, False)
    assert not merged.is_known("a", Kind.PROMPTS)
    assert not merged.is_known("b", Kind.TOOLS)
    merged.put("b", Kind.TOOLS, None)
    assert (merged.is_known("b", Kind.TOOLS), merged.is_unlistable("b", Kind.TOOLS)) == (True, True)
    assert names(merged.tools()) == ["a.x"]
    assert list(merged.problems()) == [("b", "its list of tools cannot be had")]


def test_a_list_replaces_the_one_before_and_the_version_says_so() -> None:
    config = server("s")
    merged = catalog((config, tools("a", "b")))
    before, version = merged.tools(), merged.version
    assert merged.tools() is before
    merged.put("s", Kind.PROMPTS, ServerList(()))
    assert merged.tools() is before
    merged.put("s", Kind.TOOLS, tools("b", "c"))
    assert names(merged.tools()) == ["s.b", "s.c"]
    assert names(before) == ["s.a", "s.b"]
    assert merged.version > version


def test_the_order_is_the_configurations_whoever_answers_first() -> None:
    merged = Catalog([server("a"), server("b")])
    merged.put("b", Kind.TOOLS, tools("x"))
    merged.put("a", Kind.TOOLS, tools("y"))
    assert names(merged.tools()) == ["a.y", "b.x"]


def test_another_configuration_keeps_the_lists_of_those_that_stay() -> None:
    merged = catalog((server("a"), tools("x")), (server("b"), tools("y")), (server("c"), tools("z")))
    version = merged.version
    merged.configure([server("c"), server("b"), server("a", prefix="aa"), server("d")], {"b"})
    assert names(merged.tools()) == ["c.z", "aa.x"]
    assert not merged.is_known("b", Kind.TOOLS)
    assert merged.version > version
    merged.configure([], ())
    assert names(merged.tools()) == []
    merged.configure([server("a")], ())
    assert not merged.is_known("a", Kind.TOOLS)


FRESHNESS = [
    # each server's (None: cannot be had), then
    pytest.param([], Freshness(), id="nothing known"),
    pytest.param([Freshness(5000, True)], Freshness(5000, True), id="one"),
    pytest.param([Freshness(5000, True), Freshness(300, True)], Freshness(300, True), id="the stalest"),
    pytest.param([Freshness(5000, True), Freshness(6000, False)], Freshness(5000, False), id="the most private"),
    pytest.param([Freshness(5000, True), Freshness()], Freshness(0, False), id="one that says nothing"),
    pytest.param([Freshness(5000, True), None], Freshness(), id="one that cannot be had"),
]


@pytest.mark.parametrize(("given_", "then"), FRESHNESS)
def test_a_list_is_as_fresh_as_its_stalest_part(given_: list[Freshness | None], then: Freshness) -> None:
    lists = [(server(str(at)), None if fresh is None else ServerList((), fresh)) for at, fresh in enumerate(given_)]
    merged = catalog(*lists)
    merged.put("0", Kind.PROMPTS, ServerList((), Freshness(1, False)))
    assert merged.freshness(Kind.TOOLS) == then


# Resources


def test_of_two_servers_with_one_uri_the_first_in_order_has_it() -> None:
    pages = [ServerList((entry("x://1", uri="x://1", name=name), entry(f"x://{name}", name=name))) for name in "ab"]
    merged = Catalog([server("a"), server("b")])
    merged.put("b", Kind.RESOURCES, pages[1])
    merged.put("a", Kind.RESOURCES, pages[0])
    owners = {uri: owner for uri, (owner, _) in merged.by_uri(Kind.RESOURCES).items()}
    assert owners == {"x://1": "a", "x://a": "a", "x://b": "b"}
    ((blamed, problem),) = merged.problems()
    assert blamed == "b"
    assert problem.startswith("resources: x://1 is also a URI of 'a'")
    assert merged.by_uri(Kind.TEMPLATES) == {}


# MCP Apps

CLOCK, CHART = "ui://clock/view.html", "ui://chart/view.html"

VISIBILITIES = [
    # _meta.ui, whether a model and an app may call it, and whether its server has an app
    pytest.param({}, True, True, False, id="nothing said"),
    pytest.param({"resourceUri": CLOCK}, True, True, True, id="an app shows it"),
    pytest.param({"visibility": ["model", "app"]}, True, True, True, id="both"),
    pytest.param({"visibility": ["app"]}, False, True, True, id="apps only"),
    pytest.param({"visibility": ["model"]}, True, False, False, id="models only"),
    pytest.param({"visibility": ["model"], "resourceUri": CLOCK}, True, False, True, id="shown, and models only"),
    pytest.param({"visibility": []}, False, False, False, id="nobody"),
    pytest.param({"visibility": ["later", 5, {}]}, False, False, False, id="nobody we know"),
    pytest.param({"visibility": "app"}, True, True, False, id="no list"),
    pytest.param(5, True, True, False, id="no object"),
]


@pytest.mark.parametrize(("app", "for_models", "for_apps", "of_app"), VISIBILITIES)
def test_visibilities(app: object, for_models: bool, for_apps: bool, of_app: bool) -> None:
    (item,) = catalog((server("s"), ServerList((tool("x", _meta={"ui": app}),)))).tools()
    assert (item.is_for_models, item.is_for_apps, item.is_of_app) == (for_models, for_apps, of_app)


def shown_by(name: str, uri: str) -> Entry:
    return tool(name, _meta={"ui": {"resourceUri": uri}})


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


OWNERS = [
    # whose tools an app shows, and who lists its URI, of a and b; then whose it is
    pytest.param("b", "", "b", id="a tool's"),
    pytest.param("", "b", "b", id="listed"),
    pytest.param("ab", "", "a", id="two tools': the first in order"),
    pytest.param("b", "a", "b", id="listed by another server"),
    pytest.param("b", "ab", "b", id="listed by both"),
    pytest.param("ab", "b", "a", id="two tools', listed by one"),
    pytest.param("", "", None, id="nobody's"),
]


@pytest.mark.parametrize(("showing", "listing", "then"), OWNERS)
def test_whose_an_app_is(showing: str, listing: str, then: str | None) -> None:
    merged = Catalog([server("a"), server("b")])
    for name in reversed(showing):
        merged.put(name, Kind.TOOLS, ServerList((shown_by("clock", CLOCK),)))
    for name in listing:
        merged.put(name, Kind.RESOURCES, ServerList((entry(CLOCK, uri=CLOCK, name="clock"),)))
    assert merged.owner(CLOCK) == then
    blamed = [name for name, problem in merged.problems() if f"{CLOCK} is also a URI of {then!r}" in problem]
    assert blamed == sorted({name for name in showing + listing if name != then})


def test_every_problem_is_told() -> None:
    merged = Catalog([server("s")])
    merged.put("s", Kind.TOOLS, ServerList((tool("a", title=5),), rejected=("tools[1] has no name",)))
    merged.put("s", Kind.PROMPTS, None)
    merged.put("s", Kind.TEMPLATES, ServerList((entry("x://{y}", uriTemplate="x://{y}"),)))
    assert list(merged.problems()) == [
        ("s", "tools[1] has no name"),
        ("s", "tools: a: its title has the wrong type and is left out"),
        ("s", "its list of prompts cannot be had"),
        ("s", "templates: x://{y}: it has no name; its URI stands in"),
    ]


def test_a_tool_is_also_found_by_its_server_s_own_name() -> None:
    """`server.tool` works whatever it is shown as, unless that is another server's prefix."""
    items = catalog(
        (server("long", prefix="l", rename={"read": "open"}), tools("read")),
        (server("bare", prefix=""), tools("read")),
        (server("l", prefix="bare"), tools("read")),
    ).tools()
    spellings = {"long.open": "long", "l.open": "long", "bare.read": "l", "read": "bare", "l.read": None}
    found = {name: items.find(name) for name in spellings}
    assert {name: item and item.server for name, item in found.items()} == spellings


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
    pytest.param({"a": ["x"], "b": []}, "y", None, id="nobody has it"),
]


@pytest.mark.parametrize(("given_", "name", "then"), BARE)
def test_bare_names(given_: dict[str, list[str]], name: str, then: str | None) -> None:
    merged = catalog(*((server(each), tools(*own)) for each, own in given_.items()))
    item = merged.tools().find_bare(name)
    assert (None if item is None else item.name) == then
    assert merged.tools().find(name) is None  # a bare name is no spelling of a full one


def test_a_withheld_tool_keeps_its_bare_name_from_others() -> None:
    theirs = ServerList((tool("x"),), changed=frozenset({"x"}))
    assert catalog((server("a", pin_tools=True), theirs), (server("b"), tools("x"))).tools().find_bare("x") is None
    assert catalog((server("a"), theirs), (server("b"), tools("y"))).tools().find_bare("x") is not None


def test_changes_are_one_sentence_with_commands_that_can_be_copied() -> None:
    """A server's name may hold spaces and what a shell acts on."""
    page = ServerList((tool("send"), tool("drop")), changed=frozenset({"send"}), new=frozenset({"drop"}))
    odd = server("a; rm x", pin_tools=True, file="/my files/servers.json")
    merged = catalog((odd, page), (server("b"), ServerList((tool("x"),), new=frozenset({"x"}))))
    words = "'a; rm x' --config '/my files/servers.json'"
    assert dict(merged.changes(["a; rm x"])) == {
        "a; rm x": "changed: tool send, title or instructions. New: tool drop. "
        "They are withheld until you accept them: "
        f"`search-mcp check {words}` shows them, `search-mcp check --accept {words}` accepts them",
        "b": "new: tool x. `search-mcp check b` shows it, `search-mcp check --accept b` accepts it",
    }


def test_the_reason_why_a_tool_is_not_shown() -> None:
    page = ServerList((tool("send"), tool("drop")), changed=frozenset({"send"}), new=frozenset({"drop"}))
    merged = catalog((server("a", pin_tools=True), page), (server("g", read_only=True), tools("commit")))
    remedy = "the user reads it with `search-mcp check a` and accepts it with `search-mcp check --accept a`"
    changed, new, read_only = map(merged.why_hidden, ("a.send", "a__drop", "g.commit"))
    assert str(changed) == f"Tool withheld: a.send is not defined as it was when first seen; {remedy}"
    new_text = "is new since the server was first seen, and not accepted yet"
    assert str(new) == f"Tool withheld: a__drop {new_text}; {remedy}"
    assert "Tool not known to be read-only: g.commit" in str(read_only)
    assert merged.why_hidden("a.other") is None


def test_a_server_that_is_switched_off_keeps_its_prefix() -> None:
    merged = catalog((server("a"), tools("git_x", "x")))
    assert merged.tools().find_bare("git_x") is not None
    merged.configure([server("a")], (), [server("git", enabled=False)])
    assert merged.tools().find_bare("git_x") is None
    assert merged.tools().find_bare("x") is not None


def test_read_only_leaves_out_what_is_not_declared_so() -> None:
    read = tool("read", annotations={"readOnlyHint": True})
    page = ServerList((read, tool("write"), tool("drop", annotations={"destructiveHint": True}), tool("denied")))
    config = server("a", read_only=True, deny=("denied",), rename={"drop": "remove-it"}, pinned=("write",))
    merged = catalog((config, page), (server("b"), tools("write")))
    assert names(merged.tools()) == ["a.read", "b.write"]
    assert merged.hidden_by_read_only("a") == ["write", "drop"]
    hidden = [
        name
        for name in ("write", "drop", "remove-it", "remove_it", "read", "denied", "x")
        if merged.is_hidden_by_read_only("a", name)
    ]
    assert hidden == ["write", "drop", "remove-it", "remove_it"]
    for other in ("b", "unknown"):
        assert not merged.hidden_by_read_only(other)
        assert not merged.is_hidden_by_read_only(other, "write")
    assert {item.name: item.hint for item in catalog((replace(config, read_only=False), page)).tools()} == {
        "a.read": "read-only",
        "a.write": "",
        "a.remove-it": "destructive",
    }
