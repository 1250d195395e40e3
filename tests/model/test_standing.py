"""The words for every state of a server."""

import pytest

from search_mcp.model.names import Era, State
from search_mcp.model.servers import ServerCapabilities, Status
from search_mcp.model.standing import LONGEST_PART, ago, standing_of

CAPABILITIES = ServerCapabilities("2025-11-25", Era.LEGACY, frozenset())
LOGIN = "search-mcp auth login x"
WORDS = [
    (Status("x", State.READY), "ready"),
    (Status("x", State.STARTING), "starting"),
    (Status("x", State.BACKING_OFF, "it exited"), "failed"),
    (Status("x", State.FAILED, "it exited"), "failed"),
    (Status("x", State.DISABLED), "off"),
    (Status("x", State.HELD), "held"),
    (Status("x", State.NEEDS_LOGIN), "needs a login"),
    (Status("x", State.STOPPED), "not started"),
    (Status("x", State.UNKNOWN), "not started"),
    (Status("x", State.STOPPED, capabilities=CAPABILITIES), "known"),
    (Status("x", State.KNOWN), "known"),
    (Status("x", State.STOPPED, "it exited", capabilities=CAPABILITIES), "failed"),
    (Status("x", State.STOPPED, lacked_login=True, remedy=LOGIN), "needs a login"),
]


@pytest.mark.parametrize(("status", "word"), WORDS)
def test_each_state_has_one_word(status: Status, word: str) -> None:
    assert standing_of(status).word == word


REASONS = [
    # reason, what happened, the words of the server that tell the cause
    (None, "", ""),
    ("it did not answer within 60 s.", "it did not answer within 60 s", ""),
    ("it refused initialize: no\u202e licence", "it refused initialize", "no\u202e licence"),
    ("it exited with code 1; end of its stderr: a\n  KeyError: 'X'\n", "it exited with code 1", "KeyError: 'X'"),
    ("it failed: [Errno 5]; end of its stderr: no: disk\n", "it failed", "[Errno 5]: no: disk"),
    ("a\n\x1b[31mb", "a \\u{1b}[31mb", ""),
]


@pytest.mark.parametrize(("reason", "what", "cause"), REASONS)
def test_words_of_the_server_are_told_apart(reason: str | None, what: str, cause: str) -> None:
    standing = standing_of(Status("x", State.FAILED, reason))
    assert (standing.what, standing.cause) == (what, cause)


@pytest.mark.parametrize("state", [State.HELD, State.DISABLED])
def test_the_reason_of_a_server_that_may_not_run_is_in_our_own_words(state: State) -> None:
    standing = standing_of(Status("x", state, "its command is new in a: b.json"))
    assert (standing.what, standing.cause, standing.told) == ("its command is new in a: b.json", "", standing.what)


def test_a_model_gets_the_words_of_the_server_quoted_and_a_person_gets_the_remedy() -> None:
    standing = standing_of(Status("x", State.FAILED, 'it failed: say "a"', remedy="search-mcp check x"))
    assert standing.told == r'it failed: "say \"a\""'
    assert standing.explanation == 'it failed: say "a"; run `search-mcp check x`'


def test_the_last_failure_is_the_reason_of_a_server_that_starts() -> None:
    assert standing_of(Status("x", State.STARTING, last_failure="it broke")).reason == "it broke"


def test_each_part_is_bounded() -> None:
    standing = standing_of(Status("x", State.FAILED, f"{'a' * 9_000}: {'b' * 9_000}"))
    assert len(standing.told) < 2 * LONGEST_PART + 10


def test_the_time_of_a_failure_is_shown() -> None:
    failed, ready = (standing_of(Status("x", state, since=1_000.0)) for state in (State.FAILED, State.READY))
    assert (failed.word_and_age(1_200.0), ready.word_and_age(1_200.0)) == ("failed 3 min ago", "ready")
    assert standing_of(Status("x", State.FAILED)).word_and_age(1_200.0) == "failed"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5, "just now"),
        (59, "just now"),
        (60, "1 min ago"),
        (7_300, "2 h ago"),
        (86_400, "1 day ago"),
        (200_000, "2 days ago"),
    ],
)
def test_how_long_ago(seconds: float, said: str) -> None:
    assert ago(seconds) == said
