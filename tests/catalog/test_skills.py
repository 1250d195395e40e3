"""The skills of several servers: which are shown, and whose the URIs in their directories are."""

import pytest

from catalog.samples import entry, server
from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.remarks import problems
from search_mcp.catalog.skill_uris import directory_of, is_within
from search_mcp.catalog.skills import Skill
from search_mcp.catalog.uris import ResourceMap
from search_mcp.model.names import Kind
from search_mcp.model.servers import Entry, ServerList

Lists = dict[str, list[str]]


def skill(uri: str, name: str = "s", description: str = "Does it.") -> Entry:
    return entry(uri, uri=uri, frontmatter={"name": name, "description": description}, resources="dynamic")


def catalog(skills: Lists, resources: Lists, templates: Lists) -> Catalog:
    """Servers in the order of their letters."""
    servers = sorted({*skills, *resources, *templates})
    merged = Catalog([server(name) for name in servers])
    for name in servers:
        merged.put(name, Kind.SKILLS, ServerList(tuple(map(skill, skills.get(name, ())))))
        merged.put(name, Kind.RESOURCES, ServerList(tuple(entry(uri, name=uri) for uri in resources.get(name, ()))))
        merged.put(name, Kind.TEMPLATES, ServerList(tuple(map(entry, templates.get(name, ())))))
    return merged


DIRECTORIES = [
    ("skill://a/SKILL.md", "skill://a"),
    ("skill://a/b/SKILL.md", "skill://a/b"),
    ("github://o/r/s/SKILL.md", "github://o/r/s"),
    ("urn:x/SKILL.md", "urn:x"),
    ("skill://a/skill.md", None),
    ("skill://a/SKILL.md/", None),
    ("skill://SKILL.md", None),
    ("skill:///SKILL.md", None),
    ("file:///SKILL.md", None),
    ("x:/SKILL.md", None),
    ("a/SKILL.md", None),
    ("/SKILL.md", None),
    ("", None),
]


@pytest.mark.parametrize(("uri", "then"), DIRECTORIES)
def test_the_directory_of_a_skill(uri: str, then: str | None) -> None:
    assert directory_of(uri) == then


WITHIN = [
    ("skill://a", "skill://a", True),
    ("skill://a/b", "skill://a", True),
    ("skill://a/", "skill://a", True),
    ("skill://ab", "skill://a", False),
    ("skill://", "skill://a", False),
]


@pytest.mark.parametrize(("uri", "directory", "then"), WITHIN)
def test_a_uri_is_within_a_directory(uri: str, directory: str, then: bool) -> None:  # a row
    assert is_within(uri, directory) is then


SHOWN = [
    # skills, resources, templates, the URIs that are shown of each server
    pytest.param({}, {}, {}, {}, id="none"),
    pytest.param(
        {"a": ["skill://x/SKILL.md"], "b": ["skill://y/SKILL.md"]},
        {},
        {},
        {"a": ["skill://x/SKILL.md"], "b": ["skill://y/SKILL.md"]},
        id="two servers",
    ),
    pytest.param(
        {"a": ["skill://x/SKILL.md"], "b": ["skill://x/SKILL.md"]},
        {},
        {},
        {"a": ["skill://x/SKILL.md"]},
        id="one URI: the first",
    ),
    pytest.param(
        {"a": ["skill://x/SKILL.md"], "b": ["skill://x/y/SKILL.md"]},
        {},
        {},
        {"a": ["skill://x/SKILL.md"]},
        id="within that of an earlier server",
    ),
    pytest.param(
        {"a": ["skill://x/y/SKILL.md"], "b": ["skill://x/SKILL.md"]},
        {},
        {},
        {"a": ["skill://x/y/SKILL.md"]},
        id="around that of an earlier server",
    ),
    pytest.param(
        {"a": ["skill://x/SKILL.md", "skill://x/y/SKILL.md"]},
        {},
        {},
        {"a": ["skill://x/SKILL.md", "skill://x/y/SKILL.md"]},
        id="nested in one of the same server",
    ),
    pytest.param(
        {"a": ["skill://x/SKILL.md"]},
        {"a": ["skill://x/SKILL.md", "skill://x/a"]},
        {"a": ["skill://x/{f}"]},
        {"a": ["skill://x/SKILL.md"]},
        id="the server's own resources",
    ),
    pytest.param(
        {"b": ["skill://x/SKILL.md"]}, {"a": ["skill://x/SKILL.md"]}, {}, {}, id="a resource of an earlier server"
    ),
    pytest.param(
        {"a": ["skill://x/SKILL.md"]},
        {"b": ["skill://x/SKILL.md"]},
        {"b": ["skill://x/a{f}"]},
        {"a": ["skill://x/SKILL.md"]},
        id="a resource and a template of a later server",
    ),
    pytest.param(
        {"a": ["file:///h/x/SKILL.md"]}, {"b": ["file:///h/x/a"]}, {}, {}, id="another scheme: of any other server"
    ),
    pytest.param(
        {"a": ["SKILL://x/SKILL.md"]},
        {"b": ["SKILL://x/a"]},
        {},
        {"a": ["SKILL://x/SKILL.md"]},
        id="the scheme in capitals",
    ),
    pytest.param({"b": ["skill://x/SKILL.md"]}, {}, {"a": ["skill://x/a/{f}"]}, {}, id="a template in it"),
    pytest.param(
        {"b": ["skill://x/SKILL.md"]},
        {},
        {"a": ["skill://{+f}", "skill://x{+f}", "skill://x/{f}x"]},
        {},
        id="a template that begins with it",
    ),
    pytest.param(
        {"b": ["skill://x/SKILL.md"]},
        {"a": ["skill://xy/a", "skill://x", "skill://w/a"]},
        {"a": ["skill://{+f}", "skill://x{+f}", "{+f}"]},
        {"b": ["skill://x/SKILL.md"]},
        id="beside it, and templates around it",
    ),
    pytest.param(
        {
            "a": ["s://x/b/SKILL.md", "s://x-y/SKILL.md", "s://x/SKILL.md", "s://x/b/c/SKILL.md"],
            "b": ["s://x/c/SKILL.md"],
        },
        {},
        {},
        {"a": ["s://x/b/SKILL.md", "s://x-y/SKILL.md", "s://x/SKILL.md", "s://x/b/c/SKILL.md"]},
        id="an outer one behind an inner one",
    ),
]


@pytest.mark.parametrize(("skills", "resources", "templates", "then"), SHOWN)
def test_a_skill_is_shown_if_its_server_owns_its_directory(
    skills: Lists, resources: Lists, templates: Lists, then: Lists
) -> None:
    merged = catalog(skills, resources, templates)
    shown: Lists = {}
    for each in merged.skills():
        shown.setdefault(each.server, []).append(each.uri)
    assert shown == then
    assert list(merged.by_uri(Kind.SKILLS)) == [uri for uris in then.values() for uri in uris]
    routes = ResourceMap(merged)
    for each in merged.skills():
        for uri in (each.uri, str(directory_of(each.uri)), f"{directory_of(each.uri)}/references/deep/a.md"):
            assert (merged.owner(uri), routes.owner(uri)) == (each.server, each.server)
    left_out = [text for _, text in problems(merged) if ": left out: " in text]
    assert len(left_out) == sum(map(len, skills.values())) - len(merged.skills())


def test_a_skill_that_another_server_lists_more_exactly_is_reported() -> None:
    merged = catalog({"a": ["skill://x/SKILL.md"], "b": ["skill://x/SKILL.md"]}, {"b": ["skill://x/a"]}, {})
    assert list(problems(merged)) == [
        ("b", "skills: skill://x/SKILL.md: left out: its folder contains URIs of server 'a'"),
        ("b", "resources: skill://x/a is also a URI of 'a', which owns it"),
    ]


def test_what_is_shown_follows_every_list() -> None:
    merged = catalog({"b": ["skill://x/SKILL.md"]}, {"a": []}, {})
    assert len(merged.skills()) == 1
    merged.put("a", Kind.RESOURCES, ServerList((entry("skill://x/a"),)))
    assert (len(merged.skills()), merged.by_uri(Kind.SKILLS)) == (0, {})
    merged.configure([server("b")], set())
    assert len(merged.skills()) == 1
    merged.put("b", Kind.SKILLS, None)
    assert len(merged.skills()) == 0


def test_skills_are_found_by_uri_and_by_name() -> None:
    merged = Catalog([server("a")])
    one, two = skill("skill://x/refunds/SKILL.md", "refunds"), skill("skill://y/refunds/SKILL.md", "refunds")
    merged.put("a", Kind.SKILLS, ServerList((one, two)))
    skills = merged.skills()
    assert [each.uri for each in skills.named("refunds")] == [one.key, two.key]
    assert [each.uri for each in skills.named(two.key)] == [two.key]
    assert (skills.named("refund"), skills.find("refunds")) == ([], None)
    assert (skills.named(one.key)[0].name, skills.named(one.key)[0].description) == ("refunds", "Does it.")
    assert Skill("a", Entry("x", {})).name == ""


# Skills that a client got without their being listed


NOTED = [
    # listed skills, resources, notes of server and URI, whether each is taken, then a URI and its owner
    pytest.param({}, {}, [("a", "skill://x/SKILL.md")], [True], "skill://x/a", "a", id="taken"),
    pytest.param({"b": ["y:z/SKILL.md"]}, {}, [("a", "skill://x/SKILL.md")], [True], "skill://x", "a", id="itself"),
    pytest.param(
        {},
        {},
        [("a", "skill://x/SKILL.md"), ("b", "skill://x/SKILL.md")],
        [True, False],
        "skill://x/a",
        "a",
        id="first",
    ),
    pytest.param(
        {}, {}, [("b", "skill://x/SKILL.md"), ("b", "skill://x/SKILL.md")], [True, True], "skill://x/a", "b", id="again"
    ),
    pytest.param(
        {"b": ["skill://x/SKILL.md"]}, {}, [("a", "skill://x/y/SKILL.md")], [False], "skill://x/y/a", "b", id="listed"
    ),
    pytest.param(
        {}, {"a": ["skill://x/a"]}, [("b", "skill://x/SKILL.md")], [False], "skill://x/b", "a", id="a file listed"
    ),
    pytest.param(
        {}, {"b": ["skill://x/a"]}, [("a", "skill://x/SKILL.md")], [True], "skill://x/b", "a", id="a later one"
    ),
    pytest.param({}, {}, [("a", "skill://x/README.md")], [False], "skill://x/b", None, id="no skill"),
    pytest.param({}, {}, [("gone", "skill://x/SKILL.md")], [False], "skill://x/b", None, id="no server"),
]


@pytest.mark.parametrize(("skills", "resources", "notes", "taken", "uri", "then"), NOTED)
def test_an_unlisted_skill_is_read_at_the_server_that_gave_it(
    skills: Lists, resources: Lists, notes: list[tuple[str, str]], taken: list[bool], uri: str, then: str | None
) -> None:
    routes = ResourceMap(catalog({"a": [], "b": [], **skills}, resources, {}))
    assert [routes.note_skill(*each) for each in notes] == taken
    assert routes.owner(uri) == then


def test_an_unlisted_skill_of_a_server_that_is_removed_is_nobodys() -> None:
    merged = catalog({"a": [], "b": []}, {}, {})
    routes = ResourceMap(merged)
    assert routes.note_skill("a", "skill://x/SKILL.md")
    merged.configure([server("b")], set())
    assert routes.owner("skill://x/a") is None
