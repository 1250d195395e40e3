"""One tool or prompt, the parts of its definition that are read, and the comparison of names."""

import json
from typing import Any

import pytest

from catalog.samples import CHART, CLOCK, OBJECT, catalog, listed, names, server, tool, tools
from search_mcp.catalog.items import (
    Item,
    accepted,
    app_uris,
    fold,
    has_literal_scheme,
    is_allowed,
    is_app,
    literal_beginning,
    stable_suffix,
    without_separators,
)
from search_mcp.model.servers import ServerList
from search_mcp.wire import payload


def shape(item: Item) -> Any:
    return json.loads(payload.encode_bytes(item.fields))


def test_an_item_holds_its_definition() -> None:
    (item,) = listed({"s": ["a"]})
    assert shape(item) == {"name": "a", "inputSchema": OBJECT}
    assert item.input_schema == OBJECT


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
def test_the_description_falls_back_to_the_title(members: dict[str, object], then: str) -> None:
    (item,) = catalog((server("s"), ServerList((tool("a", **members),)))).tools()
    assert item.description == then


VISIBILITIES = [
    # _meta.ui, whether a model and an app may call it, and whether its server has an app
    pytest.param({}, True, True, False, id="nothing said"),
    pytest.param({"resourceUri": CLOCK}, True, True, True, id="an app shows it"),
    pytest.param({"visibility": ["model", "app"]}, True, True, True, id="both"),
    pytest.param({"visibility": ["app"]}, False, True, True, id="apps only"),
    pytest.param({"visibility": ["model"]}, True, False, False, id="models only"),
    pytest.param({"visibility": ["model"], "resourceUri": CLOCK}, True, False, True, id="shown, and models only"),
    pytest.param({"visibility": []}, False, False, False, id="an empty list"),
    pytest.param({"visibility": ["later", 5, {}]}, False, False, False, id="unknown values"),
    pytest.param({"visibility": "app"}, True, True, False, id="no list"),
    pytest.param(5, True, True, False, id="no object"),
]


@pytest.mark.parametrize(("app", "for_models", "for_apps", "of_app"), VISIBILITIES)
def test_models_and_apps_see_tools_according_to_their_visibility(
    app: object, for_models: bool, for_apps: bool, of_app: bool
) -> None:
    (item,) = catalog((server("s"), ServerList((tool("x", _meta={"ui": app}),)))).tools()
    assert (item.is_for_models, item.is_for_apps, item.is_of_app) == (for_models, for_apps, of_app)


@pytest.mark.parametrize(
    ("name", "then"), [("a.b-c_d", "a_b_c_d"), ("é", "_"), ("", ""), ("aZ09", "aZ09"), ("a__b", "a__b")]
)
def test_folding_leaves_letters_and_digits(name: str, then: str) -> None:
    assert fold(name) == then


def test_a_suffix_is_the_same_in_every_session() -> None:
    assert stable_suffix("s", "a/b") == stable_suffix("s", "a/b") == "fb3c0e"
    assert stable_suffix("sa", "/b") != stable_suffix("s", "a/b") != stable_suffix("s", "a:b")
    first = names(listed({"s": ["a b", "a/b", "x"]}))
    later = names(listed({"s": ["a b", "new", "a/b"], "t": ["a/b"]}))
    assert [first[0], first[1]] == [later[0], later[2]]


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
def test_allow_and_deny_let_tools_through(allow: list[str], deny: list[str], name: str, then: bool) -> None:
    config = server("s", allow=tuple(allow), deny=tuple(deny))
    assert is_allowed(config, name) is then
    assert names(catalog((config, tools(name))).tools()) == ([f"s.{name}"] if then else [])


@pytest.mark.parametrize(
    ("annotations", "then"),
    [
        ({}, ""),
        ({"readOnlyHint": True}, "read-only"),
        ({"destructiveHint": True}, "destructive"),
        ({"readOnlyHint": True, "destructiveHint": True}, "read-only"),
        ({"readOnlyHint": False, "destructiveHint": False}, ""),
    ],
)
def test_the_hint_is_the_declared_effect(annotations: dict[str, object], then: str) -> None:
    (item,) = catalog((server("s"), ServerList((tool("a", annotations=annotations),)))).tools()
    assert (item.hint, item.is_read_only) == (then, then == "read-only")


APP_URIS = [
    # _meta, the URIs of the app
    ({"ui": {"resourceUri": CLOCK}}, [CLOCK]),
    ({"ui/resourceUri": CLOCK}, [CLOCK]),
    ({"ui": {"resourceUri": CLOCK}, "ui/resourceUri": CHART}, [CLOCK, CHART]),
    ({"ui": {"resourceUri": 5}}, []),
    ({}, []),
]


@pytest.mark.parametrize(("meta", "then"), APP_URIS)
def test_both_spellings_of_an_app_are_read(meta: dict[str, object], then: list[str]) -> None:
    assert app_uris({"_meta": payload.encode(meta)}) == then


@pytest.mark.parametrize(
    ("template", "beginning", "is_fixed"),
    [("x://a/{id}", "x://a/", True), ("x://a", "x://a", True), ("{+any}", "", False), ("x{y}://", "x", False)],
)
def test_the_literal_beginning_of_a_template(template: str, beginning: str, is_fixed: bool) -> None:
    assert (literal_beginning(template), has_literal_scheme(template)) == (beginning, is_fixed)


@pytest.mark.parametrize(("uri", "then"), [(CLOCK, True), ("file:///ui:", False), ("", False)])
def test_an_app_has_a_scheme_of_its_own(uri: str, then: bool) -> None:
    assert is_app(uri) is then


@pytest.mark.parametrize(("name", "then"), [("a.b__c-d", "a_b_c_d"), ("_a.", "a"), ("é.b", "é_b"), ("...", "")])
def test_separators_become_one_underscore(name: str, then: str) -> None:
    assert without_separators(name) == then


@pytest.mark.parametrize(("name", "then"), [("a.b_c-9", "a.b_c-9"), ("a b/é", "a_b__")])
def test_refused_characters_become_underscores(name: str, then: str) -> None:
    assert accepted(name) == then
