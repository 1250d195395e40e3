"""The owner of a URI: listed, matched, mentioned in a result, or the only server with its scheme."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.list_limits import LONGEST_URI
from search_mcp.catalog.remarks import problems
from search_mcp.catalog.uris import (
    MOST_BLOCKS,
    MOST_COMPARED,
    MOST_FOLLOWED,
    SEEN_URIS,
    ResourceMap,
    UriTemplate,
    taken,
)
from search_mcp.config.schema import ServerConfig
from search_mcp.model.names import Kind
from search_mcp.model.servers import Entry, ServerList
from search_mcp.wire import payload
from search_mcp.wire.structs import Fields, Raw


def entry(key: str) -> Entry:
    return Entry(key, {"name": payload.encode(key)})


def catalog(resources: dict[str, list[str]], templates: dict[str, list[str]]) -> Catalog:
    servers = dict.fromkeys([*resources, *templates])
    merged = Catalog([ServerConfig(name=name, command="x") for name in servers])
    for kind, lists in ((Kind.RESOURCES, resources), (Kind.TEMPLATES, templates)):
        for name, keys in lists.items():
            merged.put(name, kind, ServerList(tuple(entry(key) for key in keys)))
    return merged


def content(*blocks: object) -> Fields:
    return {"content": payload.encode(blocks)}


def link(uri: object) -> dict[str, object]:
    return {"type": "resource_link", "uri": uri, "name": "n"}


def embedded(uri: object) -> dict[str, object]:
    return {"type": "resource", "resource": {"uri": uri, "text": "t"}}


ROUTES = [
    # resources, templates, uri, then
    pytest.param({"a": ["x://1"], "b": ["x://2"]}, {}, "x://2", "b", id="listed"),
    pytest.param({"a": ["x://1"], "b": ["x://1"]}, {}, "x://1", "a", id="listed twice: the first in order"),
    pytest.param({"a": ["x://1"]}, {"b": ["x://{id}"]}, "x://1", "a", id="listed before matched"),
    pytest.param({}, {"a": ["x://{id}"], "b": ["y://{id}"]}, "y://5", "b", id="matched"),
    pytest.param({}, {"a": ["x://{id}"], "b": ["x://{+path}"]}, "x://5", "a", id="matched twice: the first in order"),
    pytest.param({}, {"a": ["x://{+p}"], "b": ["x://home/{+p}"]}, "x://home/1", "b", id="the longest beginning"),
    pytest.param({}, {"a": ["{+any}"], "b": ["x://{id}"]}, "x://1", "b", id="a template without a scheme: last"),
    pytest.param({"b": ["x://1"]}, {"a": ["{+any}"]}, "x://2", "b", id="without a scheme: after the only one with it"),
    pytest.param({}, {"a": ["x{+any}"], "b": ["x://{id}"]}, "x://1", "b", id="half a scheme is none"),
    pytest.param(
        {}, {"a": ["{+any}"], "b": ["x://{id}"]}, "y://1", "a", id="without a scheme: a scheme that no server has"
    ),
    pytest.param({}, {"a": ["{+any}", "x://{+p}"], "b": ["{scheme}://{+p}"]}, "y://1", "a", id="twice: in order"),
    pytest.param({}, {"a": ["{+any}"], "b": ["x://{id}"]}, "{+any}", "a", id="the template itself, without a scheme"),
    pytest.param({}, {"a": ["x://{id}"], "b": ["x://{+path}"]}, "x://5/6", "b", id="matched by the other"),
    pytest.param({}, {"a": ["x://{id}"], "b": ["x://{+path}"]}, "x://{id}", "a", id="the template itself"),
    pytest.param({"a": ["x://1"], "b": ["y://1"]}, {}, "y://2", "b", id="the only one with its scheme"),
    pytest.param({"a": ["x://1"], "b": ["x://2"]}, {}, "x://3", None, id="two with its scheme"),
    pytest.param({"a": ["x://1"]}, {"a": ["x://{id}/1"]}, "x://3", "a", id="one that lists both ways"),
    pytest.param({"a": ["x://1"]}, {"b": ["x://{id}/1"]}, "x://3", None, id="one that lists, one that matches"),
    pytest.param({"a": ["x://1"]}, {}, "z://1", None, id="an unknown scheme"),
    pytest.param({}, {}, "x://1", None, id="nothing known"),
    pytest.param({"a": ["x:/1"]}, {}, "", None, id="nothing asked for"),
    pytest.param({"a": ["urn:isbn:1"], "b": ["x://1"]}, {}, "urn:isbn:2", "a", id="a URN"),
    pytest.param({}, {"a": ["{+any}"], "b": ["file:///{+path}"]}, "FILE:///1", "b", id="a scheme in capitals"),
    pytest.param({"a": ["X://1"], "b": ["x://1"]}, {}, "X://1", "b", id="listed in capitals by another"),
    pytest.param({"a": ["Odd://1"]}, {"b": ["{+any}"]}, "Odd://1", "a", id="listed in capitals"),
]


@pytest.mark.parametrize(("resources", "templates", "uri", "then"), ROUTES)
def test_the_owner_of_a_uri(
    resources: dict[str, list[str]], templates: dict[str, list[str]], uri: str, then: str | None
) -> None:
    routes = ResourceMap(catalog(resources, templates))
    assert [routes.owner(uri) for _ in range(2)] == [then, then]


def test_a_server_that_lists_only_the_uris_of_another_shares_the_scheme() -> None:
    assert ResourceMap(catalog({"a": ["x://1"], "b": ["x://1"]}, {})).owner("x://2") is None


UI_SERVERS = [
    # servers that list a `ui://` URI, servers with a tool for apps, the owner of an unknown `ui://` URI
    pytest.param("a", "", "a", id="one that lists"),
    pytest.param("", "b", "b", id="one with an app that is not listed"),
    pytest.param("a", "b", None, id="one of each"),
    pytest.param("a", "a", "a", id="one that is both"),
]


@pytest.mark.parametrize(("listing", "calling", "then"), UI_SERVERS)
def test_an_app_need_not_be_listed_to_have_more_pages(listing: str, calling: str, then: str | None) -> None:
    merged = catalog({name: ["ui://1"] if name in listing else [] for name in "ab"}, {})
    visibility = Entry("t", {"name": payload.encode("t"), "_meta": payload.encode({"ui": {"visibility": ["app"]}})})
    for name in calling:
        merged.put(name, Kind.TOOLS, ServerList((visibility,)))
    assert ResourceMap(merged).owner("ui://2") == then


# Mentioned in results

MENTIONS = [
    # a result, as its fields or whole; whether it makes `x://1` the server's
    pytest.param(content(link("x://1")), True, id="a link"),
    pytest.param(content(embedded("x://1")), True, id="embedded"),
    pytest.param(content({"type": "text", "text": "t"}, link("x://0"), link("x://1")), True, id="among others"),
    pytest.param(
        Raw(b'{"isError":true,"content" : [ {"uri":"x:\\/\\/1", "type" :\n"resource_link"}]}'), True, id="whole"
    ),
    pytest.param(content({"type": "text", "text": "x://1"}), False, id="in a text"),
    pytest.param(content({"type": "text", "uri": "x://1"}), False, id="of another type"),
    pytest.param(content({"type": "text", "uri": "x://1"}, link("x://0")), False, id="of another type, beside a link"),
    pytest.param(content({"type": "text", "text": "", "resource": {"uri": "x://1"}}), False, id="inside of a text"),
    pytest.param({"structuredContent": payload.encode([link("x://1")])}, False, id="in structured content"),
    pytest.param(
        content(link(5), link(None), {"type": "resource"}, {"type": "resource", "resource": 5}, 5), False, id="odd"
    ),
    pytest.param({"content": Raw(b'{"type":"resource_link"}')}, False, id="no list"),
    pytest.param({"content": Raw(b'"\\"type\\":\\"resource\\""')}, False, id="a string"),
    pytest.param({}, False, id="no content"),
    pytest.param(Raw(b"null"), False, id="null"),
]


@pytest.mark.parametrize(("result", "then"), MENTIONS)
def test_a_uri_in_a_result_belongs_to_its_server(result: Raw | Fields, then: bool) -> None:
    routes = ResourceMap(catalog({"a": [], "b": []}, {}))
    routes.note("a", result)
    assert routes.owner("x://1") == ("a" if then else None)


APPS = [
    # a result, as its fields or whole; whether it makes `ui://1` the server's
    pytest.param({"_meta": payload.encode({"ui": {"resourceUri": "ui://1"}})}, True, id="as it is spelt now"),
    pytest.param({"_meta": payload.encode({"ui/resourceUri": "ui://1"})}, True, id="as it was"),
    pytest.param(Raw(b'{"content":[],"_meta":{"ui" : {"resourceUri" : "ui:\\/\\/1"}}}'), True, id="whole"),
    pytest.param(Raw(b'{"structuredContent":{"resourceUri":"ui://1"}}'), False, id="elsewhere"),
    pytest.param(Raw(b'{"_meta":{"ui":{"resourceUri":5}}}'), False, id="odd"),
    pytest.param({}, False, id="nothing"),
    pytest.param(Raw(b"null"), False, id="null"),
]


@pytest.mark.parametrize(("result", "then"), APPS)
def test_an_app_of_a_result_belongs_to_its_server(result: Raw | Fields, then: bool) -> None:
    routes = ResourceMap(catalog({"a": [], "b": []}, {}))
    routes.note_app("a", result)
    assert routes.owner("ui://1") == ("a" if then else None)


@pytest.mark.parametrize(("length", "then"), [(LONGEST_URI, "a"), (LONGEST_URI + 1, None)])
def test_a_uri_that_is_too_long_is_not_remembered(length: int, then: str | None) -> None:
    routes, uri = ResourceMap(catalog({"a": []}, {})), "ui://".ljust(length, "x")
    routes.note_app("a", {"_meta": payload.encode({"ui": {"resourceUri": uri}})})
    assert routes.owner(uri) == then


def test_a_mention_does_not_change_the_owner_of_a_listed_uri() -> None:
    routes = ResourceMap(catalog({"a": ["x://1"], "b": []}, {}))
    routes.note("b", content(link("x://1"), link("x://2")))
    assert (routes.owner("x://1"), routes.owner("x://2")) == ("a", "b")


def test_a_mention_does_not_change_the_owner_of_a_matched_uri() -> None:
    routes = ResourceMap(catalog({}, {"a": ["x://{id}", "{+any}"], "b": []}))
    routes.note("b", content(embedded("x://1"), link("y://1")))
    assert routes.owner("x://1") == "a"
    assert routes.owner("y://1") == "b"  # a template without a fixed scheme covers nothing


def test_mentions_of_another_server_do_not_displace_a_mention() -> None:
    routes = ResourceMap(catalog({"a": [], "b": []}, {}))
    routes.note("a", content(link("x://1")))
    routes.note("b", content(link("x://1")))
    assert routes.owner("x://1") == "a"
    routes.note("b", content(*(link(f"y://{number}") for number in range(SEEN_URIS))))
    assert routes.owner("x://1") == "a"


def test_the_mentions_of_a_removed_server_are_ignored() -> None:
    merged = catalog({"a": [], "b": []}, {})
    routes = ResourceMap(merged)
    for server in ("a", "b"):
        routes.note(server, content(link("x://1")))
    merged.configure([ServerConfig(name="b", command="x")], ())
    assert routes.owner("x://1") == "b"


def test_the_app_of_a_tool_has_the_scheme_of_apps() -> None:
    merged = catalog({"b": ["ui://listed", "file:///listed"]}, {"b": ["file:///{+path}"]})
    names = ["ui://listed", "ui://own", "file:///listed", "file:///covered", "data:own"]
    shown = [
        Entry(uri, {"name": payload.encode(uri), "_meta": payload.encode({"ui": {"resourceUri": uri}})})
        for uri in names
    ]
    merged.configure([ServerConfig(name=name, command="x") for name in ("a", "b")], ())
    merged.put("a", Kind.TOOLS, ServerList(tuple(shown)))
    assert [ResourceMap(merged).owner(uri) for uri in names] == ["a", "a", "b", "b", None]


def test_a_template_without_a_scheme_is_reported() -> None:
    merged = catalog({}, {"a": ["{+any}", "x{y}", "x://{y}"]})
    said = "it has no literal scheme; it is used only for URIs that no other server has"
    assert list(problems(merged)) == [("a", f"templates: {text}: {said}") for text in ("{+any}", "x{y}")]


def test_the_oldest_mentions_are_forgotten() -> None:
    routes = ResourceMap(catalog({"a": [], "b": []}, {}))
    routes.note("a", content(*(link(f"x://{number}") for number in range(SEEN_URIS))))
    routes.note("a", content(link("x://0")))
    routes.note("a", content(link("x://new")))
    owners = [routes.owner(uri) for uri in ("x://0", "x://1", "x://2", "x://new")]
    assert owners == ["a", None, "a", "a"]


def test_owners_follow_the_catalogue() -> None:
    merged = catalog({"a": ["x://1"]}, {"b": []})
    routes = ResourceMap(merged)
    assert routes.owner("y://1") is None
    merged.put("b", Kind.TEMPLATES, ServerList((entry("y://{id}"),)))
    assert routes.owner("y://1") == "b"
    merged.put("b", Kind.TEMPLATES, None)
    assert routes.owner("y://1") is None


@pytest.mark.parametrize(("others", "then"), [(MOST_FOLLOWED - 1, "a"), (MOST_FOLLOWED, "b")])
def test_many_templates_of_one_server_hide_none_of_another(others: int, then: str) -> None:
    """A URI is matched with a bounded number of templates of each server."""
    alike = [f"x://home/{{a}}/{number}/{{b}}" for number in range(others)]
    routes = ResourceMap(catalog({}, {"a": [*alike, "x://home/{+p}"], "b": ["x://{+p}"]}))
    assert routes.owner("x://home/1") == then


def test_suggestions_are_all_uris_and_templates() -> None:
    routes = ResourceMap(catalog({"b": ["x://2"], "a": ["x://1"]}, {"a": ["x://{id}"]}))
    assert routes.known() == ["x://2", "x://1", "x://{id}"]


# Templates (RFC 6570)


def matches(template: str, uri: str) -> bool:
    """Return whether a URI is routed by a template alone: another server has the same scheme."""
    rival = template.partition(":")[0] + ":nothing of the kind"
    return ResourceMap(catalog({"rival": [rival]}, {"a": [template]})).owner(uri) == "a"


TEMPLATES = [
    # template, uri, whether it looks like an expansion
    ("x://{id}", "x://5", True),
    ("x://{id}", "x://", True),
    ("x://{id}", "x://a/b", False),
    ("x://{id}", "x://a?b", False),
    ("x://{id}", "y://a", False),
    ("x://{id}/tail", "x://a/tail", True),
    ("x://{id}/tail", "x://a/tai", False),
    ("x://{a,b}", "x://1,2", True),
    ("x://{a}-{b}", "x://1-2", True),
    ("x://{+path}", "x://a/b?c#d", True),
    ("x://{/path*}", "x:///a/b", True),
    ("x://a{?q,limit}", "x://a?q=1&limit=2", True),
    ("x://a{?q}", "x://a", True),
    ("x://a{&q}", "x://a&q=1", True),
    ("x://a{#top}", "x://a#top", True),
    ("x://a{;v}", "x://a;v=1", True),
    ("x://a{.ext}", "x://a.txt", True),
    ("x://{id:3}", "x://abc", True),
    ("x://a.b", "x://a.b", True),
    ("x://a.b", "x://aXb", False),
    ("x://(a|b)+[c]*", "x://(a|b)+[c]*", True),
    ("x://(a|b)+", "x://a", False),
    ("x://{", "x://{", True),
    ("x://{}", "x://a", True),
    ("x://{id}", "x://a\nb", True),
    ("名://{名}", "名://前", True),
    ("x://{+a}x{b}", "x://1x/2x3", True),
    ("x://{a}x{+b}", "x://1/x2", False),
    ("x://{a}/2", "x://a0b/2", True),
    ("x://" + "{+a}" * 1500, "x://" + "a" * 4000, True),
    ("x://" + "{+a}" * 1500 + "!", "x://" + "a" * 4000, False),
]


@pytest.mark.parametrize(("template", "uri", "then"), TEMPLATES)
def test_a_uri_matches_a_template(template: str, uri: str, then: bool) -> None:
    assert matches(template, uri) is then


@given(
    st.lists(st.sampled_from(["x:", "/", "a", "{", "}", "{v}", "{+v}", "{/v*}", "(", "[", "\\", "*", "é"])), st.text()
)
def test_any_text_can_be_matched_as_a_template(pieces: list[str], uri: str) -> None:
    template = "".join(pieces)
    assert matches(template, uri) in (True, False)
    assert matches(template, template.replace("{+v}", "a/b").replace("{/v*}", "/a/b").replace("{v}", "a"))


@given(
    st.lists(st.sampled_from(["{v}", "{+v}", "a", "/", "0", "ab", "?"]), max_size=8).map("".join),
    st.text("a0b/?", max_size=12),
)
def test_a_template_matches_what_a_regular_expression_would(template: str, uri: str) -> None:
    pattern = re.escape(template).replace(r"\{v\}", "[^/?#]*").replace(r"\{\+v\}", ".*")
    assert matches(template, uri) is (re.fullmatch(pattern, uri) is not None)


def test_a_result_of_very_many_blocks_is_not_searched_for_uris() -> None:
    links = [{"type": "resource_link", "uri": f"x://{number}"} for number in range(MOST_BLOCKS + 1)]
    resources = ResourceMap(Catalog([ServerConfig(name="a", command="x")]))
    resources.note("a", payload.encode({"content": links}))
    assert resources.owner("x://0") is None
    text = {"type": "text", "text": '{"a": 1}' * MOST_BLOCKS}  # no objects, but a text with many braces
    resources.note("a", payload.encode({"content": [links[0], text]}))
    assert resources.owner("x://0") == "a"


def test_a_hostile_template_does_not_stall_us() -> None:
    """A backend lists the template and a client sends the URI. Exhaustive matching would never finish."""
    assert not matches("x://" + "{+a}a" * 60 + "!", "x://" + "a" * 1000)


@pytest.mark.parametrize(
    ("uri", "then"),
    [
        ("x://1/tail", True),
        ("y://1/tail", False),
        ("x://1/other", False),
        ("x://" + "1" * LONGEST_URI + "/tail", False),
    ],
    ids=["both ends", "another beginning", "another end", "too long"],
)
def test_a_template_compares_both_ends_first(uri: str, then: bool) -> None:
    template = UriTemplate("x://{id}/tail")
    assert template.begins_and_ends_like(uri) is template.matches(uri) is then


TAKEN: list[tuple[dict[str, list[str]], dict[str, list[str]], list[tuple[str, str]]]] = [
    # resources, templates, who takes what
    (
        {"a": ["x://.env", "x://1", "y://1"]},
        {"b": ["x://{+p}"]},
        [("a", "x://.env and 1 more of its URIs are read here, not at 'b', whose template x://{+p} fits, too")],
    ),
    (
        {},
        {"a": ["file:///home/me/{+x}", "file:///{y}"], "b": ["file:///{+path}"]},
        [("a", "file:///home/me/{+x} is read here, not at 'b', whose template file:///{+path} fits, too")],
    ),
    ({"b": ["x://1"], "a": ["x://1"]}, {"b": ["x://{id}", "x://a{id}"]}, []),
    ({"a": ["x://1/2"]}, {"b": ["x://{id}", "{+any}"]}, []),
]


@pytest.mark.parametrize(("resources", "templates", "said"), TAKEN)
def test_a_uri_that_is_taken_from_the_template_of_another_server_is_reported(
    resources: dict[str, list[str]], templates: dict[str, list[str]], said: list[tuple[str, str]]
) -> None:
    assert [*taken(catalog(resources, templates))] == said


def test_the_number_of_uris_that_are_compared_with_templates_is_limited() -> None:
    templates = [f"x://{number}{{+p}}" for number in range(5_000)]
    before = [f"y://{number}" for number in range(MOST_COMPARED // len(templates))]
    for uris, then in ((["x://1", *before], 1), ([*before, "x://1"], 0)):
        assert len([*taken(catalog({"a": uris}, {"b": templates}))]) == then
