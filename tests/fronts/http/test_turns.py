"""The order in which requests of several principals are begun."""

import anyio
import anyio.lowlevel

from search_mcp.fronts.http.turns import MOST_BEGUN, Turns


class Requests:
    """Requests that note their principal when they are begun."""

    def __init__(self) -> None:
        self.turns = Turns()
        self.begun: list[str] = []

    async def begin(self, principal: str) -> None:
        await self.turns.wait(principal)
        self.begun.append(principal)


async def test_a_flood_of_one_does_not_hold_up_another() -> None:
    requests = Requests()
    async with anyio.create_task_group() as tasks:
        for principal in [*["flood"] * 100, "quiet"]:
            tasks.start_soon(requests.begin, principal)
    assert len(requests.begun) == 101
    assert requests.begun.index("quiet") <= 2 * MOST_BEGUN


async def test_few_requests_are_begun_in_one_step() -> None:
    requests = Requests()
    async with anyio.create_task_group() as tasks:
        for _ in range(10 * MOST_BEGUN):
            tasks.start_soon(requests.begin, "flood")
        before = 0
        while len(requests.begun) < 10 * MOST_BEGUN:
            await anyio.lowlevel.checkpoint()
            assert len(requests.begun) - before <= 2 * MOST_BEGUN  # two steps may lie between two looks
            before = len(requests.begun)


async def test_requests_that_are_given_up_take_no_turns() -> None:
    requests = Requests()
    async with anyio.create_task_group() as tasks:
        for _ in range(10 * MOST_BEGUN):
            tasks.start_soon(requests.begin, "one")
        await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    begun = len(requests.begun)
    assert begun < 10 * MOST_BEGUN
    await requests.begin("other")
    await anyio.wait_all_tasks_blocked()
    assert requests.begun[begun:] == ["other"]
