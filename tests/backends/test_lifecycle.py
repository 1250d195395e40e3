"""A backend's states: the transitions, and the delay before a new attempt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.backends.lifecycle import Backoff, Event, advance
from search_mcp.model.names import State

LEADS_TO = {
    # given: {when: then}; every pair that is missing is a bug
    "STOPPED": {"START": "STARTING", "TERMINATE": "STOPPING", "STOP": "STOPPING"},
    "STARTING": {
        "OPENED": "READY",
        "ENDED": "BACKING_OFF",
        "GIVE_UP": "FAILED",
        "UNAUTHORIZED": "NEEDS_LOGIN",
        "RESTART": "RESTARTING",
        "TERMINATE": "STOPPING",
        "STOP": "STOPPING",
    },
    "RESTARTING": {"START": "STARTING", "TERMINATE": "STOPPING", "STOP": "STOPPING"},
    "READY": {
        "ENDED": "BACKING_OFF",
        "GIVE_UP": "FAILED",
        "UNAUTHORIZED": "NEEDS_LOGIN",
        "REST": "STOPPED",
        "RESTART": "RESTARTING",
        "TERMINATE": "STOPPING",
        "STOP": "STOPPING",
    },
    "BACKING_OFF": {"START": "STARTING", "TERMINATE": "STOPPING", "STOP": "STOPPING"},
    "FAILED": {"START": "STARTING", "TERMINATE": "STOPPING", "STOP": "STOPPING"},
    "NEEDS_LOGIN": {"START": "STARTING", "TERMINATE": "STOPPING", "STOP": "STOPPING"},
    "STOPPING": {"TERMINATE": "STOPPING", "OPENED": "STOPPING", "STOP": "STOPPING", "STOPPED": "STOPPED"},
}


NOT_OF_A_SUPERVISOR = {"DISABLED", "HELD", "KNOWN", "UNKNOWN"}


def test_every_state_of_a_supervisor_is_in_the_table() -> None:
    assert set(LEADS_TO) == {state.name for state in State} - NOT_OF_A_SUPERVISOR
    assert {event for row in LEADS_TO.values() for event in row} == {event.name for event in Event}


@pytest.mark.parametrize("event", Event, ids=lambda event: event.name)
@pytest.mark.parametrize("state", State, ids=lambda state: state.name)
def test_every_pair_has_the_transition_of_the_table_or_raises(state: State, event: Event) -> None:
    then = LEADS_TO.get(state.name, {}).get(event.name)
    if then is None:
        with pytest.raises(RuntimeError, match=f"a backend that is {state.value} cannot {event.value}"):
            advance(state, event)
    else:
        assert advance(state, event) is State[then]


@pytest.mark.parametrize(
    ("events", "then"),
    [
        pytest.param([Event.START, Event.OPENED], State.READY, id="a start"),
        pytest.param([Event.START, Event.ENDED, Event.START, Event.OPENED], State.READY, id="a second try"),
        pytest.param([Event.START, Event.OPENED, Event.GIVE_UP], State.FAILED, id="given up"),
        pytest.param([Event.START, Event.GIVE_UP, Event.START], State.STARTING, id="asked for again"),
        pytest.param([Event.START, Event.OPENED, Event.REST, Event.START], State.STARTING, id="idle, then needed"),
        pytest.param([Event.START, Event.STOP, Event.STOPPED, Event.START], State.STARTING, id="stopped and started"),
    ],
)
def test_sequences_of_events(events: list[Event], then: State) -> None:
    state = State.STOPPED
    for event in events:
        state = advance(state, event)
    assert state is then


@pytest.mark.parametrize(("state", "word"), [(State.BACKING_OFF, "backing off"), (State.READY, "ready")])
def test_a_state_has_a_readable_value(state: State, word: str) -> None:
    assert state.value == word


# Backoff

SCHEDULE = [
    # failures in a row, without jitter, with all of it
    (1, 0.25, 0.5),
    (2, 0.5, 1.0),
    (3, 1.0, 2.0),
    (4, 2.0, 4.0),
    (5, None, None),
    (6, None, None),
]


@pytest.mark.parametrize(("failures", "least", "most"), SCHEDULE)
def test_waits_twice_as_long_each_time(failures: int, least: float | None, most: float | None) -> None:
    backoff = Backoff()
    assert (backoff.delay(failures, 0.0), backoff.delay(failures, 1.0)) == (least, most)


def test_never_waits_longer_than_the_longest() -> None:
    patient = Backoff(first_seconds=1, longest_seconds=10, attempts=100)
    assert [patient.delay(failures, 1.0) for failures in (4, 5, 6, 99)] == [8, 10, 10, 10]
    assert patient.delay(100, 1.0) is None


@given(
    st.builds(
        Backoff,
        first_seconds=st.floats(0.001, 10),
        longest_seconds=st.floats(10, 1000),
        attempts=st.integers(1, 50),
    ),
    st.integers(1, 60),
    st.floats(0, 1),
)
def test_waits_within_bounds_or_gives_up(backoff: Backoff, failures: int, jitter: float) -> None:
    delay = backoff.delay(failures, jitter)
    if failures >= backoff.attempts:
        assert delay is None
        return
    assert delay is not None
    assert 0 < delay <= backoff.longest_seconds
    later = backoff.delay(failures + 1, jitter)
    assert later is None or later >= delay
