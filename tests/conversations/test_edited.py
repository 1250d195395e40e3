"""What outlives an edit of a server's entry: calls that wait, subscriptions, the log level."""

from pathlib import Path

import pytest

from conversations.back import Back, answers, exits, stays_silent
from conversations.eras import legacy_client, modern_client, modern_modern
from conversations.pair import Pair
from conversations.words import Json, text

NOTE: Json = {"uri": "note://1", "name": "one"}
SECRET = 'hunter"2\\sécret'


def _answers_its_opening(back: Back) -> None:
    back.on(back.opening, Back.discovers if back.is_modern else Back.initializes)


def test_a_call_that_waited_over_an_edit_can_be_cancelled(pair: Pair, tmp_path: Path) -> None:
    pair.remembers_in(tmp_path)
    pair.front.opens()
    pair.comes_back()
    pair.alpha.on(pair.alpha.opening, stays_silent)
    pair.front.opens()
    call = pair.front.calls("alpha.echo")
    pair.alpha.config = {"inherit_env": True}
    pair.edit()
    pair.after(0.5)
    call.cancels()
    _answers_its_opening(pair.alpha)
    pair.alpha.config = {"cwd": "/"}
    pair.edit()
    pair.after(10)
    assert "tools/call" not in pair.alpha.methods()


def test_a_call_that_waited_over_an_edit_and_ran_out_of_time_did_not_run(pair: Pair, tmp_path: Path) -> None:
    pair.alpha.config = {"call_timeout_seconds": 5.0}
    pair.remembers_in(tmp_path)
    pair.front.opens()
    pair.comes_back()
    pair.alpha.on(pair.alpha.opening, stays_silent)
    pair.front.opens()
    call = pair.front.calls("alpha.echo")
    pair.alpha.config = {"call_timeout_seconds": 5.0, "inherit_env": True}
    pair.edit()
    pair.after(6)
    assert "mayHaveRun" not in call.fails(-32000).body["error"]["data"]


def test_the_time_limit_holds_for_a_tool_of_a_server_never_seen(pair: Pair) -> None:
    pair.alpha.config = {"call_timeout_seconds": 2.0}
    for method in ("initialize", "server/discover"):
        pair.alpha.on(method, stays_silent)
    if not pair.front.is_modern:
        pair.front.initializes()
    call = pair.front.calls("alpha.echo")
    pair.after(1.9)
    pair.front.hears_nothing()
    pair.after(0.2)
    call.fails(-32000, "MCP server 'alpha' is not running")


@pytest.mark.parametrize("how", ["disabled", "removed", "edited"])
def test_a_subscription_outlives_it(pair: Pair, how: str) -> None:
    pair.alpha.resources = [NOTE]
    pair.alpha.on("resources/subscribe", answers({}))
    pair.front.opens()
    if pair.front.is_modern:
        pair.front.asks("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["note://1"]}})
        pair.front.hears("notifications/subscriptions/acknowledged")
    else:
        pair.front.asks("resources/subscribe", {"uri": "note://1"}).gets({})
    pair.after(1)
    before = len(pair.alpha.heard)
    alpha = pair.alpha
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
    wanted = [said.params for said in alpha.heard[before:] if said.method == "resources/subscribe"]
    wanted += [said.params["notifications"] for said in alpha.heard[before:] if said.method == "subscriptions/listen"]
    assert "note://1" in str(wanted)


@modern_client
def test_a_subscription_to_a_server_that_backs_off_is_made_when_it_is_back(pair: Pair) -> None:
    """The client was told that it will hear of updates."""
    pair.alpha.resources = [NOTE]
    pair.alpha.on("resources/subscribe", answers({}))
    pair.front.opens()
    before = len(pair.alpha.heard)
    for method in ("initialize", "server/discover"):
        pair.alpha.on(method, exits)
    pair.alpha.exits(1)
    pair.front.asks("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["note://1"]}})
    pair.front.hears("notifications/subscriptions/acknowledged")
    pair.after(1)
    _answers_its_opening(pair.alpha)
    pair.after(60)
    pair.front.inbox.clear()
    wanted = [said.params for said in pair.alpha.heard[before:] if said.method == "resources/subscribe"]
    wanted += [
        said.params["notifications"] for said in pair.alpha.heard[before:] if said.method == "subscriptions/listen"
    ]
    assert "note://1" in str(wanted)


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


@modern_modern
def test_a_list_is_not_to_be_kept_while_a_server_never_seen_backs_off(pair: Pair) -> None:
    def lists_for_a_minute(back: Back, said: object) -> None:
        back.answer(said.id, {"tools": back.tools}, ttlMs=60_000, cacheScope="public")  # type: ignore[attr-defined]

    beta = pair.with_server("beta")
    pair.alpha.on("tools/list", lists_for_a_minute)
    for method in ("initialize", "server/discover"):
        beta.on(method, exits)
    pair.front.opens()
    assert pair.front.asks("tools/list").result()["ttlMs"] == 0


@modern_client
def test_only_what_can_be_told_of_is_acknowledged(pair: Pair) -> None:
    """A server that has no subscriptions keeps its resources to itself."""
    pair.alpha.resources = [NOTE]
    beta = pair.with_server("beta")
    beta.resources = [{"uri": "quiet://1", "name": "quiet"}]
    beta.more_capabilities = {"resources": {}}
    pair.alpha.on("resources/subscribe", answers({}))
    pair.front.opens()
    pair.front.asks("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["note://1", "quiet://1"]}})
    pair.front.hears("notifications/subscriptions/acknowledged", notifications={"resourceSubscriptions": ["note://1"]})


# What an error of the server may say


@pytest.mark.parametrize("kind", ["tool", "prompt"])
def test_no_error_shows_a_secret(pair: Pair, kind: str) -> None:
    pair.alpha.config = {"env": {"T": "hunter2-secret"}, "secrets": frozenset({"hunter2-secret"})}
    pair.alpha.prompts = [{"name": "p"}]
    pair.front.opens()
    if kind == "tool":
        call = pair.front.calls("alpha.echo")
        pair.alpha.is_called("echo").fails(-32603, "hunter2-secret refused", {"token": "hunter2-secret"})
    else:
        call = pair.front.asks("prompts/get", {"name": "alpha.p"})
        pair.alpha.receives("prompts/get").fails(-32603, "hunter2-secret refused", {"token": "hunter2-secret"})
    said = call.fails(-32000 if kind == "tool" else -32603).body
    assert "hunter2" not in str(said)
    assert "***" in str(said)


def test_resources_below_one_that_was_subscribed_to_are_told_of(pair: Pair) -> None:
    """ "This might be a sub-resource of the one that the client actually subscribed to." """
    pair.alpha.resources = [NOTE]
    pair.alpha.on("resources/subscribe", answers({}))
    pair.front.opens()
    if pair.front.is_modern:
        pair.front.asks("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["note://1"]}})
        pair.front.hears("notifications/subscriptions/acknowledged")
    else:
        pair.front.asks("resources/subscribe", {"uri": "note://1"}).gets({})
    pair.after(1)
    pair.alpha.updates("note://1/part")
    pair.front.hears("notifications/resources/updated")
    call = pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").returns(text("x"))
    call.gets(text("x"))
