"""The profile of each AI client: spelling and length of names, and the listing."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.catalog.profiles import (
    BY_NAME,
    CANONICAL,
    PROFILES,
    Listing,
    Patience,
    Profile,
    adjusted,
    by_client_name,
    first_list_patience,
    without_registration,
)

DOTS, DASHES, UNDERSCORES = "my.server.read-file_x", "my_server__read-file_x", "my_server__read_file_x"

CLIENTS = [
    # profile, client names, spelling of `my.server` + `read-file x`, length limit, listing
    ("claude-desktop", ["claude-ai"], DASHES, 64, "light"),
    ("claude-code", ["claude-code"], DASHES, 111, "full"),  # 128 with `mcp__search-mcp__`
    ("codex", ["codex-mcp-client"], DASHES, 128, "full"),
    ("vscode", ["Visual Studio Code", "Visual-Studio-Code"], DASHES, 64, "full"),
    ("cursor", ["cursor-vscode"], UNDERSCORES, 50, "full"),  # 60 with `search-mcp`
    ("gemini-cli", ["gemini-cli-mcp-client"], DOTS, 48, "light"),  # 63 with `mcp_search-mcp_`
    ("copilot-cli", ["copilot-cli"], DOTS, 53, "light"),  # 64 with `search-mcp-`
    ("opencode", ["opencode"], DASHES, 128, "full"),
    ("cline", ["@cline/core", "Cline"], DOTS, 64, "light"),
    ("windsurf", ["windsurf-client", "Windsurf"], DASHES, 60, "light"),
    ("zed", ["Zed"], DOTS, 64, "light"),
    ("goose", ["goose"], DASHES, 60, "light"),
    ("antigravity", ["antigravity-client"], DASHES, 60, "light"),
    ("augment", ["Augment"], DASHES, 60, "light"),
    ("lm-studio", [], DOTS, 128, "light"),
    ("n8n", ["@n8n/n8n-nodes-langchain.mcpClientTool"], DASHES, 64, "light"),
    ("librechat", ["@librechat/api-client"], DASHES, 49, "light"),  # 64 with `_mcp_search-mcp`
    ("open-webui", [], DASHES, 53, "light"),  # 64 with `search-mcp_`
]


@pytest.mark.parametrize(
    ("name", "introductions", "shown", "longest", "listing"), CLIENTS, ids=[row[0] for row in CLIENTS]
)
def test_a_client_has_the_profile_of_its_row(
    name: str, introductions: list[str], shown: str, longest: int, listing: Listing
) -> None:
    profile = BY_NAME[name]
    assert profile.name == name
    assert profile.shown_name("my.server", "read-file x") == shown
    assert (profile.max_length, profile.listing) == (longest, listing)
    for introduction in introductions:
        assert by_client_name(introduction) is profile


def test_every_client_is_in_the_table() -> None:
    assert [profile.name for profile in PROFILES] == [row[0] for row in CLIENTS]
    assert set(BY_NAME) == {"canonical", *(row[0] for row in CLIENTS)}


def test_no_two_profiles_claim_one_client() -> None:
    claimed = [name for profile in PROFILES for name in profile.client_names]
    assert len(claimed) == len(set(claimed))


@pytest.mark.parametrize("name", [None, "", "mcp-inspector", "claude-ai ", "CLAUDE-AI"])
def test_an_unknown_client_gets_canonical_names(name: str | None) -> None:
    profile = by_client_name(name)
    assert profile is CANONICAL
    assert (profile.shown_name("my.server", "read-file x"), profile.max_length) == (DOTS, 128)
    assert profile.listing == "light"


def test_only_gemini_adds_arguments() -> None:
    adding = {profile.name: profile.added_arguments for profile in PROFILES if profile.added_arguments}
    assert adding == {"gemini-cli": {"wait_for_previous"}}


@pytest.mark.parametrize(("name", "seconds"), [("cline", 3), ("codex", 5), ("claude-desktop", 60), ("opencode", 30)])
def test_patience(name: str, seconds: float) -> None:
    assert BY_NAME[name].patience_seconds == seconds


@pytest.mark.parametrize(
    ("name", "tool", "then"),
    [("canonical", "read.file", "read.file"), ("vscode", "read.file", "read_file"), ("cursor", "a-b", "a_b")],
)
def test_a_bare_name_has_no_separator(name: str, tool: str, then: str) -> None:
    assert BY_NAME[name].shown_name("", tool) == then


ALLOWED = {".": r"[A-Za-z0-9_.-]+", "__": r"[A-Za-z0-9_-]+"}


@pytest.mark.parametrize("profile", BY_NAME.values(), ids=lambda profile: profile.name)
@given(st.text(min_size=1), st.text(min_size=1))
def test_no_name_has_a_character_its_client_refuses(profile: Profile, server: str, tool: str) -> None:
    shown = profile.shown_name(server, tool)
    assert re.fullmatch(ALLOWED[profile.separator], shown)
    assert profile.name != "cursor" or "-" not in shown


CURSOR = BY_NAME["cursor"]


@pytest.mark.parametrize(
    ("separator", "max_length", "listing", "then"),
    [
        pytest.param("auto", None, None, ("__", 50, "full"), id="nothing set"),
        pytest.param("_", None, None, ("_", 50, "full"), id="a separator"),
        pytest.param("auto", 16, None, ("__", 16, "full"), id="a length"),
        pytest.param("auto", None, "search", ("__", 50, "search"), id="a listing"),
        pytest.param("-", 99, "light", ("-", 99, "light"), id="all of them"),
    ],
)
def test_settings_come_before_the_clients_own(
    separator: str, max_length: int | None, listing: Listing | None, then: tuple[str, int, str]
) -> None:
    own = adjusted(CURSOR, separator=separator, max_length=max_length, listing=listing)
    assert (own.separator, own.max_length, own.listing) == then
    assert (own.name, own.refused, own.patience_seconds) == (CURSOR.name, CURSOR.refused, CURSOR.patience_seconds)


def test_settings_that_set_nothing_change_nothing() -> None:
    assert adjusted(CURSOR, separator="auto", max_length=None, listing=None) == CURSOR


@pytest.mark.parametrize(
    ("client", "setting", "hears_news", "patience"),
    [
        ("claude-desktop", "auto", False, Patience(36, 36)),
        ("claude-desktop", "auto", True, Patience(36, 36)),
        ("claude-desktop", 2.0, False, Patience(2, 2)),
        ("claude-desktop", 100.0, False, Patience(36, 36)),
        ("codex", "auto", False, Patience(3, 3)),
        ("claude-code", "auto", False, Patience(1, 1)),
        ("canonical", "auto", False, Patience(18, 5)),
        ("canonical", "auto", True, Patience(1, 1)),
        ("canonical", 7.0, True, Patience(7, 7)),
    ],
)
def test_the_wait_for_a_first_list(client: str, setting: Any, hears_news: bool, patience: Patience) -> None:
    assert first_list_patience(BY_NAME[client], setting, hears_news=hears_news) == patience


@pytest.mark.parametrize(
    ("name", "then"),
    [
        ("mcp__search-mcp__time__now", "time__now"),
        ("mcp__search_mcp__time_now", "time_now"),
        ("mcp_search-mcp_time.now", "time.now"),
        ("search-mcp-time.now", "time.now"),
        ("search-mcp_time_now", "time_now"),
        ("search-mcp__now", "now"),
        ("search-mcp.now", "now"),
        ("mcp__github__now", None),
        ("search-mcpnow", None),
        ("time.search-mcp.now", None),
    ],
)
def test_a_clients_prefix_for_us_is_taken_off(name: str, then: str | None) -> None:
    assert without_registration(name) == then
