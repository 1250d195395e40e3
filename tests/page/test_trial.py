"""A call that is given up."""

import anyio
import pytest
from starlette.requests import Request
from starlette.types import Message

from search_mcp.cli.problem import Problem
from search_mcp.model.calls import Outcome, Result
from search_mcp.page.trial import answered
from search_mcp.wire.structs import EMPTY


async def never() -> Message:
    await anyio.sleep_forever()
    raise AssertionError


async def leaves() -> Message:
    return {"type": "http.disconnect"}


async def no_outcome() -> Outcome:
    await anyio.sleep_forever()
    return Result(EMPTY)


@pytest.mark.parametrize(
    ("receive", "seconds", "said"),
    [
        (never, 0, "the call was cancelled: it gave no answer in 0 s; the tool may have run nevertheless"),
        (leaves, 60, "the call was cancelled: the browser has closed the request"),
    ],
)
def test_a_call_without_an_answer_is_cancelled(receive: object, seconds: float, said: str) -> None:
    async def call() -> None:
        with pytest.raises(Problem, match=said):
            await answered(Request({"type": "http"}, receive), no_outcome, seconds)  # type: ignore[arg-type]

    anyio.run(call)
