"""Turns of the principals: when many requests arrive at once, each principal's are begun in turn.

What a request costs this process is spent at its beginning and at its end, not while a server works. So the number of
requests that are begun in one step of the event loop is limited, and no principal can hold up the others with a flood.
"""

import asyncio
from collections import deque

MOST_BEGUN = 4
"""Requests that are begun in one step of the event loop."""


class Turns:
    """Requests that wait to be begun, by principal."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # the principal whose turn is next in front
        self._begun = 0
        """Requests that were begun in this step."""

    async def wait(self, principal: str) -> None:
        """Wait until a request of a principal may begin."""
        if not self._begun:
            asyncio.get_running_loop().call_soon(self._step)
        if self._begun < MOST_BEGUN and not self._waiting:
            self._begun += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(principal, deque()).append(turn)
        await turn

    def _step(self) -> None:
        self._begun = 0
        while self._waiting and self._begun < MOST_BEGUN:
            principal = next(iter(self._waiting))
            turns = self._waiting.pop(principal)
            turn = turns.popleft()
            if turns:
                self._waiting[principal] = turns  # behind the others
            if not turn.done():  # its request was not cancelled
                turn.set_result(None)
                self._begun += 1
        if self._begun:
            asyncio.get_running_loop().call_soon(self._step)
