"""State that survives an edit of a server's entry: waiting calls, subscriptions, the log level."""

from pathlib import Path

import pytest

from conversations.back import answers, stays_silent
from conversations.eras import legacy_client
from conversations.pair import Pair
from conversations.words import Json

NOTE: Json = {"uri": "note://1", "name": "one"}


def test_a_call_that_waited_over_an_edit_can_be_cancelled(pair: Pair, tmp_path: Path) -> None:
    pair.was_here_before(tmp_path)
    pair.alpha.on(pair.alpha.opening, stays_silent)
    pair.front.opens()
    call = pair.front.calls("alpha.echo")
    pair.alpha.config = {"inherit_env": True}
    pair.edit()
    pair.after(0.5)
    call.cancels()
    pair.alpha.opens_as_usual()
    pair.alpha.config = {"cwd": "/"}
    pair.edit()
    pair.after(10)
    assert "tools/call" not in pair.alpha.methods()


def test_a_call_that_waited_over_an_edit_and_ran_out_of_time_did_not_run(pair: Pair, tmp_path: Path) -> None:
    pair.alpha.config = {"call_timeout_seconds": 5.0}
    pair.was_here_before(tmp_path)
    pair.alpha.on(pair.alpha.opening, stays_silent)
    pair.front.opens()
    call = pair.front.calls("alpha.echo")
    pair.alpha.config = {"call_timeout_seconds": 5.0, "inherit_env": True}
    pair.edit()
    pair.after(6)
    assert "mayHaveRun" not in call.fails(-32000).body["error"]["data"]


@pytest.mark.parametrize("how", ["disabled", "removed"])
def test_a_call_that_waited_over_an_edit_is_refused_once_another_takes_its_server_away(
    pair: Pair, how: str, tmp_path: Path
) -> None:
    pair.was_here_before(tmp_path)
    pair.front.opens()
    pair.alpha.channel.stop_seconds = 5.0
    pair.alpha.config = {"inherit_env": True}
    pair.edit()
    pair.after(1)  # the old process still takes its time, so the new one is not started yet
    call = pair.front.calls("alpha.echo")
    if how == "removed":
        del pair.backs["alpha"]
    else:
        pair.alpha.config = {"enabled": False}
    pair.edit()
    call.fails(-32000, "MCP server 'alpha' is not running")
    pair.after(10)
    if not pair.front.is_modern:
        pair.front.hears("notifications/tools/list_changed")
    assert len(pair.alpha.channels) == 1


def test_a_server_that_was_given_up_is_tried_again_once_its_entry_is_edited(pair: Pair) -> None:
    pair.alpha.config = {"start_timeout_seconds": 1.0}
    pair.front.opens()
    pair.alpha.on_opening(stays_silent)
    pair.alpha.exits(1)
    pair.after(300)
    given_up = len(pair.alpha.channels)
    pair.alpha.opens_as_usual()
    pair.with_server("beta")
    pair.edit()
    pair.after(10)
    assert len(pair.alpha.channels) == given_up  # that edit was of another
    pair.alpha.config = {"start_timeout_seconds": 30.0}
    pair.edit()
    pair.after(10)
    assert len(pair.alpha.channels) > given_up
    pair.front.inbox.clear()  # what that changed is not the point here
    servers = pair.front.calls("list_servers").result()["structuredContent"]["servers"]
    assert [each["state"] for each in servers] == ["ready", "ready"]


@pytest.mark.parametrize("how", ["disabled", "removed", "edited"])
def test_a_subscription_outlives_it(pair: Pair, how: str) -> None:
    pair.alpha.resources = [NOTE]
    pair.alpha.on("resources/subscribe", answers({}))
    pair.front.opens()
    pair.front.watches("note://1")
    pair.after(1)
    alpha = pair.alpha
    alpha.heard.clear()
    if how == "removed":
        del pair.backs["alpha"]
    else:
        alpha.config = {"enabled": False} if how == "disabled" else {"inherit_env": True}
    pair.edit()
    pair.after(1)
    alpha.config, pair.backs["alpha"] = {}, alpha
    pair.edit()
    pair.after(1)
    pair.front.inbox.clear()
    assert "note://1" in alpha.watched()


@legacy_client
def test_the_log_level_reaches_a_server_that_is_added(pair: Pair) -> None:
    pair.alpha.logs = True
    pair.front.opens()
    pair.front.asks("logging/setLevel", {"level": "error"}).gets({})
    beta = pair.with_server("beta", revision="2025-11-25")
    beta.logs = True
    pair.edit()
    pair.after(1)
    pair.front.hears("notifications/tools/list_changed")
    assert "logging/setLevel" in beta.methods()


def test_a_server_that_an_edit_adds_is_not_read_either_while_the_client_does_not_read(pair: Pair) -> None:
    pair.front.opens()
    pair.client_stops_reading()
    beta = pair.with_server("beta")
    pair.edit()
    pair.after(1)
    assert [back.channel.paused for back in (pair.alpha, beta)] == [True, True]
    pair.client_reads_on()
    assert [back.channel.paused for back in (pair.alpha, beta)] == [False, False]
    pair.front.inbox.clear()  # what the lists of the new one changed is not the point here
