"""State that outlives a process of search-mcp, and the effects of an edit of its file."""

import json
from pathlib import Path

from conversations.back import Back, Habit, exits, leaves_to_the_test, stays_silent
from conversations.eras import legacy_client, modern_client, modern_legacy
from conversations.pair import Pair
from conversations.test_lists import NOTE
from conversations.words import ECHO, GREET, MODERN, NEWEST_LEGACY, OWN_TOOLS, Json, names, text

# The catalogue


def test_the_first_list_is_whole_before_any_backend_has_answered(pair: Pair, tmp_path: Path) -> None:
    pair.was_here_before(tmp_path)
    pair.alpha.on_opening(stays_silent)
    pair.front.opens()
    assert names(pair.front.tools) == ["alpha.greet", "alpha.echo", *OWN_TOOLS]


def test_a_call_of_a_remembered_tool_waits_for_its_server(pair: Pair, tmp_path: Path) -> None:
    pair.was_here_before(tmp_path)
    pair.alpha.on(pair.alpha.opening, leaves_to_the_test)
    pair.front.opens()
    call = pair.front.calls("alpha.echo")
    pair.front.hears_nothing()
    pair.alpha.opens()
    pair.alpha.is_called("echo").returns(text("x"))
    call.gets(text("x"))


@legacy_client
def test_what_changed_meanwhile_is_told_of(pair: Pair, tmp_path: Path) -> None:
    pair.was_here_before(tmp_path)
    pair.alpha.tools = [GREET]
    pair.alpha.on("tools/list", leaves_to_the_test)
    pair.front.opens()
    assert names(pair.front.tools) == ["alpha.greet", "alpha.echo", *OWN_TOOLS]
    pair.alpha.returns({"tools": [GREET]})
    pair.after(1)
    pair.front.hears("notifications/tools/list_changed")
    assert names(pair.front.asks("tools/list").result()["tools"]) == ["alpha.greet", *OWN_TOOLS]


def test_a_server_that_is_started_differently_is_not_remembered(pair: Pair, tmp_path: Path) -> None:
    pair.was_here_before(tmp_path)
    pair.alpha.config = {"env": {"OTHER": "1"}}
    pair.alpha.tools = []
    pair.front.opens()
    assert names(pair.front.tools) == OWN_TOOLS


def test_a_damaged_memory_is_none(pair: Pair, tmp_path: Path) -> None:
    pair.was_here_before(tmp_path)
    (file,) = tmp_path.iterdir()
    sound = json.loads(file.read_bytes())
    pages: Json = {"tools": {"entries": [{"key": "greet"}]}}
    changes: list[Json] = [
        {"capabilities": {}},
        {"pages": []},
        {"pages": pages},
        {"pages": {"other": sound["pages"]["tools"]}},
    ]
    changes += [{"capabilities": {**sound["capabilities"], key: 5}} for key in sound["capabilities"]]
    for damage in (b"", b"{", b"{}", b"\xff", *(json.dumps({**sound, **change}).encode() for change in changes)):
        file.write_bytes(damage)
        pair.front.opens()
        assert names(pair.front.tools) == ["alpha.greet", "alpha.echo", *OWN_TOOLS]
        pair.comes_back()


def test_a_list_that_broke_off_is_not_remembered_as_one_that_cannot_be_had(pair: Pair, tmp_path: Path) -> None:
    """A client that left early once made the next one's resources unknown until its server had answered."""
    pair.alpha.resources = [NOTE]
    pair.was_here_before(tmp_path)
    pair.alpha.on("resources/list", stays_silent)
    pair.front.opens()
    pair.comes_back()
    pair.alpha.on("resources/list", Back.lists)
    pair.alpha.on(pair.alpha.opening, leaves_to_the_test)
    pair.front.opens()
    read = pair.front.asks("resources/read", {"uri": NOTE["uri"]})
    pair.front.hears_nothing()
    pair.alpha.opens()
    pair.alpha.receives("resources/read", uri=NOTE["uri"]).returns({"contents": []})
    read.gets({"contents": []})


def test_a_server_that_dies_before_it_has_listed_all_is_not_remembered(pair: Pair, tmp_path: Path) -> None:
    pair.alpha.resources = [NOTE]
    pair.remembers_in(tmp_path)
    pair.alpha.on("resources/list", stays_silent)
    pair.front.opens()
    pair.alpha.exits(1)
    assert not list(tmp_path.iterdir())


# The verdict


@modern_legacy
def test_a_server_known_to_be_legacy_is_not_probed_again(pair: Pair, tmp_path: Path) -> None:
    """ "remembered on disk so that the next start does not wait"."""
    pair.remembers_in(tmp_path)
    pair.alpha.on("server/discover", stays_silent)
    pair.front.asks("tools/list")
    pair.after(10)
    pair.front.inbox.clear()
    pair.comes_back()
    pair.front.opens()
    assert pair.alpha.methods() == ["initialize", "notifications/initialized", "tools/list"]


@modern_legacy
def test_a_server_that_was_legacy_and_is_modern_now_is_found_out(pair: Pair, tmp_path: Path) -> None:
    """ "is corrected when wrong"."""
    pair.was_here_before(tmp_path)
    pair.alpha.revision = MODERN
    pair.front.opens()
    assert names(pair.front.tools) == ["alpha.greet", "alpha.echo", *OWN_TOOLS]
    assert len(pair.alpha.channels) == 1
    pair.after(1)
    pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").returns(text("x"))
    pair.front.gets(text("x"))


def test_a_wrong_verdict_is_corrected_for_a_server_that_exits_on_the_wrong_opening(pair: Pair, tmp_path: Path) -> None:
    _is_replaced_by_one_of_the_other_era(pair, tmp_path, exits)


@modern_client
def test_a_wrong_verdict_is_corrected_for_a_server_that_ignores_the_wrong_opening(pair: Pair, tmp_path: Path) -> None:
    _is_replaced_by_one_of_the_other_era(pair, tmp_path, stays_silent)


def _is_replaced_by_one_of_the_other_era(pair: Pair, folder: Path, habit: Habit) -> None:
    pair.was_here_before(folder)
    was_modern = pair.alpha.is_modern
    pair.alpha.revision = NEWEST_LEGACY if was_modern else MODERN
    pair.alpha.on("server/discover" if was_modern else "initialize", habit)
    pair.front.opens()
    pair.after(120)  # one start that fails in its 60 seconds, and another
    call = pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").returns(text("x"))
    call.gets(text("x"))


def test_an_answer_says_why_a_start_failed_in_an_earlier_process_while_the_server_starts(
    pair: Pair, tmp_path: Path
) -> None:
    pair.remembers_in(tmp_path)
    for opening in ("server/discover", "initialize"):
        pair.alpha.on(opening, exits)
    pair.front.opens()
    pair.after(120)
    pair.comes_back()
    for opening in ("server/discover", "initialize"):
        pair.alpha.on(opening, stays_silent)
    pair.front.opens()
    said = pair.front.calls("search_tools", query="echo").result()["structuredContent"]["notRunning"]
    assert said.startswith("alpha (starting again after: it exited with code 1")


# Edits


def test_a_server_that_is_added_is_started_and_told_of(pair: Pair) -> None:
    pair.front.opens()
    if pair.front.is_modern:
        pair.front.asks("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        pair.front.hears("notifications/subscriptions/acknowledged")
    call = pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    beta = pair.with_server("beta")
    pair.edit()
    pair.after(1)
    assert len(beta.channels) == 1
    assert len(pair.alpha.channels) == 1
    pair.front.hears("notifications/tools/list_changed")
    assert "beta.greet" in names(pair.front.asks("tools/list").result()["tools"])
    served.returns(text("untouched"))
    call.gets(text("untouched"))


def test_a_server_that_is_removed_is_stopped_and_its_calls_may_have_run(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.front.opens()
    call, other = pair.front.calls("beta.echo"), pair.front.calls("alpha.echo")
    beta.is_called("echo")
    served = pair.alpha.is_called("echo")
    del pair.backs["beta"]
    pair.edit()
    assert call.fails(-32000).body["error"]["data"]["mayHaveRun"] is True
    assert beta.channel.has_ended()
    assert names(pair.front.asks("tools/list").result()["tools"]) == ["alpha.greet", "alpha.echo", *OWN_TOOLS]
    pair.after(1)
    pair.front.inbox.clear()  # whether a list that was asked for since is told of is not the point here
    served.returns(text("untouched"))
    other.gets(text("untouched"))
    pair.front.calls("beta.echo").fails(-32602)


def test_a_server_that_is_switched_off_says_so(pair: Pair) -> None:
    pair.front.opens()
    pair.alpha.config = {"enabled": False}
    pair.edit()
    pair.after(1)
    pair.front.inbox.clear()
    assert pair.alpha.channel.has_ended()
    data = pair.front.calls("alpha.echo").fails(-32000, "MCP server 'alpha' is not running").body["error"]["data"]
    assert data["state"] == "disabled"
    assert names(pair.front.asks("tools/list").result()["tools"]) == OWN_TOOLS
    pair.alpha.config = {}
    pair.edit()
    pair.after(1)
    pair.front.inbox.clear()
    assert names(pair.front.asks("tools/list").result()["tools"]) == ["alpha.greet", "alpha.echo", *OWN_TOOLS]


def test_a_server_that_is_started_differently_is_restarted(pair: Pair) -> None:
    pair.front.opens()
    pair.alpha.channel.stop_seconds = 1.0
    pair.alpha.config = {"env": {"NEW": "1"}}
    pair.alpha.tools = [ECHO]
    pair.edit()
    call = pair.front.calls("alpha.echo")
    pair.after(5)
    assert len(pair.alpha.channels) == 2
    pair.front.inbox = [said for said in pair.front.inbox if said.method is None]
    pair.alpha.is_called("echo").returns(text("x"))
    call.gets(text("x"))


def test_what_only_changes_the_view_restarts_nobody(pair: Pair) -> None:
    pair.front.opens()
    pair.alpha.config = {"deny": ("greet",), "describe": {"echo": "Mine."}}
    pair.settings = {"listing": "full"}
    pair.edit()
    pair.after(1)
    pair.front.inbox.clear()
    assert len(pair.alpha.channels) == 1
    shown = pair.front.asks("tools/list").result()["tools"]
    assert shown[0] == {**ECHO, "name": "alpha.echo", "description": "Mine."}


def test_a_server_that_had_failed_is_tried_again_after_an_edit(pair: Pair) -> None:
    beta = pair.with_server("beta", problem="environment variable X is not set; set it")
    pair.front.opens()
    pair.front.calls("beta.echo").fails(-32000)
    beta.config = {}
    pair.edit()
    pair.after(1)
    pair.front.inbox.clear()
    call = pair.front.calls("beta.echo")
    beta.is_called("echo").returns(text("x"))
    call.gets(text("x"))


def test_an_edit_during_a_parked_question_costs_it_nothing(pair: Pair) -> None:
    pair.front.opens(sampling={})
    call = pair.front.calls("alpha.echo")
    pair.alpha.asks(who=_question())
    asked = call.is_asked(_question())
    pair.with_server("beta")
    pair.edit()
    asked.answers({"role": "assistant", "content": {"type": "text", "text": "4"}, "model": "m"})
    pair.alpha.gets(who={"role": "assistant", "content": {"type": "text", "text": "4"}, "model": "m"})
    pair.alpha.returns(text("x"))
    call.gets(text("x"))
    pair.after(1)
    pair.front.inbox.clear()


def _question() -> dict[str, object]:
    message = {"role": "user", "content": {"type": "text", "text": "2 + 2?"}}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 10}}
