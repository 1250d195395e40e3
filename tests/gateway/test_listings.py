"""The lists that each client is shown, and the lists that changed for a client."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.named_items import NamedOnce
from search_mcp.catalog.profiles import BY_NAME, CANONICAL, Profile
from search_mcp.catalog.shown_names import Spellings
from search_mcp.config.schema import ServerConfig, Settings
from search_mcp.gateway.listings import INSTRUCTIONS_LENGTH, Presentation, instructions
from search_mcp.model.calls import Viewer
from search_mcp.model.names import Kind
from search_mcp.model.servers import Entry, ServerList
from search_mcp.wire import payload
from search_mcp.wire.structs import Raw

UNKNOWN, CLAUDE = Viewer(None, False), Viewer("claude-ai", True)
SERVER = ServerConfig(name="s", command="x")


def tools(*names: str, description: str = "Does it. Well.") -> ServerList:
    about = {"description": description, "inputSchema": {"type": "object"}}
    return ServerList(
        tuple(Entry(name, payload.fields(payload.encode({"name": name, **about}))) for name in names),
    )


class Room:
    """A catalogue that can be changed, and its presentation."""

    def __init__(self, profile: Profile | None = None, **settings: Any) -> None:
        self.catalog = Catalog([SERVER])
        self.catalog.put("s", Kind.TOOLS, tools("a"))
        self.presentation = Presentation(Spellings(self.catalog), Settings(**settings), profile)

    def sees(self, viewer: Viewer, kind: Kind = Kind.TOOLS) -> list[str]:
        """Return the names a client is shown, without our own tools."""
        shown = json.loads(bytes(self.presentation.show(kind, viewer)))
        return [each["name"] for each in shown if each["name"][:1] == "s" and each["name"] != "search_tools"]


AUDIENCES = [
    # the profile of the command line, the settings, the viewer; then the name it is shown
    pytest.param(None, {}, UNKNOWN, "s.a", id="nobody known"),
    pytest.param(None, {}, CLAUDE, "s__a", id="a client with a profile"),
    pytest.param(BY_NAME["canonical"], {}, CLAUDE, "s.a", id="the command line before the client"),
    pytest.param(None, {"separator": "-"}, UNKNOWN, "s-a", id="the settings"),
    pytest.param(BY_NAME["canonical"], {"separator": "-"}, CLAUDE, "s-a", id="the settings before both"),
]


@pytest.mark.parametrize(("profile", "settings", "viewer", "then"), AUDIENCES)
def test_a_list_has_the_names_of_the_profile_that_applies(
    profile: Profile | None, settings: dict[str, Any], viewer: Viewer, then: str
) -> None:
    assert Room(profile, **settings).sees(viewer) == [then]


def test_changed_settings_apply_to_the_next_list() -> None:
    room = Room()
    assert room.sees(UNKNOWN) == ["s.a"]
    room.presentation.configure(Settings(separator="-"))
    room.catalog.configure([SERVER], ())
    assert room.sees(UNKNOWN) == ["s-a"]


CHANGES: list[Any] = [
    # a change of the catalogue; then the kinds whose lists changed
    pytest.param(lambda catalog: None, set(), id="nothing"),
    pytest.param(lambda catalog: catalog.put("s", Kind.TOOLS, tools("a", "b")), {Kind.TOOLS}, id="one more"),
    pytest.param(lambda catalog: catalog.put("s", Kind.TOOLS, None), {Kind.TOOLS}, id="none that can be had"),
    pytest.param(lambda catalog: catalog.configure([SERVER], ()), set(), id="made anew and the same"),
    pytest.param(
        lambda catalog: catalog.put("s", Kind.TOOLS, tools("a", description="Does it. Badly.")),
        set(),
        id="nothing of what is shown",
    ),
    pytest.param(
        lambda catalog: catalog.put("s", Kind.RESOURCES, ServerList((Entry("x:y", {"uri": payload.encode("x:y")}),))),
        set(),
        id="a list nobody was shown",
    ),
]


@pytest.mark.parametrize(("change", "then"), CHANGES)
def test_which_lists_look_different(change: Callable[[Catalog], None], then: set[Kind]) -> None:
    room = Room()
    for viewer in (UNKNOWN, CLAUDE):
        room.sees(viewer)
        room.sees(viewer, Kind.PROMPTS)
    change(room.catalog)
    assert room.presentation.changed() == then
    assert room.presentation.changed() == set()  # changes are relative to the lists shown last


def test_instructions_have_a_line_for_each_server() -> None:
    about, *lines = instructions(["a: Reads mail.", "b"], CANONICAL).splitlines()
    assert "search_tools" in about and "describe_tools" in about
    assert lines == ["- a: Reads mail.", "- b"]


@pytest.mark.parametrize(
    ("client", "named", "also"),
    [
        ("canonical", "server.tool", "parentheses"),
        ("claude-desktop", "server__tool", "parentheses"),
        ("claude-code", "server__tool", "search_tools finds"),
    ],
)
def test_instructions_spell_names_as_the_client_does(client: str, named: str, also: str) -> None:
    about = instructions([], BY_NAME[client])
    assert f"named {named}. " in about
    assert also in about
    assert ("parentheses" in about) is (client != "claude-code"), "a full list has all parameters"


def test_instructions_are_cut_at_a_line_and_say_so() -> None:
    text = instructions([f"server-{number}: Does something." for number in range(INSTRUCTIONS_LENGTH)], CANONICAL)
    *_, last, mark = text.splitlines()
    assert len(text) <= INSTRUCTIONS_LENGTH
    assert (last[: len("- server-")], last[-len(": Does something.") :], mark) == (
        "- server-",
        ": Does something.",
        "…",
    )


def test_equal_clients_are_shown_one_list_and_others_their_own() -> None:
    once = NamedOnce()

    def shown(name: str = "a", viewer: Viewer = UNKNOWN, **settings: Any) -> tuple[Presentation, Raw]:
        catalog = Catalog([SERVER], once)
        catalog.put("s", Kind.TOOLS, tools(name))
        presentation = Presentation(Spellings(catalog), Settings(**settings), None)
        return presentation, presentation.show(Kind.TOOLS, viewer)

    first, second = shown(), shown()
    assert first[1] is second[1]
    second[0].note_partial()
    assert second[0].show(Kind.TOOLS, UNKNOWN) != first[1]
    for another in (shown("b"), shown(viewer=CLAUDE), shown(description_length=4), shown(separator="-")):
        assert another[1] != first[1]
    assert first[0].show(Kind.TOOLS, UNKNOWN) is first[1]
