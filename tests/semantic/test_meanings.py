"""Meanings of queries from a real process with a small model, and processes that fail."""

import asyncio
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sentence_models import tiny

from search_mcp.gateway.meanings import MOST_FAILURES, Meanings, Similarities
from search_mcp.search import Meaning
from search_mcp.semantic.worker import PROGRAM

TEXTS = {"a.read": "read the file", "b.draw": "draw a picture", "c.send": "send mail"}


def later(seconds: float, act: Callable[[], None]) -> Callable[[], None]:
    return asyncio.get_running_loop().call_later(seconds, act).cancel


class Asker:
    """Asks from inside an event loop."""

    def __init__(self, command: list[str], patience_seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self.meanings = Meanings(command, later, loop.call_soon_threadsafe, patience_seconds=patience_seconds)
        self.meanings.follow(TEXTS)

    async def __call__(self, query: str) -> Meaning | None:
        answered: asyncio.Future[Meaning | None] = asyncio.get_running_loop().create_future()
        self.meanings.ask(query, answered.set_result)
        return await asyncio.wait_for(answered, 60)

    async def until_known(self, query: str) -> Meaning:
        async with asyncio.timeout(60):
            while (meaning := await self(query)) is None:
                pass
        return meaning


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    tiny(tmp_path / "tiny")
    return [sys.executable, "-P", *PROGRAM, str(tmp_path / "tiny"), str(tmp_path / "vectors.sqlite3")]


@pytest.fixture
def askers() -> Iterator[list[Asker]]:
    made: list[Asker] = []
    yield made
    for each in made:
        each.meanings.end()


def stub(program: str) -> list[str]:
    return [sys.executable, "-c", program]


async def test_a_query_has_a_meaning_once_the_vectors_are_made(command: list[str], askers: list[Asker]) -> None:
    ask = Asker(command, 30.0)
    askers.append(ask)
    meaning = await ask.until_known("send mail")
    assert meaning.nearest[0] == "c.send"
    assert meaning.similarities["c.send"] == pytest.approx(1.0, abs=1e-3)
    assert meaning.similarities.get("d.other") is None
    assert len(meaning.similarities) == len(TEXTS)


async def test_other_texts_are_used_from_the_next_query_on(command: list[str], askers: list[Asker]) -> None:
    ask = Asker(command, 30.0)
    askers.append(ask)
    await ask.until_known("time")
    ask.meanings.follow({**TEXTS, "d.time": "time"})
    assert (await ask.until_known("time")).nearest[0] == "d.time"


async def test_a_search_does_not_wait_for_a_slow_process(askers: list[Asker]) -> None:
    ask = Asker(stub("import sys; sys.stdin.read()"), 0.01)
    askers.append(ask)
    assert await ask("send mail") is None
    assert await ask("send mail") is None


async def test_a_process_that_ends_is_started_again(askers: list[Asker]) -> None:
    ask = Asker(stub("input()"), 30.0)
    askers.append(ask)
    assert [await ask("time") for _ in range(MOST_FAILURES + 2)] == [None] * (MOST_FAILURES + 2)


async def test_a_process_that_fails_is_not_started_for_ever(
    askers: list[Asker], caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    starts = tmp_path / "starts"
    ask = Asker(stub(f"open({str(starts)!r}, 'a').write('x'); raise SystemExit(3)"), 30.0)
    askers.append(ask)
    with caplog.at_level(logging.WARNING):
        for _ in range(MOST_FAILURES + 2):
            assert await ask("time") is None
    assert starts.read_text() == "x" * MOST_FAILURES
    assert "its process ended with 3; tools are ranked by words" in caplog.text


async def test_a_missing_model_is_reported_once(
    askers: list[Asker], caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    ask = Asker([sys.executable, "-P", *PROGRAM, str(tmp_path), str(tmp_path / "vectors")], 30.0)
    askers.append(ask)
    with caplog.at_level(logging.WARNING):
        assert [await ask("time") for _ in range(3)] == [None] * 3
    assert caplog.text.count("there is no model in") == 1


async def test_a_program_that_cannot_be_started(askers: list[Asker], tmp_path: Path) -> None:
    ask = Asker([str(tmp_path / "missing")], 30.0)
    askers.append(ask)
    assert await ask("time") is None


async def test_a_wrong_line_ends_the_process(askers: list[Asker], caplog: pytest.LogCaptureFixture) -> None:
    ask = Asker(stub("print('nonsense', flush=True); import sys; sys.stdin.read()"), 30.0)
    askers.append(ask)
    with caplog.at_level(logging.WARNING):
        assert await ask("time") is None
    assert "its process wrote a wrong line" in caplog.text


def test_similarities_without_a_vector_are_missing() -> None:
    found = Similarities({"a": 0, "b": 1}, [0.5, float("nan")])
    assert (dict(found), "b" in found, found.get("b")) == ({"a": 0.5}, False, None)
