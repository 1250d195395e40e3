"""The tasks of one channel: a bug in one of them must not take the other servers down."""

import logging
from collections.abc import Awaitable, Callable

import anyio
import anyio.abc

log = logging.getLogger(__name__)


class Tasks:
    """A task group that begins and ends with a channel, and is cancelled without its owner, which runs in it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._group: anyio.abc.TaskGroup | None = None
        self._works: set[anyio.CancelScope] = set()
        self._is_closed = self._is_over = False

    async def begin(self) -> None:
        """Begin; `end` has to follow in the same task."""
        self._group = anyio.create_task_group()
        await self._group.__aenter__()

    def start(
        self, work: Callable[..., Awaitable[None]], *args: object, scope: anyio.CancelScope | None = None
    ) -> None:
        """Start a task, in a scope of its own; one that was cancelled before is begun, too."""
        if self._group is not None and not self._is_closed:
            self._group.start_soon(self._guarded, scope or anyio.CancelScope(), work, args)

    async def _guarded(
        self, scope: anyio.CancelScope, work: Callable[..., Awaitable[None]], args: tuple[object, ...]
    ) -> None:
        if self._is_over:
            return
        self._works.add(scope)
        try:
            with scope:
                await work(*args)
        except Exception:
            log.exception("! %s: bug", self._name)
        finally:
            self._works.discard(scope)

    def close(self) -> None:
        """Start no more tasks."""
        self._is_closed = True

    def cancel(self) -> None:
        """Cancel all tasks; no further one starts."""
        self._is_closed = self._is_over = True
        for scope in list(self._works):
            scope.cancel()

    async def end(self) -> None:
        """Wait for the tasks to end."""
        if self._group is not None:
            group, self._group = self._group, None
            await group.__aexit__(None, None, None)
