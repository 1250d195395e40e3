"""The first list of tools, the only one that some clients read.

Servers that need 0.5, 3, 8 and 20 s to start are combined with one that never answers and one that exits.
"""

import logging
import re
from pathlib import Path

import pytest

from conversations.back import Habit, exits, leaves_to_the_test, stays_silent
from conversations.eras import legacy_client, modern_client
from conversations.front import Asked
from conversations.pair import Pair
from conversations.words import GREET, MODERN, NEWEST_LEGACY, OWN_TOOLS, WITH_CALL_TOOL, Json, names, text
from search_mcp.backends.last_uses import PRECISION_SECONDS
from search_mcp.catalog.profiles import BY_NAME

SLOW = {"half": 0.5, "three": 3.0, "eight": 8.0, "twenty": 20.0}
ALL_CAPABILITIES: Json = {"elicitation": {}, "sampling": {}, "roots": {"listChanged": True}}
UNKNOWN = (5.0, {"half", "three"})
FIRST_LIST: dict[str, tuple[float, set[str]]] = {
    # when it comes beside a server that never answers, and what is in it
    "claude-desktop": (36.0, {"half", "three", "eight", "twenty"}),
    "codex": (3.0, {"half"}),
    "cline": (1.8, {"half"}),
    **dict.fromkeys(("claude-code", "gemini-cli", "copilot-cli", "opencode"), (1.0, {"half"})),
    **dict.fromkeys(("vscode", "cursor", "windsurf", "zed", "goose", "lm-studio", "antigravity", "augment"), UNKNOWN),
    **dict.fromkeys(("n8n", "librechat", "open-webui", "canonical"), UNKNOWN),
}
READS_ONE_LIST = {"claude-desktop", "codex", "cline"}


def test_every_client_is_in_the_table() -> None:
    assert set(FIRST_LIST) == set(BY_NAME)


@pytest.mark.parametrize("capabilities", [{}, ALL_CAPABILITIES], ids=["plain", "capable"])
@pytest.mark.parametrize("client", BY_NAME)
def test_the_first_list_waits_as_long_as_its_client_does(
    pair: Pair, tmp_path: Path, client: str, capabilities: Json
) -> None:
    seconds, there = FIRST_LIST[client]
    _is_beside_slow_servers(pair, tmp_path, client)
    pair.alpha.on_opening(stays_silent)
    pair.front.capabilities = capabilities
    listing = _asks(pair)
    pair.after(seconds - 0.05)
    pair.front.hears_nothing()
    pair.after(0.1)
    listed = listing.result()["tools"]
    assert there <= _servers(listed) <= there | ({"three"} if seconds == 3.0 else set())
    assert _own(listed) == WITH_CALL_TOOL, "what is not listed can be called all the same"
    pair.after(30)
    pair.front.inbox.clear()
    assert _servers(pair.front.asks("tools/list").result()["tools"]) == set(SLOW)


@legacy_client
@pytest.mark.parametrize("client", ["claude-code", "canonical"])
def test_what_comes_later_is_announced(pair: Pair, tmp_path: Path, client: str) -> None:
    _is_beside_slow_servers(pair, tmp_path, client)
    pair.front.initializes()
    pair.front.asks("tools/list")
    pair.after(19)
    pair.front.inbox.clear()
    pair.after(2)
    pair.front.hears("notifications/tools/list_changed")
    assert _servers(pair.front.asks("tools/list").result()["tools"]) == {"alpha", *SLOW}


@modern_client
def test_a_client_that_asked_to_hear_of_changes_waits_less(pair: Pair, tmp_path: Path) -> None:
    _is_beside_slow_servers(pair, tmp_path, "canonical")
    pair.front.asks("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    pair.front.hears("notifications/subscriptions/acknowledged")
    listing = pair.front.asks("tools/list")
    pair.after(1)
    assert _servers(listing.result()["tools"]) == {"alpha", "half"}
    pair.after(30)
    assert pair.front.next().method == "notifications/tools/list_changed"
    pair.front.inbox.clear()


def test_lists_that_are_asked_for_one_after_another_wait_once(pair: Pair) -> None:
    pair.with_server("beta").on_opening(stays_silent)
    listing = _asks(pair)
    pair.after(5)
    assert _servers(listing.result()["tools"]) == {"alpha"}
    for method in ("prompts/list", "resources/list", "resources/templates/list"):
        pair.front.asks(method).result()


def test_the_first_list_waits_for_nobody_once_all_are_there(pair: Pair, tmp_path: Path) -> None:
    _is_beside_slow_servers(pair, tmp_path, "claude-desktop")
    listing = _asks(pair)
    pair.after(19.9)
    pair.front.hears_nothing()
    pair.after(0.2)
    assert _servers(listing.result()["tools"]) == {"alpha", *SLOW}


def test_a_client_of_which_nothing_is_known_waits_longer_for_anything_at_all(pair: Pair) -> None:
    pair.alpha.starts_slowly(12)
    listing = _asks(pair)
    pair.after(11.9)
    pair.front.hears_nothing()
    pair.after(0.2)
    assert _servers(listing.result()["tools"]) == {"alpha"}


@pytest.mark.parametrize("learnt_by", [NEWEST_LEGACY, MODERN])
@pytest.mark.parametrize("client", ["claude-desktop", "claude-code", "codex", "canonical"])
def test_what_any_client_has_learnt_is_in_the_first_list_of_every_other(
    pair: Pair, tmp_path: Path, client: str, learnt_by: str
) -> None:
    """The records of a command at a terminal, or of another client, once helped nobody else."""
    revision = pair.front.revision
    _is_beside_slow_servers(pair, tmp_path, client)
    pair.front.becomes(learnt_by)
    pair.front.opens_over(90)
    pair.comes_back()
    pair.front.becomes(revision, **ALL_CAPABILITIES)
    listed = _asks(pair).result()["tools"]  # at once: the clock stands still
    assert _servers(listed) == {"alpha", *SLOW}
    pair.after(25)
    pair.front.hears_nothing()  # it was right


@legacy_client
def test_what_another_client_has_learnt_is_corrected(pair: Pair, tmp_path: Path) -> None:
    pair.was_here_before(tmp_path)
    pair.alpha.on("tools/list", leaves_to_the_test)
    pair.front.becomes(pair.front.revision, **ALL_CAPABILITIES)
    pair.front.initializes()
    assert names(pair.front.asks("tools/list").result()["tools"]) == ["alpha.greet", "alpha.echo", *OWN_TOOLS]
    pair.alpha.returns({"tools": [GREET]})
    pair.after(1)
    pair.front.hears("notifications/tools/list_changed")
    assert names(pair.front.asks("tools/list").result()["tools"]) == ["alpha.greet", *OWN_TOOLS]
    pair.comes_back()
    pair.front.becomes(pair.front.revision)
    pair.alpha.on_opening(stays_silent)
    pair.front.initializes()
    listed = pair.front.asks("tools/list").result()["tools"]
    assert names(listed) == ["alpha.greet", "alpha.echo", *OWN_TOOLS], "a client's own record comes first"


# Servers that did not answer


def test_a_silent_server_is_waited_for_again_after_ten_minutes(pair: Pair, tmp_path: Path) -> None:
    _has_failed(pair, tmp_path)
    pair.after(500)
    assert _servers(_lists_at_once(pair)) == {"beta"}
    pair.comes_back()
    pair.after(600)
    _asks_and_waits(pair)


def test_a_server_that_exited_is_not_waited_for_either(pair: Pair, tmp_path: Path) -> None:
    _has_failed(pair, tmp_path, exits)
    pair.alpha.on_opening(stays_silent)
    assert _servers(_lists_at_once(pair)) == {"beta"}


def test_a_silent_server_is_waited_for_once_its_entry_was_edited(pair: Pair, tmp_path: Path) -> None:
    _has_failed(pair, tmp_path)
    pair.alpha.config = {"start_timeout_seconds": 90.0}
    _asks_and_waits(pair)


def test_a_silent_server_that_answered_meanwhile_is_waited_for(pair: Pair, tmp_path: Path) -> None:
    _has_failed(pair, tmp_path)
    pair.alpha.on("tools/list", stays_silent)
    pair.alpha.opens_as_usual()
    _lists_at_once(pair)  # it opens, but does not list in time to be remembered
    pair.comes_back()
    pair.alpha.on_opening(stays_silent)
    _asks_and_waits(pair)


def _has_failed(pair: Pair, folder: Path, habit: Habit = stays_silent) -> None:
    pair.remembers_in(folder)
    pair.with_server("beta")
    pair.alpha.on_opening(habit)
    pair.front.opens_over(61)  # its startTimeoutSeconds
    pair.comes_back()


def _lists_at_once(pair: Pair) -> list[Json]:
    tools: list[Json] = _asks(pair).result()["tools"]
    return tools


def _asks(pair: Pair) -> Asked:
    """Open as a client of this era does, and request the tools."""
    if not pair.front.is_modern:
        pair.front.initializes()
    return pair.front.asks("tools/list")


def _asks_and_waits(pair: Pair) -> None:
    listing = _asks(pair)
    pair.after(4.9)
    pair.front.hears_nothing()
    pair.after(0.2)
    assert _servers(listing.result()["tools"]) == {"beta"}


def test_the_log_says_how_long_the_first_list_took(pair: Pair, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    pair.with_server("beta").starts_slowly(100)
    pair.alpha.starts_slowly(0.5)
    listing = _asks(pair)
    pair.after(60)
    listing.result()
    pair.front.asks("tools/list").result()
    (line,) = [each for each in caplog.messages if "first list" in each]
    assert re.fullmatch(r"= first list of tools after \d+\.\d\d s; starts: alpha 0\.5\d s; without beta", line), line


# Servers that need not run


def test_a_server_that_nobody_calls_is_started_by_its_first_call(pair: Pair, tmp_path: Path) -> None:
    pair.knows_last_uses_in(tmp_path / "uses")
    pair.was_here_before(tmp_path / "cache")
    assert _servers(_lists_at_once(pair)) == {"alpha"}
    assert pair.alpha.channels == []
    call = pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").returns(text("x"))
    call.gets(text("x"))
    pair.comes_back()
    _lists_at_once(pair)
    assert len(pair.alpha.channels) == 1, "it was called within three days"
    pair.comes_back()
    pair.after(3 * 86_400)
    _lists_at_once(pair)
    assert pair.alpha.channels == []


def test_the_date_of_a_servers_last_call_is_written_once_an_hour(pair: Pair, tmp_path: Path) -> None:
    pair.knows_last_uses_in(tmp_path / "uses")
    pair.front.opens()

    def date() -> float:
        call = pair.front.calls("alpha.echo")
        pair.alpha.is_called("echo").returns(text("x"))
        call.gets(text("x"))
        (file,) = (tmp_path / "uses").iterdir()
        return file.stat().st_mtime

    first = date()
    pair.after(PRECISION_SECONDS / 2)
    assert date() == first
    pair.after(PRECISION_SECONDS / 2)
    assert date() >= first + PRECISION_SECONDS


def test_a_server_is_asked_once_a_week_what_it_lists(pair: Pair, tmp_path: Path) -> None:
    pair.knows_last_uses_in(tmp_path / "uses")
    pair.was_here_before(tmp_path / "cache")
    pair.after(7 * 86_400)
    _lists_at_once(pair)
    assert len(pair.alpha.channels) == 1


@pytest.mark.parametrize("startup", ["eager", "lazy"])
def test_an_entry_may_say_when_its_server_starts(pair: Pair, tmp_path: Path, startup: str) -> None:
    pair.alpha.config = {"startup": startup}
    pair.knows_last_uses_in(tmp_path / "uses")
    pair.was_here_before(tmp_path / "cache")
    _lists_at_once(pair)
    assert len(pair.alpha.channels) == (1 if startup == "eager" else 0)


def test_a_first_list_that_is_whole_has_no_call_tool(pair: Pair) -> None:
    pair.front.opens()
    assert _own(pair.front.tools) == OWN_TOOLS


@pytest.mark.parametrize("client", sorted(READS_ONE_LIST))
def test_a_client_that_reads_one_list_always_has_call_tool(pair: Pair, client: str) -> None:
    pair.profile = BY_NAME[client]
    pair.front.opens()
    assert _own(pair.front.tools) == WITH_CALL_TOOL


def _is_beside_slow_servers(pair: Pair, folder: Path, client: str) -> None:
    pair.remembers_in(folder)
    pair.profile = BY_NAME[client]
    for name, seconds in SLOW.items():
        pair.with_server(name).starts_slowly(seconds)
    pair.with_server("broken").on_opening(exits)


def _servers(listed: list[Json]) -> set[str]:
    """Return the servers of the listed tools, for any spelling of names."""
    canonical = [name.replace("__", ".") for name in names(listed)]
    return {name.partition(".")[0] for name in canonical if "." in name}


def _own(listed: list[Json]) -> list[str]:
    return [tool["name"] for tool in listed if tool["name"] in WITH_CALL_TOOL]
