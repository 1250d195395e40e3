"""Log messages: their level and their recipients."""

import pytest

from conversations.back import leaves_to_the_test
from conversations.eras import legacy_client, legacy_legacy, legacy_modern, modern_client, modern_legacy, modern_modern
from conversations.pair import Pair
from conversations.words import LOG_LEVEL, Json, text

MESSAGE: Json = {"level": "warning", "logger": "a.b", "data": {"b": 1, "a": [None]}, "new": 1.5}
MESSAGES: list[Json] = [{"level": level, "data": level} for level in ("debug", "warning")]


def _level_with_a_call(pair: Pair, meta: Json | None = None) -> object:
    """Make a call; return the log level that its server received with it."""
    call = pair.front.calls("alpha.echo", meta=meta)
    served = pair.alpha.is_called("echo")
    served.returns(text("x"))
    call.gets(text("x"))
    return served.said.meta.get(LOG_LEVEL)


@legacy_legacy
def test_a_log_level_reaches_every_backend_that_logs_and_again_after_a_restart(pair: Pair) -> None:
    pair.alpha.logs = True
    quiet = pair.with_server("beta")
    pair.front.opens()
    assert pair.front.asks("logging/setLevel", {"level": "warning"}).result() == {}
    assert pair.alpha.heard[-1].params == {"level": "warning"}
    assert "logging/setLevel" not in quiet.methods()
    pair.alpha.exits(1)
    pair.after(10)
    assert [said.params for said in pair.alpha.heard if said.method == "logging/setLevel"] == [{"level": "warning"}] * 2


@legacy_legacy
def test_a_log_level_reaches_a_backend_that_starts_later(pair: Pair) -> None:
    pair.alpha.logs = True
    pair.alpha.on("initialize", leaves_to_the_test)
    pair.front.initializes()
    assert pair.front.asks("logging/setLevel", {"level": "error"}).result() == {}
    pair.alpha.initializes(pair.alpha.inbox.pop())
    pair.settle()
    assert {"level": "error"} in [said.params for said in pair.alpha.heard]


@legacy_client
def test_a_log_level_is_refused_when_no_backend_logs(pair: Pair) -> None:
    pair.front.opens()
    pair.front.asks("logging/setLevel", {"level": "debug"}).fails(-32601)


@legacy_client
@pytest.mark.parametrize("params", [{}, {"level": "loud"}, {"level": 7}])
def test_a_level_that_is_none_is_refused(pair: Pair, params: Json) -> None:
    pair.alpha.logs = True
    pair.front.opens()
    pair.front.asks("logging/setLevel", params).fails(-32602)


@legacy_client
def test_a_legacy_client_gets_log_messages_as_they_are(pair: Pair) -> None:
    pair.alpha.logs = True
    pair.front.opens()
    pair.front.asks("logging/setLevel", {"level": "info"}).result()
    call = pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    pair.alpha.notifies("notifications/message", **MESSAGE)
    said = pair.front.hears("notifications/message", **MESSAGE)
    assert list(said.params) == list(MESSAGE)
    served.returns(text("x"))
    call.gets(text("x"))


@legacy_modern
def test_a_legacy_clients_level_reaches_a_modern_backend_with_every_call(pair: Pair) -> None:
    """ "`logging/setLevel` reaches every backend that has logging": in this era on every request."""
    pair.alpha.logs = True
    pair.front.opens()
    pair.front.asks("logging/setLevel", {"level": "error"}).result()
    assert _level_with_a_call(pair) == "error"


@modern_modern
def test_a_modern_clients_level_goes_with_its_request(pair: Pair) -> None:
    pair.alpha.logs = True
    pair.front.opens()
    for level in ("debug", "emergency"):
        assert _level_with_a_call(pair, {LOG_LEVEL: level}) == level
    assert _level_with_a_call(pair) is None


@modern_client
def test_a_modern_client_gets_the_messages_it_asked_for_and_no_others(pair: Pair) -> None:
    pair.alpha.logs = True
    pair.front.opens()
    pair.alpha.notifies("notifications/message", **MESSAGE)
    silent = pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    pair.alpha.notifies("notifications/message", **MESSAGE)
    pair.front.hears_nothing()  # "MUST NOT emit [...] for a request that does not include this field"
    served.returns(text("x"))
    silent.gets(text("x"))
    call = pair.front.calls("alpha.echo", meta={LOG_LEVEL: "warning"})
    served = pair.alpha.is_called("echo")
    pair.alpha.notifies("notifications/message", **{**MESSAGE, "level": "notice"})
    pair.front.hears_nothing()  # below what it asked for
    pair.alpha.notifies("notifications/message", **MESSAGE)
    pair.front.hears("notifications/message", **MESSAGE)
    served.returns(text("x"))
    call.gets(text("x"))
    pair.alpha.notifies("notifications/message", **MESSAGE)
    pair.front.hears_nothing()


@modern_client
def test_a_level_that_is_none_is_refused_with_its_request(pair: Pair) -> None:
    pair.front.opens()
    pair.front.calls("alpha.echo", meta={LOG_LEVEL: "loud"}).fails(-32602)


@modern_legacy
def test_a_modern_clients_level_makes_a_legacy_backend_talk(pair: Pair) -> None:
    """It speaks at its own default otherwise, and what the client asked for never comes."""
    pair.alpha.logs = True
    pair.front.opens()
    _level_with_a_call(pair, {LOG_LEVEL: "debug"})
    assert {"level": "debug"} in [said.params for said in pair.alpha.heard if said.method == "logging/setLevel"]


# Where the client never said what it wants to hear


@legacy_client
def test_a_legacy_client_that_set_no_level_hears_what_the_server_decides(pair: Pair) -> None:
    """ "the server MAY decide which messages to send automatically": in neither era do we decide for it."""
    pair.alpha.logs = True
    pair.front.opens()
    call = pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    assert served.said.meta.get(LOG_LEVEL) == ("debug" if pair.alpha.is_modern else None)
    assert "logging/setLevel" not in pair.alpha.methods()
    for message in MESSAGES:
        pair.alpha.notifies("notifications/message", **message)
        pair.front.hears("notifications/message", **message)
    served.returns(text("x"))
    call.gets(text("x"))


@modern_client
@pytest.mark.parametrize("message", MESSAGES, ids=lambda each: each["level"])
def test_a_modern_client_that_names_no_level_hears_nothing(pair: Pair, message: Json) -> None:
    """ "The server MUST NOT emit `notifications/message` for a request that does not include this field"."""
    pair.alpha.logs = True
    pair.front.opens()
    call = pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    assert LOG_LEVEL not in served.said.meta
    if not pair.alpha.is_modern:
        pair.alpha.notifies("notifications/message", **message)
    served.returns(text("x"))
    call.gets(text("x"))


@modern_client
def test_a_message_goes_to_the_newest_call_that_wants_it(pair: Pair) -> None:
    pair.alpha.logs = True
    pair.front.opens()
    pair.front.calls("alpha.echo", meta={LOG_LEVEL: "debug"})
    pair.front.calls("alpha.greet")
    for name in ("echo", "greet"):
        pair.alpha.is_called(name)
    pair.alpha.notifies("notifications/message", level="info", data="of the older")
    pair.front.hears("notifications/message")
