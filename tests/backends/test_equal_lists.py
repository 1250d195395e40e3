"""Equal lists of several backends are kept once."""

from search_mcp.backends.equal_lists import EqualLists
from search_mcp.model.names import Kind
from search_mcp.model.servers import Entry, Freshness, ServerList
from search_mcp.wire.payload import encode


def page(*names: str, ttl_ms: int = 0) -> ServerList:
    return ServerList(tuple(Entry(name, {"name": encode(name)}) for name in names), Freshness(ttl_ms))


def test_an_equal_list_gets_the_entries_of_the_first() -> None:
    lists, first = EqualLists(), page("a", "b")
    assert lists.kept_once("alpha", Kind.TOOLS, first) is first
    second = lists.kept_once("alpha", Kind.TOOLS, page("a", "b", ttl_ms=5))
    assert second.entries is first.entries
    assert second.freshness.ttl_ms == 5
    assert lists.kept_once("alpha", Kind.TOOLS, first) is first


def test_other_lists_are_left_alone() -> None:
    lists, first = EqualLists(), page("a", "b")
    lists.kept_once("alpha", Kind.TOOLS, first)
    for server, kind, other in (
        ("beta", Kind.TOOLS, page("a", "b")),
        ("alpha", Kind.PROMPTS, page("a", "b")),
        ("alpha", Kind.TOOLS, page("a")),
    ):
        assert lists.kept_once(server, kind, other) is other
    again = page("a")
    assert lists.kept_once("alpha", Kind.TOOLS, again) is not again, "the newest is kept"
