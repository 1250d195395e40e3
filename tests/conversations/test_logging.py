"""Log messages where the client never said what it wants to hear."""

import pytest

from conversations.eras import legacy_client, modern_client
from conversations.pair import Pair
from conversations.words import LOG_LEVEL, Json, text

MESSAGES: list[Json] = [{"level": level, "data": level} for level in ("debug", "warning")]


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
