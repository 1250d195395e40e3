"""All servers' lists merged, filtered and changed by the configuration."""

import pytest

from catalog.samples import CLOCK, catalog, entry, listed, names, server, shown_by, tool, tools
from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.list_limits import FEW_ENTRIES
from search_mcp.catalog.remarks import changes, problems
from search_mcp.model.names import Kind
from search_mcp.model.servers import Freshness, ServerList
from search_mcp.wire import payload
from search_mcp.wire.structs import replace


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
    assert list(problems(merged)) == [("b", "its list of tools could not be read")]


def test_a_new_list_replaces_the_last_and_raises_the_version() -> None:
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


def test_tools_have_the_order_of_the_configuration() -> None:
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


def test_a_server_that_is_switched_off_keeps_its_prefix() -> None:
    merged = catalog((server("a"), tools("git_x", "x")))
    assert merged.tools().find_bare("git_x") is not None
    merged.configure([server("a")], (), [server("git", enabled=False)])
    assert merged.tools().find_bare("git_x") is None
    assert merged.tools().find_bare("x") is not None


FRESHNESS = [
    # freshness of each server's list (None: no list), then
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
    assert merged.freshness(Kind.TOOLS, now=0) == then


def test_a_list_is_less_fresh_the_longer_ago_it_was_read() -> None:
    first, second = ServerList((), Freshness(5000, True), read_at=100.0), ServerList((), Freshness(4000, True))
    merged = catalog((server("a"), first), (server("b"), replace(second, read_at=102.0)))
    for now, ttl_ms in ((102.0, 3000), (103.5, 1500), (104.9999, 0), (105.0, 0), (1000.0, 0)):
        assert merged.freshness(Kind.TOOLS, now) == Freshness(ttl_ms, True)


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
    assert payload.string(first.fields["title"]) == "A"


@pytest.mark.parametrize("pinned", ["read", "look"])
def test_a_tool_is_pinned_by_either_name(pinned: str) -> None:
    items = listed({"s": ["read", "write"]}, rename={"read": "look"}, pinned=(pinned,))
    assert [item.pinned for item in items] == [True, False]


def test_read_only_leaves_out_tools_not_declared_read_only() -> None:
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


def test_of_two_servers_with_one_uri_the_first_in_order_has_it() -> None:
    pages = [ServerList((entry("x://1", uri="x://1", name=name), entry(f"x://{name}", name=name))) for name in "ab"]
    merged = Catalog([server("a"), server("b")])
    merged.put("b", Kind.RESOURCES, pages[1])
    merged.put("a", Kind.RESOURCES, pages[0])
    owners = {uri: owner for uri, (owner, _) in merged.by_uri(Kind.RESOURCES).items()}
    assert owners == {"x://1": "a", "x://a": "a", "x://b": "b"}
    ((blamed, problem),) = problems(merged)
    assert blamed == "b"
    assert problem.startswith("resources: x://1 is also a URI of 'a'")
    assert merged.by_uri(Kind.TEMPLATES) == {}


OWNERS = [
    # servers of a and b with a tool that the app shows, servers that list its URI, the owner
    pytest.param("b", "", "b", id="a tool's"),
    pytest.param("", "b", "b", id="listed"),
    pytest.param("ab", "", "a", id="two tools': the first in order"),
    pytest.param("b", "a", "b", id="listed by another server"),
    pytest.param("b", "ab", "b", id="listed by both"),
    pytest.param("ab", "b", "a", id="two tools', listed by one"),
    pytest.param("", "", None, id="no owner"),
]


@pytest.mark.parametrize(("showing", "listing", "then"), OWNERS)
def test_the_owner_of_an_app(showing: str, listing: str, then: str | None) -> None:
    merged = Catalog([server("a"), server("b")])
    for name in reversed(showing):
        merged.put(name, Kind.TOOLS, ServerList((shown_by("clock", CLOCK),)))
    for name in listing:
        merged.put(name, Kind.RESOURCES, ServerList((entry(CLOCK, uri=CLOCK, name="clock"),)))
    assert merged.owner(CLOCK) == then
    blamed = [name for name, problem in problems(merged) if f"{CLOCK} is also a URI of {then!r}" in problem]
    assert blamed == sorted({name for name in showing + listing if name != then})


def test_the_reason_for_a_hidden_tool() -> None:
    page = ServerList((tool("send"), tool("drop")), changed=frozenset({"send"}), new=frozenset({"drop"}))
    merged = catalog((server("a", pin_tools=True), page), (server("g", read_only=True), tools("commit")))
    remedy = "Ask the user to run `search-mcp check --accept a` in a terminal, or `search-mcp ui`"
    changed, new, read_only = map(merged.why_hidden, ("a.send", "a__drop", "g.commit"))
    assert str(changed) == f"Tool withheld: a.send has changed since it was first seen. {remedy}"
    new_text = "is new since the server was first seen and not accepted yet"
    assert str(new) == f"Tool withheld: a__drop {new_text}. {remedy}"
    assert "Tool not declared read-only: g.commit" in str(read_only)
    assert merged.why_hidden("a.other") is None


def test_a_list_that_is_as_it_was_changes_nothing() -> None:
    merged = catalog((server("s"), tools("a")))
    before, version = merged.tools(), merged.version
    merged.put("s", Kind.TOOLS, replace(tools("a"), freshness=Freshness(5, True), is_pending=True))
    assert merged.tools() is before
    assert (merged.version, merged.freshness(Kind.TOOLS, now=0)) == (version, Freshness(5, True))


def test_a_list_whose_entries_are_all_filtered_out_has_entries() -> None:
    merged = catalog((server("a", deny=("*",)), tools("x")), (server("b"), None))
    assert (merged.has_entries(Kind.TOOLS), merged.has_entries(Kind.PROMPTS)) == (True, False)


def test_a_pinned_list_is_withheld_until_it_is_compared() -> None:
    """After the comparison only the changed and new entries are withheld."""
    compared = replace(tools("same", "other", "added"), changed=frozenset({"other"}), new=frozenset({"added"}))
    pending, troubled = replace(tools("x"), is_pending=True), replace(tools("x"), trouble="the record is damaged")
    pages = {"a": compared, "b": pending, "c": troubled}
    merged = catalog(*((server(name, pin_tools=True), page) for name, page in pages.items()), (server("d"), compared))
    withheld = {name: merged.withheld(name) for name in "abcd"}
    assert withheld == {"a": {"other", "added"}, "b": {"x"}, "c": {"x"}, "d": frozenset()}
    assert (merged.changed("d"), merged.new("d")) == (compared.changed, compared.new)
    assert (merged.changed("unknown"), merged.new("unknown")) == (frozenset(), frozenset())
    assert (merged.is_admitted("a", "same"), merged.is_admitted("a", "other")) == (True, False)
    assert merged.admissible("a", Kind.TOOLS) == {"other", "added"}
    assert names(merged.tools()) == ["a.same", "d.same", "d.other", "d.added"]
    assert ("c", "the record is damaged; nothing of it is shown until then") in changes(merged)


def test_everything_includes_filtered_tools() -> None:
    merged = catalog((server("a", deny=("x",)), tools("x")), (server("b"), None), (server("c"), tools("y")))
    assert [(name, entry.key) for name, entry in merged.everything(Kind.TOOLS)] == [("a", "x"), ("c", "y")]


def test_only_long_lists_are_merged_ahead_and_only_once() -> None:
    assert not catalog((server("s"), tools("x"))).merge_long(Kind.TOOLS)
    merged = catalog((server("s"), tools(*map(str, range(FEW_ENTRIES)))))
    assert [merged.merge_long(Kind.TOOLS) for _ in range(2)] == [True, False]


def test_a_server_without_lists_is_configured() -> None:
    merged = Catalog([server("a")])
    assert (merged.has("a"), merged.has("b")) == (True, False)


def test_the_owners_of_a_scheme_are_all_servers_that_list_it() -> None:
    merged = Catalog([server("a"), server("b"), server("c")])
    merged.put("a", Kind.RESOURCES, ServerList((entry("x://1"),)))
    merged.put("b", Kind.TEMPLATES, ServerList((entry("x://{y}"), entry("y://{y}"))))
    merged.put("c", Kind.TOOLS, ServerList((entry("x://tool"),)))
    assert merged.owners_of_scheme("x") == {"a", "b"}
    assert merged.owners_of_scheme("z") == set()


def test_the_owner_of_a_uri_lists_it_or_its_template() -> None:
    merged = Catalog([server("a"), server("b")])
    merged.put("a", Kind.TEMPLATES, ServerList((entry("x://{y}"), entry("{any}"))))
    merged.put("b", Kind.RESOURCES, ServerList((entry("x://1"),)))
    assert [merged.owner(uri) for uri in ("x://1", "x://{y}", "x://2")] == ["b", "a", None]
    no_scheme = "templates: {any}: it has no literal scheme; it is used only for URIs that no other server has"
    assert ("a", no_scheme) in problems(merged)


def test_a_definition_that_cannot_be_repaired_is_left_out() -> None:
    page = ServerList((tool("a", inputSchema={"type": "string"}), tool("b")))
    assert names(catalog((server("s"), page)).tools()) == ["s.b"]
