"""Time limits that do not count all time, idle servers, and servers that never answered."""

from pathlib import Path

import pytest

from conversations.back import Back, exits, stays_silent
from conversations.eras import legacy_backend, legacy_client, legacy_legacy
from conversations.pair import Pair
from conversations.transcript import Said
from conversations.words import accept, elicit, text


def test_the_time_a_user_takes_is_not_the_servers(pair: Pair) -> None:
    pair.alpha.config = {"call_timeout_seconds": 10.0}
    pair.front.opens(elicitation={})
    pair.front.calls("alpha.greet")
    pair.after(9)
    pair.alpha.asks(who=elicit("Your name?"))
    asking = pair.front.is_asked(elicit("Your name?"))
    pair.after(300)
    asking.answers(accept(name="Ada"))
    pair.alpha.gets(who=accept(name="Ada"))
    pair.after(9)
    pair.alpha.returns(text("hello Ada"))
    pair.front.gets(text("hello Ada"))


@legacy_backend
def test_time_runs_again_once_the_last_question_is_answered(pair: Pair) -> None:
    pair.alpha.config = {"call_timeout_seconds": 10.0}
    pair.front.opens(elicitation={})
    call = pair.front.calls("alpha.greet")
    served = pair.alpha.is_called("greet")
    served.asks(a=elicit("a"))
    asking = call.is_asked(elicit("a"))
    served.reports(1)  # which would start the time anew
    pair.after(300)
    asking.answers(accept(name="Ada"))
    served.gets(a=accept(name="Ada"))
    pair.after(10)
    served.is_cancelled("timed out")
    call.fails(-32000)


@legacy_legacy
def test_nothing_moves_the_end_of_all_patience(pair: Pair) -> None:
    pair.alpha.config = {"call_timeout_seconds": 10.0, "max_call_seconds": 60.0}
    pair.front.opens(elicitation={})
    call = pair.front.calls("alpha.greet")
    served = pair.alpha.is_called("greet")
    served.asks(a=elicit("a"))
    call.is_asked(elicit("a"))
    pair.after(60)
    served.is_cancelled("timed out")
    call.fails(-32000)


def test_the_time_limit_holds_for_a_tool_of_a_server_never_seen(pair: Pair) -> None:
    pair.alpha.config = {"call_timeout_seconds": 2.0}
    pair.alpha.on_opening(stays_silent)
    if not pair.front.is_modern:
        pair.front.initializes()
    call = pair.front.calls("alpha.echo")
    pair.after(1.9)
    pair.front.hears_nothing()
    pair.after(0.2)
    call.fails(-32000, "MCP server 'alpha' is not running")


def test_a_server_is_idle_only_after_its_call(pair: Pair) -> None:
    pair.alpha.config = {"idle_stop_seconds": 30.0}
    pair.front.opens()
    call = pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    pair.after(89)
    served.returns(text("at last"))
    call.gets(text("at last"))
    pair.after(29)
    assert not pair.alpha.channel.has_ended()
    pair.after(60)
    assert pair.alpha.channel.has_ended()


def test_who_says_much_and_answers_nothing_rests_while_others_are_called(pair: Pair) -> None:
    server = pair.with_server("beta")
    pair.front.opens()
    chatter = {"progressToken": "nobody's", "progress": 1}
    beta = server.channel

    server.notifies("notifications/progress", **chatter)
    assert beta.deferrals == 0, "nobody was called"

    call = pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    server.notifies("notifications/progress", **chatter)
    server.notifies("notifications/progress", **chatter)
    served.returns(text("at once"))
    call.gets(text("at once"))
    assert (beta.deferrals, pair.alpha.channel.deferrals) == (2, 0)

    pair.after(1)
    server.notifies("notifications/progress", **chatter)
    assert beta.deferrals == 2, "the client calls nobody any more"


def test_an_edit_may_bring_idleness_to_an_end(pair: Pair) -> None:
    pair.front.opens()
    pair.after(1000)
    assert not pair.alpha.channel.has_ended()
    pair.alpha.config = {"idle_stop_seconds": 30.0}
    pair.edit()
    pair.after(61)
    assert len(pair.alpha.channels) == 1
    assert pair.alpha.channel.has_ended()


@legacy_client
def test_nobody_waits_twice_for_a_server_that_did_not_answer_at_all(pair: Pair, tmp_path: Path) -> None:
    pair.remembers_in(tmp_path)
    pair.with_server("beta")
    pair.alpha.on_opening(stays_silent)
    pair.front.initializes()
    pair.after(61)  # its startTimeoutSeconds
    pair.comes_back()
    pair.front.initializes()
    names = [tool["name"] for tool in pair.front.asks("tools/list").result()["tools"]]
    assert "beta.echo" in names
    assert "alpha.echo" not in names
    pair.alpha.opens_as_usual()
    pair.alpha.exits(1)
    pair.after(5)
    pair.front.hears("notifications/tools/list_changed")
    names = [tool["name"] for tool in pair.front.asks("tools/list").result()["tools"]]
    assert "alpha.echo" in names
    pair.comes_back()
    pair.front.initializes()
    names = [tool["name"] for tool in pair.front.asks("tools/list").result()["tools"]]
    assert "alpha.echo" in names


@legacy_backend
def test_a_list_that_changes_before_the_server_is_open_is_read_once(pair: Pair) -> None:
    def changes_and_opens(back: Back, said: Said) -> None:
        back.changes("tools")
        back.initializes(said)

    pair.alpha.on("initialize", changes_and_opens)
    pair.front.opens()
    assert pair.alpha.methods().count("tools/list") == 1


def test_a_server_that_is_being_stopped_for_idleness_starts_again_if_it_is_to_be_eager(pair: Pair) -> None:
    pair.alpha.config = {"startup": "lazy", "idle_stop_seconds": 30.0}
    pair.front.opens()
    pair.alpha.channel.stop_seconds = 10.0
    pair.after(61)  # it is being stopped
    pair.alpha.config = {"startup": "eager"}
    pair.edit()
    pair.after(15)
    assert len(pair.alpha.channels) == 2


def test_a_signal_reaches_a_server_that_an_edit_is_still_stopping(pair: Pair) -> None:
    pair.front.opens()
    first = pair.alpha.channel
    first.stop_seconds = 10.0
    for arguments in ({"cwd": "/"}, {}, {"cwd": "/"}):
        pair.alpha.config = arguments
        pair.edit()
    pair.terminates()
    assert set(first.ends) == {"terminate"}


@pytest.mark.parametrize("when", ["ready", "opening", "backing off"])
def test_a_terminated_server_is_not_started_again(pair: Pair, when: str) -> None:
    if when == "opening":
        pair.alpha.on_opening(stays_silent)
    if when == "backing off":
        pair.alpha.on_opening(exits)
    pair.front.initializes()
    pair.terminates()
    channels = len(pair.alpha.channels)
    if when != "backing off":
        pair.alpha.exits(-15)
    pair.after(60)
    assert len(pair.alpha.channels) == channels
