"""The server that a name belongs to, by the prefix of the name."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.samples import CLOCK, catalog, listed, merge, server, tool, tools
from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.items import fold
from search_mcp.catalog.prefixes import Prefixes
from search_mcp.catalog.profiles import CANONICAL, PROFILES, Profile
from search_mcp.catalog.remarks import problems
from search_mcp.catalog.shown_names import ShownNames
from search_mcp.model.names import Kind
from search_mcp.model.servers import ServerList
from search_mcp.wire.structs import replace

SERVERS = [server("git"), server("git-hub"), server("long", prefix="l"), server("bare", prefix="")]

SPLITS = [
    # name, owners by exact prefix and the rest of the name, owners by folded prefix
    pytest.param("git.log", {"git"}, "log", {"git"}, id="a dot"),
    pytest.param("git__log", {"git"}, "log", {"git"}, id="two underscores"),
    pytest.param("git_log", set(), "git_log", {"git"}, id="one underscore"),
    pytest.param("git-hub.log", {"git-hub"}, "log", {"git-hub"}, id="the longest prefix"),
    pytest.param("git_hub.log", {"git-hub"}, "log", {"git-hub"}, id="a folded prefix"),
    pytest.param("git.hub.log", {"git-hub"}, "log", {"git-hub"}, id="a folded prefix with a separator"),
    pytest.param("git.hub_log", {"git"}, "hub_log", {"git-hub"}, id="owners differ"),
    pytest.param("l.open", {"long"}, "open", {"long"}, id="the prefix of an entry"),
    pytest.param("long.open", {"long"}, "open", {"long"}, id="the name of an entry with a prefix"),
    pytest.param("bare.open", {"bare"}, "open", {"bare"}, id="the name of an entry with an empty prefix"),
    pytest.param("other.open", set(), "other.open", set(), id="no prefix"),
    pytest.param("git", set(), "git", set(), id="no separator"),
    pytest.param("", set(), "", set(), id="nothing"),
]


@pytest.mark.parametrize(("name", "owners", "rest", "folded_owners"), SPLITS)
def test_a_name_is_split_at_its_longest_prefix(name: str, owners: set[str], rest: str, folded_owners: set[str]) -> None:
    prefixes = Prefixes(SERVERS)
    assert prefixes.split(name) == (frozenset(owners), rest)
    assert prefixes.of_folded(name) == folded_owners
    assert prefixes.owners(name) == (owners or folded_owners)


@pytest.mark.parametrize(("prefix", "then"), [("git", False), ("git-hub", True), ("l", True), ("other", False)])
def test_a_prefix_is_unrivalled_if_no_other_begins_with_it(prefix: str, then: bool) -> None:
    assert Prefixes(SERVERS).is_unrivalled(prefix) is then


@pytest.mark.parametrize(
    ("name", "admitted", "as_written"),
    [("git.log", True, True), ("git.hub_log", False, True), ("git-hub.log", False, False), ("other.log", True, True)],
)
def test_a_server_may_have_only_names_that_begin_with_no_other_prefix(
    name: str, admitted: bool, as_written: bool
) -> None:
    prefixes = Prefixes(SERVERS)
    assert (prefixes.admits("git", name), prefixes.admits_as_written("git", name)) == (admitted, as_written)


def test_without_servers_no_name_has_an_owner() -> None:
    assert Prefixes().split("git.log") == (frozenset(), "git.log")


NAMELESS = {"name": "x", "prefix": ""}


SHADOWED = [
    # a server with a tool that could be mistaken, the tool, the other server, its tool; two spellings of the latter
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
    # `a__b_c` is the folded name of `c` of server `a__b`, and an exact name of server `a`.
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


@pytest.mark.parametrize("is_listed", [True, False], ids=["listed", "switched off"])
@pytest.mark.parametrize(
    "spelling", ["search-mcp__github__create", "mcp__search-mcp__github.create", "search_mcp_github_create"]
)
def test_no_bare_name_takes_a_name_as_clients_call_it_with_the_registration_in_front(
    spelling: str, is_listed: bool
) -> None:
    rival, owner = server(**NAMELESS), server("github")
    merged = Catalog([rival])
    merged.configure([rival, owner] if is_listed else [rival], (), [] if is_listed else [owner])
    merged.put("x", Kind.TOOLS, tools(spelling))
    if is_listed:
        merged.put("github", Kind.TOOLS, tools("create"))
    (taken, *_) = merged.tools()
    for profile in PROFILES:
        shown = ShownNames(merged.tools(), profile)
        found = shown.find(spelling)
        assert (found and found.server) == ("github" if is_listed else None)
        assert shown.find(shown[taken]) is taken
    assert (
        "x",
        f"its tool {spelling} is called {taken.name}, because {spelling} begins like the names of server 'github'",
    ) in problems(merged)


@pytest.mark.parametrize("order", [("a.b", "a_b"), ("a_b", "a.b")])
def test_a_name_with_two_underscores_reaches_its_own_server(order: tuple[str, str]) -> None:
    items = listed({name: ["_x" if name == "a.b" else "x"] for name in order})
    for spelling, server_name in [("a.b._x", "a.b"), ("a.b___x", "a.b"), ("a_b.x", "a_b"), ("a_b__x", "a_b")]:
        found = items.find(spelling)
        assert found is not None
        assert found.server == server_name


@pytest.mark.parametrize("lists", [True, False], ids=["lists others", "was never seen"])
@pytest.mark.parametrize("enabled", [True, False], ids=["enabled", "switched off"])
@pytest.mark.parametrize(("rival", "taken", "owner", "key", "spelling"), SHADOWED)
def test_a_name_that_its_owner_does_not_have_finds_nothing(
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
    assert len(list(problems(merged))) == 4  # unique names differ when folded, except of git_hub


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
    if not any(prefix == "" for prefix, _ in servers.values()):  # the first server in the file has a bare name
        assert {item.name for item in merge(dict(shuffled)).tools()} == {item.name for item in items}


@given(RIVALS, WORDS, st.lists(PARTS, unique=True), st.integers(0, 3))
def test_another_server_renames_no_tool_under_its_own_prefix(
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
