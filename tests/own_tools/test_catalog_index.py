"""Clients of one process share a search index where everything in it is equal, and nothing else."""

import gc
from collections.abc import Callable, Iterable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.in_common import InCommon
from search_mcp.config.schema import ServerConfig
from search_mcp.model.names import Era, Kind, State
from search_mcp.model.servers import Entry, ServerCapabilities, ServerFacts, ServerList, Status
from search_mcp.own_tools.catalog_index import CatalogIndex
from search_mcp.own_tools.findable import key_of
from search_mcp.search import Meaning, compared
from search_mcp.semantic.meanings import Comparable
from search_mcp.wire import payload

LISTS: Mapping[str, tuple[str, ...]] = {
    "none": (),
    "files": ("read_file", "write_file", "delete_file"),
    "fewer files": ("read_file", "delete_file"),
    "issues": ("create_issue", "list_issues", "read_file"),
}


def tools(*names: str) -> ServerList:
    about = {"inputSchema": {"type": "object"}}
    fields = [payload.fields(payload.encode({"name": name, "description": f"To {name}.", **about})) for name in names]
    return ServerList(tuple(map(Entry, names, fields)))


class FakeMeanings:
    """Gives the similarities that it was made with, and keeps the texts that it is asked to compare."""

    def __init__(self, **similarities: float) -> None:
        self.similarities = {name.replace("__", "."): number for name, number in similarities.items()}
        self.may_answer = True
        self.texts: dict[str, str] = {}
        self.versions: list[int] = []

    def ask(self, catalogue: Comparable, _query: str, use: Callable[[Meaning | None], None]) -> Callable[[], None]:
        self.texts = dict(catalogue.texts)
        self.versions.append(catalogue.texts_version)
        use(compared(self.similarities))
        return lambda: None


class Client:
    """One client's catalogue and the search in it."""

    def __init__(
        self, in_common: InCommon, lists: Mapping[str, str], meanings: FakeMeanings | None = None, **entry: object
    ) -> None:
        configs = [ServerConfig(name=name, command="x", **entry) for name in lists]  # type: ignore[arg-type]
        self.catalog = Catalog(configs, in_common.named_once)
        self.facts = {name: ServerFacts("", ()) for name in lists}
        self.titles = dict.fromkeys(lists, "")
        self.lists = dict(lists)
        for server, name in lists.items():
            self.put(server, name)
        # The clock runs out at once: each call of `advance` indexes one tool.
        self.meanings = meanings
        clock = iter(range(10**6)).__next__
        self.index = CatalogIndex(
            self.catalog,
            lambda: self.facts,
            self._statuses,
            in_common,
            clock,
            lambda: self.meanings,  # type: ignore[arg-type, return-value]
        )

    def _statuses(self) -> Iterable[Status]:
        for server, title in self.titles.items():
            yield Status(server, State.READY, capabilities=ServerCapabilities("", Era.LEGACY, frozenset(), title=title))

    def put(self, server: str, name: str) -> None:
        self.lists[server] = name
        self.catalog.put(server, Kind.TOOLS, tools(*LISTS[name]))

    def finds(self, query: str = "read file") -> tuple[list[str], bool]:
        while self.index.advance():
            pass
        given: list[Meaning | None] = []
        self.index.ask(query, given.append)
        found, fits = self.index.search(query, 10, None, *given)
        return list(map(key_of, found)), fits


@pytest.fixture
def in_common() -> InCommon:
    return InCommon()


def indexes(in_common: InCommon) -> int:
    gc.collect()
    return len(in_common.indexes)


def test_equal_clients_share_an_index_and_its_making(in_common: InCommon) -> None:
    clients = [Client(in_common, {"a": "files", "b": "issues"}) for _ in range(3)]
    for each in clients[:2]:
        each.index.advance()
        each.index.advance()
    assert indexes(in_common) == 1
    assert clients[0].finds() == clients[1].finds() == clients[2].finds()
    assert clients[0].finds()[0][0] == "a.read_file"
    assert indexes(in_common) == 1


@pytest.mark.parametrize("other", ["list", "server", "names", "facts", "title"])
def test_a_client_with_anything_else_has_its_own(in_common: InCommon, other: str) -> None:
    one = Client(in_common, {"a": "files"})
    lists = {"a": "fewer files"} if other == "list" else {"a": "files", **({"b": "none"} if other == "server" else {})}
    another = Client(in_common, lists, **({"prefix": "p"} if other == "names" else {}))  # type: ignore[arg-type]
    if other == "server":
        another.put("b", "issues")
    if other == "facts":
        another.facts = {"a": ServerFacts("A room.", ("secret",))}
    if other == "title":
        another.titles = {"a": "Secret"}
    for each in (one, another):
        each.finds()
    assert indexes(in_common) == 2
    assert one.finds("secret issue")[0] == []


def test_an_index_is_changed_in_place_once_nobody_needs_it_as_it_is(in_common: InCommon) -> None:
    one, another = (Client(in_common, {"a": "files", "b": "issues"}) for _ in range(2))
    for each in (one, another):
        each.finds()
    one.put("a", "fewer files")
    assert "a.write_file" not in one.finds("write file")[0]
    assert another.finds("write file")[0][0] == "a.write_file"
    assert indexes(in_common) == 2
    another.put("a", "fewer files")
    assert one.finds() == another.finds()
    assert indexes(in_common) == 1
    for each in (one, another):
        each.put("a", "files")
    before = id(*in_common.indexes)
    assert one.finds() == another.finds()
    assert [id(each) for each in in_common.indexes] == [before]


def test_an_index_ends_with_its_last_client(in_common: InCommon) -> None:
    clients = [Client(in_common, {"a": "files"}) for _ in range(2)]
    for each in clients:
        each.finds()
    del each
    clients.pop()
    assert indexes(in_common) == 1
    clients.pop()
    assert indexes(in_common) == 0


steps = st.tuples(st.integers(0, 2), st.sampled_from(["a", "b", "advance", "search"]), st.sampled_from(sorted(LISTS)))


@given(st.lists(steps, max_size=40))
def test_each_client_finds_what_it_would_find_alone(taken: list[tuple[int, str, str]]) -> None:
    """In any order of changes, of slices of indexing and of searches."""
    in_common = InCommon()
    clients = [Client(in_common, {"a": "files", "b": "none"}) for _ in range(3)]
    for number, act, name in taken:
        client = clients[number]
        if act == "advance":
            client.index.advance()
        elif act == "search":
            assert client.finds() == Client(InCommon(), client.lists).finds()
        else:
            client.put(act, name)
    for client in clients:
        assert client.finds() == Client(InCommon(), client.lists).finds()


def test_tools_and_skills_are_found_by_their_meaning(in_common: InCommon) -> None:
    meanings = FakeMeanings(a__write_file=0.5)
    client = Client(in_common, {"a": "files"}, meanings)
    uri = "skill://refunds/SKILL.md"
    about = {"uri": uri, "frontmatter": {"name": "refunds", "description": "Gives back."}, "resources": "dynamic"}
    client.catalog.put("a", Kind.SKILLS, ServerList((Entry(uri, payload.fields(payload.encode(about))),)))
    assert client.finds("umbrella")[0] == ["a.write_file"]
    assert meanings.texts == {
        "a.read_file": "read file: To read_file.",
        "a.write_file": "write file: To write_file.",
        "a.delete_file": "delete file: To delete_file.",
        f"skill {uri}": "refunds: Gives back.",
    }
    meanings.similarities[f"skill {uri}"] = 0.6
    assert client.finds("umbrella")[0] == [f"skill {uri}", "a.write_file"]


def test_texts_follow_the_catalogue(in_common: InCommon) -> None:
    meanings = FakeMeanings()
    client = Client(in_common, {"a": "files", "b": "issues"}, meanings)
    client.finds("umbrella")
    client.finds("umbrella")
    client.put("a", "fewer files")
    client.finds("umbrella")
    assert "a.write_file" not in meanings.texts
    assert "b.list_issues" in meanings.texts
    assert meanings.versions == [1, 1, 2]


def test_a_client_without_meaning_makes_no_texts(in_common: InCommon) -> None:
    without, one = Client(in_common, {"a": "files"}), Client(in_common, {"a": "files"}, FakeMeanings(a__write_file=0.5))
    assert without.finds("umbrella")[0] == []
    (shared,) = in_common.indexes
    assert shared.texts == {}
    assert one.finds("umbrella")[0] == ["a.write_file"]
    assert indexes(in_common) == 1
    assert without.finds("umbrella")[0] == []
    assert not without.index.wants_meaning("umbrella")


@pytest.mark.parametrize("query", ["read_file", "server:a file", "", "a.read_file"])
def test_the_meaning_of_an_exact_query_is_not_asked_for(in_common: InCommon, query: str) -> None:
    meanings = FakeMeanings(a__write_file=0.5)
    client = Client(in_common, {"a": "files"}, meanings)
    client.finds("umbrella")
    client.finds(query)
    assert meanings.versions == [1]


def test_meanings_that_ended_for_good_are_not_asked_for(in_common: InCommon) -> None:
    meanings = FakeMeanings(a__write_file=0.5)
    client = Client(in_common, {"a": "files"}, meanings)
    meanings.may_answer = False
    assert client.finds("umbrella")[0] == []
    assert meanings.versions == []
