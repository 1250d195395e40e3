"""Work that a signal ends: the first one stops the servers, the second one, or a short time, kills them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from anyio.abc import TaskStatus

from search_mcp.cli.problem import InterruptionError
from search_mcp.fronts.ending_signals import ENDING_SIGNALS, TERMINATION_SECONDS

_Answer = TypeVar("_Answer")


async def interruptible(
    work: Callable[[], Awaitable[_Answer]],
    terminate: Callable[[], None] = lambda: None,
    kill: Callable[[], None] = lambda: None,
) -> _Answer:
    """Run a function; a signal terminates the servers and cancels it, the next one or a short time kills the servers.

    Raises:
        InterruptionError: a signal came, and `work` has cleaned up.
    """
    received: list[int] = []
    answers: list[_Answer] = []
    scope = anyio.CancelScope()
    async with anyio.create_task_group() as tasks:
        await tasks.start(_listen, received, scope, terminate, kill)
        with scope:
            answers.append(await work())
        tasks.cancel_scope.cancel()
    if received:
        raise InterruptionError(received[0])
    return answers[0]


async def _listen(
    received: list[int],
    scope: anyio.CancelScope,
    terminate: Callable[[], None],
    kill: Callable[[], None],
    *,
    task_status: TaskStatus[None],
) -> None:
    try:
        with anyio.open_signal_receiver(*ENDING_SIGNALS) as signals:
            task_status.started()
            async for number in signals:
                received.append(number)
                if len(received) == 1:
                    terminate()
                    asyncio.get_running_loop().call_later(TERMINATION_SECONDS, kill)
                else:
                    kill()
                scope.cancel()
    except NotImplementedError:  # on Windows Python raises KeyboardInterrupt instead
        task_status.started()


def unwrapped(act: Callable[[], _Answer]) -> _Answer:
    """Run a function; raise a single exception without the groups that task groups put around it."""
    try:
        return act()
    except BaseExceptionGroup as group:
        inner: BaseException = group
        while isinstance(inner, BaseExceptionGroup) and len(inner.exceptions) == 1:
            inner = inner.exceptions[0]
        raise inner from inner.__cause__
