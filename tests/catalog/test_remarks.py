"""What is said of the definitions of all servers: problems, and changes since they were first seen."""

from typing import Any

import pytest

from catalog.samples import catalog, entry, server, tool, tools
from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.remarks import changes, changes_for_model, problems
from search_mcp.model.names import Kind
from search_mcp.model.servers import ServerList
from search_mcp.wire.structs import replace


def test_every_problem_is_reported() -> None:
    merged = Catalog([server("s")])
    merged.put("s", Kind.TOOLS, ServerList((tool("a", title=5),), rejected=("tools[1] has no name",)))
    merged.put("s", Kind.PROMPTS, None)
    merged.put("s", Kind.TEMPLATES, ServerList((entry("x://{y}", uriTemplate="x://{y}"),)))
    assert list(problems(merged)) == [
        ("s", "tools[1] has no name"),
        ("s", "tools: a: its title has the wrong type and is left out"),
        ("s", "its list of prompts could not be read"),
        ("s", "templates: x://{y}: it has no name; its URI stands in"),
    ]


def test_changes_are_one_sentence_with_commands_that_can_be_copied() -> None:
    """A server's name may contain spaces and characters that are special in a shell."""
    page = ServerList((tool("send"), tool("drop")), changed=frozenset({"send"}), new=frozenset({"drop"}))
    odd = server("a; rm x", pin_tools=True, file="/my files/servers.json")
    merged = catalog((odd, page), (server("b"), ServerList((tool("x"),), new=frozenset({"x"}))))
    words = "'a; rm x' --config '/my files/servers.json'"
    assert dict(changes(merged, ["a; rm x"])) == {
        "a; rm x": "changed: tool send, title or instructions. New: tool drop. "
        "They are withheld until you accept them: "
        f"`search-mcp check {words}` shows them, `search-mcp check --accept {words}` accepts them",
        "b": "new: tool x. Models see the new text already: "
        "`search-mcp check b` shows it, `search-mcp check --accept b` accepts it",
    }


def test_a_model_asks_the_user_about_a_new_tool_only_if_it_is_withheld() -> None:
    """A server may list a tool only to clients with roots, which another client does not have."""
    merged = catalog((server("a"), tools("x")), (server("b", pin_tools=True), tools("x")))
    ask = "Ask the user to run `search-mcp check --accept"
    assert changes_for_model(merged, "a", [], ["1 tool"]) == "new: 1 tool"
    assert f"{ask} a`" in changes_for_model(merged, "a", ["tool x"], ["1 tool"])
    assert f"Withheld until the user accepts it. {ask} b`" in changes_for_model(merged, "b", [], ["1 tool"])


def test_of_many_changed_tools_some_are_named() -> None:
    page = replace(tools(*"abcdefghijkl"), new=frozenset("abcdefghijkl"))
    ((_, change),) = changes(catalog((server("s"), page)))
    assert change.startswith("new: tools a, b, c, d, e, f, g, h, i, j, 2 more. ")


UNMATCHED = [
    # in the entry, what is said with the tools get_time and convert_time
    ({"deny": ("convert_tme",)}, ["tools.deny: no tool matches 'convert_tme'; did you mean convert_time?"]),
    ({"deny": ("*_tme", "get_*", "*")}, ["tools.deny: no tool matches '*_tme'; did you mean get_time?"]),
    ({"allow": ("get_time", "Convert*")}, ["tools.allow: no tool matches 'Convert*'; did you mean convert_time?"]),
    ({"pinned": ("nope",)}, ["pinned: no tool matches 'nope'"]),
    ({"rename": {"gettime": "now"}}, ["rename: no tool matches 'gettime'; did you mean get_time?"]),
    ({"describe": {"now": "Tell"}, "rename": {"get_time": "now"}}, ["describe: no tool matches 'now'"]),
    (
        {"deny": ("k1", "k2", "k3", "k4", "k5")},
        [
            *(f"tools.deny: no tool matches 'k{number}'" for number in (1, 2, 3)),
            "tools.deny: 2 more of its names match no tool",
        ],
    ),
    ({"deny": ("get_time",), "pinned": ("now", "convert_time"), "rename": {"get_time": "now"}}, []),
]


@pytest.mark.parametrize(("entry", "said"), UNMATCHED)
def test_a_name_in_an_entry_that_fits_no_tool_is_reported_with_the_nearest(
    entry: dict[str, Any], said: list[str]
) -> None:
    merged = Catalog([server("a", **entry)])
    assert [*problems(merged)] == []  # as long as its list is not known
    merged.put("a", Kind.TOOLS, replace(tools("get_time"), rejected=("the rest is left out",)))
    assert [*problems(merged)] == [("a", "the rest is left out")]
    merged.put("a", Kind.TOOLS, tools("get_time", "convert_time"))
    assert [*problems(merged)] == [("a", sentence) for sentence in said]
