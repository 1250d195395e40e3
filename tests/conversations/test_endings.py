"""Ends of a conversation: the client leaves, a backend exits, both come back."""

from conversations.eras import legacy_backend
from conversations.pair import Pair
from conversations.words import Json, accept, elicit, encode, text


def test_what_is_answered_soon_after_the_end_of_stdin_is_still_sent(pair: Pair) -> None:
    """As in a shell's pipe."""
    pair.front.opens()
    call = pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    pair.ends()
    pair.after(1)
    served.returns(text("just in time"))
    call.gets(text("just in time"))
    pair.after(0)
    assert pair.alpha.channel.has_ended()


def test_the_end_of_stdin_retires_everything(pair: Pair) -> None:
    pair.front.opens()
    pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    pair.ends()
    pair.after(10)
    served.is_cancelled()
    assert pair.alpha.channel.has_ended()
    pair.front.hears_nothing()


def test_without_anything_in_flight_the_end_is_at_once(pair: Pair) -> None:
    pair.front.opens()
    pair.ends()
    assert pair.alpha.channel.has_ended()
    pair.alpha.hears_nothing()


def test_all_backends_are_stopped_at_once_however_long_each_takes(pair: Pair) -> None:
    backs = [pair.alpha, pair.with_server("beta"), pair.with_server("gamma")]
    pair.front.opens()
    for back in backs:
        back.channel.stop_seconds = 2.0
    pair.ends()
    pair.after(1.9)
    assert [back.channel.has_ended() for back in backs] == [False, False, False]
    pair.after(0.1)
    assert [back.channel.has_ended() for back in backs] == [True, True, True]


@legacy_backend
def test_a_call_with_an_open_question_is_given_up_at_the_end(pair: Pair) -> None:
    pair.front.opens(elicitation={})
    call = pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    served.asks(who=elicit("?"))
    call.is_asked(elicit("?"))
    pair.ends()
    pair.after(10)
    if not pair.front.is_modern:  # else it is parked, and nobody is asked any more
        assert "error" in pair.alpha.next().body
    served.is_cancelled()
    assert pair.alpha.channel.has_ended()


def test_a_backend_that_ends_between_calls_is_started_again_in_its_era(pair: Pair) -> None:
    pair.front.opens()
    before = pair.alpha.methods()
    for _ in range(3):
        pair.alpha.exits(0)
        pair.after(60)  # long enough to count anew
    assert len(pair.alpha.channels) == 4
    again = pair.alpha.methods()[-len(before) :]
    assert again == before if pair.eras[0] == pair.eras[1] else again[-1] == "tools/list"
    pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").returns(text("x"))
    pair.front.gets(text("x"))


def test_a_backend_is_shown_with_the_capabilities_and_instructions_of_its_next_life(pair: Pair) -> None:
    pair.alpha.instructions = "Keeps notes."
    pair.front.opens()
    hello: Json = {"name": "hello"}
    for prompts, instructions in (([hello], "Keeps notes, and greets."), ([], "Keeps other notes.")):
        pair.alpha.prompts, pair.alpha.instructions = prompts, instructions
        pair.alpha.exits(1)
        pair.after(10)
        pair.front.inbox.clear()
        listed = pair.front.asks("prompts/list").result()["prompts"]
        assert [each["name"] for each in listed] == ["alpha.hello" for _ in prompts]
        (server,) = pair.front.calls("list_servers").result()["structuredContent"]["servers"]
        assert server["instructions"] == instructions
        if pair.front.is_modern:
            pair.front.opening = pair.front.asks("server/discover").result()
        else:
            pair.front.initializes()
        assert ("prompts" in pair.front.opening["capabilities"]) is bool(prompts)


def test_what_a_dead_backend_still_owes_is_not_taken_from_its_next_life(pair: Pair) -> None:
    pair.front.opens()
    call = pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    pair.alpha.exits(1)
    call.fails(-32000)
    served.is_over()
    pair.after(10)
    call = pair.front.calls("alpha.echo")
    served_again = pair.alpha.is_called("echo")
    first_channel = pair.alpha.channels[0]
    late: Json = {"jsonrpc": "2.0", "id": served_again.said.id, "result": {}}
    pair.loop.call_soon(first_channel.on_stdout, encode(late) + b"\n")
    pair.settle()
    pair.front.hears_nothing()
    served_again.returns(text("mine"))
    call.gets(text("mine"))


def test_a_lazy_backend_starts_stops_when_idle_and_starts_again_for_a_call(pair: Pair) -> None:
    pair.alpha.config = {"startup": "lazy", "idle_stop_seconds": 30.0}
    pair.front.opens(elicitation={})
    pair.after(100)
    assert pair.alpha.channel.has_ended()
    pair.after(1000)
    channels = len(pair.alpha.channels)
    call = pair.front.calls("alpha.echo")
    assert len(pair.alpha.channels) == channels + 1
    served = pair.alpha.is_called("echo")
    pair.after(100)  # a call in flight keeps it
    served.asks(who=elicit("?"))
    call.is_asked(elicit("?")).answers(accept(name="A"))
    served.gets(who=accept(name="A"))
    served.returns(text("x"))
    call.gets(text("x"))


def test_a_backend_that_leaves_too_much_unread_is_not_given_more(pair: Pair) -> None:
    pair.front.opens()
    pair.alpha.channel.congested = True
    data = pair.front.calls("alpha.echo").fails(-32000, "MCP server 'alpha' is not running").body["error"]["data"]
    assert "read" in data["reason"]
    pair.alpha.hears_nothing()


def test_what_a_dead_backend_left_unread_keeps_no_call_from_its_next_life(pair: Pair) -> None:
    pair.front.opens()
    pair.alpha.channel.congested = True
    pair.alpha.channel.stop_seconds = 1
    pair.alpha.exits(1)
    call = pair.front.calls("alpha.echo")
    pair.after(10)
    pair.alpha.is_called("echo").returns(text("x"))
    call.gets(text("x"))


def test_nonsense_on_a_backends_stdout_is_skipped_and_logged(pair: Pair) -> None:
    pair.front.opens()
    call = pair.front.calls("alpha.echo", token="t")
    served = pair.alpha.is_called("echo")
    for line in (b"Server running on stdio", b"{", b"[]", b"7", b"null", b'{"a":1}', b"\xff\xfe", b"", b"  "):
        pair.alpha.says_line(line)
    pair.alpha.hears_nothing()  # it is not told either
    assert any("Server running on stdio" in warning for warning in pair.transcript.warnings)
    served.returns(text("x"))
    call.gets(text("x"))


def test_a_long_line_of_nonsense_is_logged_in_short_and_without_what_is_secret(pair: Pair) -> None:
    secret = "hunter2-" * 1000
    pair.alpha.config = {"secrets": frozenset({secret})}
    pair.front.opens()
    call = pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    pair.alpha.says_line(f"key {secret} ".encode() * 250)  # 2 MB
    (warning,) = pair.transcript.warnings
    assert "not JSON-RPC on its stdout: 'key ***" in warning
    assert "hunter2" not in warning
    assert len(warning) < 400
    served.returns(text("x"))
    call.gets(text("x"))


def test_a_call_right_after_a_death_waits_for_the_next_life(pair: Pair) -> None:
    """While the dead one is still being cleared away; it has not run, so it need not fail."""
    pair.front.opens()
    pair.alpha.channel.stop_seconds = 1.0
    pair.alpha.exits(1)
    call = pair.front.calls("alpha.echo")
    pair.after(3)
    assert len(pair.alpha.channels) == 2
    pair.alpha.is_called("echo").returns(text("x"))
    call.gets(text("x"))


def test_a_call_while_an_idle_backend_is_being_stopped_starts_it_again(pair: Pair) -> None:
    pair.alpha.config = {"startup": "lazy", "idle_stop_seconds": 30.0}
    pair.front.opens()
    channel = pair.alpha.channel
    channel.stop_seconds = 1.0
    pair.after(45)
    channels = len(pair.alpha.channels)
    for _ in range(60):
        if channel.has_ended():
            break
        pair.after(0.5)
    call = pair.front.calls("alpha.echo")
    pair.after(5)
    assert len(pair.alpha.channels) == channels + 1
    pair.alpha.is_called("echo").returns(text("x"))
    call.gets(text("x"))
