"""Names as a client profile spells them, and the tool that a client means by a name."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.samples import catalog, listed, server, tool, tools
from search_mcp.catalog.items import OWN_NAMES, fold
from search_mcp.catalog.profiles import BY_NAME, CANONICAL, Profile
from search_mcp.catalog.shown_names import ShownNames, Spellings
from search_mcp.model.names import Kind
from search_mcp.model.servers import ServerList
from search_mcp.wire.structs import replace

LONG = "a_tool_with_a_very_long_name_" * 5


SHOWN = [
    # profile, servers with their tools, then
    pytest.param("canonical", {"my.s": ["a-b", "c.d"]}, ["my.s.a-b", "my.s.c.d"], id="canonical"),
    pytest.param("vscode", {"my.s": ["a-b", "c.d"]}, ["my_s__a-b", "my_s__c_d"], id="underscores"),
    pytest.param("cursor", {"my.s": ["a-b", "c.d"]}, ["my_s__a_b", "my_s__c_d"], id="nothing else"),
    pytest.param("cursor", {"s": [LONG]}, ["s__a_tool_with_a_very_long_name_a_tool_with_[0-9a-f]{6}"], id="shortened"),
    pytest.param("canonical", {"s": [LONG]}, [f"s.{LONG[:119]}_[0-9a-f]{{6}}"], id="shortened at 128"),
    pytest.param(
        "zed", {"s": ["x" * 62, "x" * 63]}, ["s." + "x" * 62, "s." + "x" * 55 + "_[0-9a-f]{6}"], id="at the limit"
    ),
    pytest.param(
        "vscode", {"a_": ["b"], "a": ["_b"]}, ["a___b", "x[0-9a-f]{6}_a_x[0-9a-f]{6}_b"], id="alike when shown"
    ),
]


@pytest.mark.parametrize(("profile", "servers", "then"), SHOWN)
def test_names_follow_the_profile(profile: str, servers: dict[str, list[str]], then: list[str]) -> None:
    items = listed(servers)
    spelt = ShownNames(items, BY_NAME[profile])
    assert len(items) == len(then)
    for item, pattern in zip(items, then, strict=True):
        assert re.fullmatch(pattern.replace(".", r"\."), spelt[item]), spelt[item]
        assert spelt.find(spelt[item]) is item
    assert spelt.find("no.such") is None


def test_names_that_are_alike_only_as_this_client_is_shown_them_get_a_suffix() -> None:
    merged = catalog((server("a"), tools("b")), (server("bare", prefix=""), tools("a___b")))
    items, profile = merged.tools(), replace(CANONICAL, separator="___")
    assert [re.sub("[0-9a-f]{6}", "*", item.name) for item in items] == ["a.b", "x*_a_b"]  # else it begins like a's
    spelt = ShownNames(items, profile)
    assert spelt[items[0]] != spelt[items[1]]
    for item in items:
        assert spelt.find(spelt[item]) is item
        assert spelt.find(item.name) is item


def test_names_are_looked_up_as_they_are_shown_and_by_every_other_spelling() -> None:
    items = listed({"my.s": ["a-b"]})
    spelt = ShownNames(items, replace(CANONICAL, separator="--"))
    assert list(spelt.names()) == ["my.s--a-b"]
    for name in ("my.s--a-b", "my.s.a-b", "my.s__a-b", "my_s_a_b"):
        assert spelt.find(name) is items[0]


def test_spellings_are_made_once_until_the_catalogue_changes() -> None:
    merged = catalog((server("s"), tools("a")))
    spellings, cursor = Spellings(merged), BY_NAME["cursor"]
    before = spellings.of(Kind.TOOLS, cursor)
    assert spellings.of(Kind.TOOLS, cursor) is before
    assert list(spellings.of(Kind.TOOLS, CANONICAL).names()) == ["s.a"]
    assert list(spellings.of(Kind.PROMPTS, cursor).names()) == []
    merged.put("s", Kind.TOOLS, tools("b"))
    assert list(spellings.of(Kind.TOOLS, cursor).names()) == ["s__b"]


def test_a_shortened_name_is_the_same_in_every_session() -> None:
    spelt = []
    for servers in ({"s": [LONG]}, {"t": [LONG], "s": ["x", LONG]}):
        items = listed(servers)
        spelt.append(ShownNames(items, BY_NAME["cursor"])[items[-1]])
    assert spelt[0] == spelt[1]


ODD = st.text("aA_.- é", max_size=4) | st.text(max_size=5) | st.just(LONG)


SERVERS = st.dictionaries(ODD.filter(bool), st.lists(ODD.filter(bool), unique=True, max_size=6), max_size=4)


PROFILES = st.builds(
    replace,
    st.sampled_from(list(BY_NAME.values())),
    separator=st.sampled_from([".", "__", "_", "-", "..", "_._"]),
    max_length=st.integers(16, 64),
)


@given(SERVERS, st.none() | st.just(""), PROFILES | st.sampled_from(list(BY_NAME.values())))
def test_shown_names_are_a_bijection_unique_after_folding_and_within_the_limit(
    servers: dict[str, list[str]], prefix: str | None, profile: Profile
) -> None:
    items = listed(servers, prefix=prefix)
    spelt = ShownNames(items, profile)
    every = [spelt[item] for item in items]
    assert len({fold(name) for name in every}) == len(items)
    for item, name in zip(items, every, strict=True):
        assert 0 < len(name) <= profile.max_length
        assert not re.search(profile.refused, name)
        assert spelt.find(name) is item
        for good in (name, item.name):  # shown and canonical, looked up as in a call
            assert (spelt.find(good) or items.find(good)) is item


@given(SERVERS, st.none() | st.just(""), PROFILES | st.sampled_from(list(BY_NAME.values())))
def test_a_name_for_apps_finds_no_other_tool(
    servers: dict[str, list[str]], prefix: str | None, profile: Profile
) -> None:
    for_app = {"ui": {"visibility": ["app"]}}
    pages = {name: ServerList(tuple(tool(key, _meta=for_app) for key in keys)) for name, keys in servers.items()}
    items = catalog(*((server(name, prefix=prefix), page) for name, page in pages.items())).tools()
    spelt = ShownNames(items, profile)
    for_apps = dict(spelt.for_apps())
    others = [spelt[item] for item in items if for_apps.get(item.key) is not item]
    assert len({fold(name) for name in (*for_apps, *others, *OWN_NAMES)}) == len(items) + len(OWN_NAMES)
    for name, item in for_apps.items():
        assert len(name) <= profile.max_length
        assert not re.search(profile.refused, name)
        assert spelt.find(name) in (None, item)  # and then the tool with that exact name is called
        assert items.for_apps[name] is item


def test_a_name_that_anticipates_the_shortened_name_of_another_gets_a_suffix() -> None:
    cursor = BY_NAME["cursor"]
    foreseen = ShownNames(listed({"s": [LONG]}), cursor).names()
    (taken,) = (name.removeprefix("s__") for name in foreseen)
    items = listed({"s": [LONG, taken]})
    spelt = ShownNames(items, cursor)
    assert [spelt[items[0]]] == foreseen
    assert re.fullmatch("s__a_tool.*_[0-9a-f]{6}", spelt[items[1]])
    assert spelt[items[1]] != spelt[items[0]]


def test_suggestions_are_names_as_they_are_shown() -> None:
    spelt = ShownNames(listed({"git": ["log", "commit"], "hub": ["log"]}), BY_NAME["cursor"])
    assert spelt.near("log") == ["git__log", "hub__log"]  # the candidates for a bare name
    assert spelt.near("git__comit") == ["git__commit"]
    assert spelt.near("serch_tools", ["search_tools"]) == ["search_tools"]
    assert spelt.near("zzqx") == []
