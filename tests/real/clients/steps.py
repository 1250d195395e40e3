"""Shared by both Python clients: play the steps of a script, and print each event as a line of JSON."""

import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

script: dict[str, Any] = json.loads(sys.argv[1])
answers: dict[str, Any] = script.get("answers", {})

_notified: list[str] = []  # methods of notifications that were received and not awaited yet
_news = anyio.Event()


def say(saw: str, **more: Any) -> None:
    print(json.dumps({"saw": saw, **more}), flush=True)


def plain(model: Any) -> Any:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


def answer(method: str, result: type[Any]) -> Any:
    """Return the callback for a request of the server, or None if the script has no answer to it."""

    async def callback(context: object, params: Any = None) -> Any:
        say("asked", method=method, params=plain(params) if params else {})
        return result.model_validate(answers[method])

    return callback if method in answers else None


def heard(method: str, params: Any) -> None:
    global _news
    say("notification", method=method, params=params)
    _notified.append(method)
    _news.set()
    _news = anyio.Event()


async def wait(method: str) -> None:
    while method not in _notified:
        await _news.wait()
    _notified.remove(method)


def reporter(number: int, step: dict[str, Any], cancel: Callable[[], Awaitable[None] | None]) -> Any:
    """Return the progress callback of a step that wants one; with `cancel`, the first report cancels the step."""

    async def report(progress: float, total: float | None, message: str | None) -> None:
        say("progress", step=number, progress=progress, total=total, message=message)
        if "cancel" in step and (pending := cancel()) is not None:
            await pending

    return report if "progress" in step or "cancel" in step else None


async def play(take: Callable[[int, dict[str, Any]], Awaitable[Any]], refused: type[Exception]) -> None:
    for number, step in enumerate(script["steps"]):
        try:
            result = await (wait(step["await"]) if "await" in step else take(number, step))
            say("result", step=number, result=result)
        except refused as exc:
            error: Any = exc
            say(
                "error",
                step=number,
                code=error.error.code,
                message=error.error.message,
                data=error.error.data,
            )
        except TimeoutError as exc:
            say("error", step=number, code=None, message=str(exc))
