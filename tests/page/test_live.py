"""Streams of changes: what is sent of a view that changes, and which streams end."""

import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import anyio
import pytest
from anyio.abc import TaskGroup
from starlette.types import ASGIApp

from search_mcp.page.live import MOST_OF_A_BROWSER, MOST_STREAMS, Part, Streams

SECONDS = 5.0


def new_streams() -> Streams:
    return Streams(tick_seconds=0.001, beat_seconds=0.01)


class View:
    """A view of two parts, which counts how often each is written."""

    def __init__(self) -> None:
        self.keys = {"one": 1, "two": 1}
        self.looks = 0
        self.written: list[str] = []

    async def parts(self) -> Mapping[str, Part]:
        self.looks += 1
        return {name: Part(key, partial(self._write, name, key)) for name, key in self.keys.items()}

    def _write(self, name: str, key: int) -> str:
        self.written.append(name)
        return f"{name} <{key}>\n"


class Browser:
    """The other end of one response."""

    def __init__(self) -> None:
        self.is_gone = anyio.Event()
        self.reads = anyio.Event()
        self.reads.set()
        self.status = 0
        self.has_end = False
        self.done = anyio.Event()
        self._received, self._events = anyio.create_memory_object_stream[dict[str, Any]](100)

    async def receive(self) -> dict[str, Any]:
        await self.is_gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        await self.reads.wait()
        self.status = message.get("status", self.status)
        text = message.get("body", b"").decode()
        if text == "event: end\ndata:\n\n":
            self.has_end = not message.get("more_body")
        elif text:
            assert text.startswith("data: ") and text.endswith("\n\n")
            await self._received.send(json.loads(text.removeprefix("data: ")))

    async def event(self) -> dict[str, Any]:
        """Return the next event."""
        with anyio.fail_after(SECONDS):
            return await self._events.receive()

    async def gets(self, *names: str) -> None:
        """Wait for the next event with parts; fail if it has others."""
        while not (parts := (await self.event())["parts"]):
            pass
        assert [*parts] == [*names]

    async def opens(self, streams: Streams, view: View, tasks: TaskGroup, browser: object = None) -> None:
        """Open a stream, and wait for its first event."""
        tasks.start_soon(self._stay, streams.response(view.parts, browser or self))
        await self.gets("one", "two")
        assert self.status == 200

    async def _stay(self, response: ASGIApp) -> None:
        await response({"type": "http"}, self.receive, self.send)
        self.done.set()

    def close(self) -> None:
        self._received.close()
        self._events.close()


async def opened(stack: AsyncExitStack, streams: Streams, view: View, tasks: TaskGroup, of: object = None) -> Browser:
    browser = Browser()
    stack.callback(browser.close)
    await browser.opens(streams, view, tasks, of)
    return browser


async def test_what_changes_is_sent_once() -> None:
    view = View()
    async with AsyncExitStack() as stack, anyio.create_task_group() as tasks:
        browser = await opened(stack, new_streams(), view, tasks)
        view.keys["two"] = 2
        await browser.gets("two")
        view.keys = {"three": 1}
        await browser.gets("three")
        assert view.written == ["one", "two", "two", "three"]
        tasks.cancel_scope.cancel()


async def test_the_time_is_sent_while_nothing_changes() -> None:
    async with AsyncExitStack() as stack, anyio.create_task_group() as tasks:
        browser = await opened(stack, new_streams(), View(), tasks)
        for _ in range(3):
            event = await browser.event()
            assert event["parts"] == {}
            assert len(event["at"]) == len("12:34:56")
        tasks.cancel_scope.cancel()


async def test_nothing_is_looked_at_when_the_browser_is_gone() -> None:
    view = View()
    async with AsyncExitStack() as stack:
        async with anyio.create_task_group() as tasks:
            browser = await opened(stack, new_streams(), view, tasks)
            browser.is_gone.set()
        looks = view.looks
        await anyio.wait_all_tasks_blocked()
        assert view.looks == looks


@pytest.mark.parametrize("reads", [True, False])
async def test_one_stream_too_many_ends_the_oldest(*, reads: bool) -> None:
    """Also one that is not read, and so is in the middle of an event."""
    view, streams = View(), new_streams()
    async with AsyncExitStack() as stack, anyio.create_task_group() as tasks:
        oldest, *others = [await opened(stack, streams, view, tasks) for _ in range(MOST_STREAMS)]
        if not reads:
            oldest.reads = anyio.Event()
            view.keys["one"] = 2
            await others[-1].gets("one")
        others.append(await opened(stack, streams, view, tasks))
        with anyio.fail_after(SECONDS):
            await oldest.done.wait()
        assert oldest.has_end is reads
        assert not any(each.done.is_set() for each in others)
        tasks.cancel_scope.cancel()


async def test_one_stream_too_many_of_a_browser_ends_its_oldest() -> None:
    view, streams = View(), new_streams()
    async with AsyncExitStack() as stack, anyio.create_task_group() as tasks:
        of_another = await opened(stack, streams, view, tasks)
        oldest, *others = [await opened(stack, streams, view, tasks, "one") for _ in range(MOST_OF_A_BROWSER + 1)]
        with anyio.fail_after(SECONDS):
            await oldest.done.wait()
        assert oldest.has_end
        assert not any(each.done.is_set() for each in [of_another, *others])
        tasks.cancel_scope.cancel()


async def test_a_fault_of_a_view_ends_its_stream_alone() -> None:
    async def fails() -> Mapping[str, Part]:
        raise LookupError("a bug")

    streams, browser = new_streams(), Browser()
    with pytest.raises(ExceptionGroup) as failure:
        await streams.response(fails, browser)({"type": "http"}, browser.receive, browser.send)
    assert failure.group_contains(LookupError)
    browser.close()
    async with AsyncExitStack() as stack, anyio.create_task_group() as tasks:
        await opened(stack, streams, View(), tasks)
        tasks.cancel_scope.cancel()
