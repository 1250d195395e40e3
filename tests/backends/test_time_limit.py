"""The time limit of a call, as far as conversations do not show it."""

from collections.abc import Callable
from typing import Any

from search_mcp.backends.time_limit import limited
from search_mcp.model.calls import Call, Outcome, Reply, Result
from search_mcp.model.errors import ToolNotFound
from search_mcp.model.names import Action

TOO_LATE = ToolNotFound("too late", ())


def test_the_time_of_one_server_ends_with_its_outcome_though_another_one_is_asked_then() -> None:
    outcomes, timers = list[Outcome](), dict[int, Callable[[], None]]()

    def later(_seconds: float, act: Callable[[], None]) -> Callable[[], None]:
        number = len(timers)
        timers[number] = act

        def stop() -> None:
            timers.pop(number, None)

        return stop

    caller: Any = None
    reply = Reply(outcomes.append)
    call = Call(Action.GET_SKILL, "a", {}, {}, caller, reply)

    def ask_another(outcome: Outcome | None) -> None:
        return None

    reply.steps.append(ask_another)
    limited(call, 1.0, 2.0, later, lambda _reply, _how: TOO_LATE)
    assert len(timers) == 2
    reply(Result({}))
    assert (timers, outcomes, reply.is_over) == ({}, [], False)
    limited(call, 1.0, None, later, lambda _reply, _how: TOO_LATE)
    timers.popitem()[1]()
    assert outcomes == [TOO_LATE]
