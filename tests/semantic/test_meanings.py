"""Meanings of queries from a real process with a small model, and processes that fail."""

import asyncio
import contextlib
import gc
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from sentence_models import tiny

from search_mcp.search import Meaning
from search_mcp.semantic import choice, meanings, vector_process
from search_mcp.semantic.lines import Address, Compared, Local, Problem
from search_mcp.semantic.meanings import Give, Meanings, Similarities
from search_mcp.wire import payload

TEXTS = {"a.read": "read the file", "b.draw": "draw a picture", "c.send": "send mail"}


class Catalogue:
    """Texts that change."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts, self.texts_version = texts, 0

    def change(self, texts: Mapping[str, str]) -> None:
        self.texts, self.texts_version = texts, self.texts_version + 1


NO_MODEL = Local("")


def later(seconds: float, act: Callable[[], None]) -> Callable[[], None]:
    return asyncio.get_running_loop().call_later(seconds, act).cancel


class Asker:
    """Asks from inside an event loop."""

    def __init__(self, command: list[str], patience_seconds: float, first: Local | Address | None) -> None:
        loop = asyncio.get_running_loop()
        self.openings = 0

        def open_(give: Give) -> None:
            self.openings += 1
            give(first)

        self.meanings = Meanings(command, open_, later, loop.call_soon_threadsafe)
        self.catalogue, self._patience_seconds = Catalogue(TEXTS), patience_seconds

    async def __call__(self, query: str, catalogue: Catalogue | None = None) -> Meaning | None:
        answered: asyncio.Future[Meaning | None] = asyncio.get_running_loop().create_future()
        self.meanings.ask(catalogue or self.catalogue, query, answered.set_result, self._patience_seconds)
        return await asyncio.wait_for(answered, 60)

    async def until_known(self, query: str, catalogue: Catalogue | None = None) -> Meaning:
        async with asyncio.timeout(60):
            while (meaning := await self(query, catalogue)) is None:
                pass
        return meaning


class Place:
    """A model, and the command that uses it."""

    def __init__(self, folder: Path) -> None:
        tiny(folder / "tiny")
        self.first, self.command = Local(str(folder / "tiny")), choice.command(folder / "vectors.sqlite3")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


New = Callable[..., Asker]


@pytest.fixture
def new() -> Iterator[New]:
    with contextlib.ExitStack() as ended:

        def make(command: list[str], patience_seconds: float, first: Local | Address | None = NO_MODEL) -> Asker:
            asker = Asker(command, patience_seconds, first)
            ended.callback(asker.meanings.end)
            return asker

        yield make


def wait_until_written(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists() or not path.read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def stub(program: str) -> list[str]:
    return [sys.executable, "-c", program]


async def test_a_query_has_a_meaning_once_the_vectors_are_made(place: Place, new: New) -> None:
    ask = new(place.command, 30.0, place.first)
    meaning = await ask.until_known("send mail")
    assert meaning.nearest[0] == "c.send"
    assert meaning.similarities["c.send"] == pytest.approx(1.0, abs=1e-3)
    assert meaning.similarities.get("d.other") is None
    assert len(meaning.similarities) == len(TEXTS)


async def test_other_texts_are_used_from_the_next_query_on(place: Place, new: New) -> None:
    ask = new(place.command, 30.0, place.first)
    await ask.until_known("time")
    ask.catalogue.change({**TEXTS, "d.time": "time"})
    assert (await ask.until_known("time")).nearest[0] == "d.time"


async def test_catalogues_are_compared_apart(place: Place, new: New) -> None:
    ask = new(place.command, 30.0, place.first)
    other = Catalogue({"x.time": "time", "x.draw": "draw a picture"})
    assert set((await ask.until_known("time")).similarities) == set(TEXTS)
    assert (await ask.until_known("time", other)).nearest[0] == "x.time"
    del other
    gc.collect()
    assert (await ask.until_known("send mail")).nearest[0] == "c.send"


async def test_a_process_without_a_first_line_is_not_started(new: New) -> None:
    ask = new(stub("raise SystemExit"), 30.0, None)
    assert [await ask("time") for _ in range(3)] == [None] * 3
    assert ask.openings == 1


async def test_an_ended_source_starts_nothing(place: Place, new: New) -> None:
    ask = new(place.command, 30.0, place.first)
    ask.meanings.end()
    assert await ask("time") is None
    assert ask.openings == 0


async def test_a_problem_is_logged_once(new: New, caplog: pytest.LogCaptureFixture) -> None:
    again, last = Problem("no connection", True), Problem("no key", True)
    lines = "\n".join(payload.encode_bytes(each).decode() for each in (again, Problem(""), again, last))
    ask = new(stub(f"print({lines!r}, flush=True); import sys; sys.stdin.read()"), 0.1)
    with caplog.at_level(logging.WARNING):
        while "no key" not in caplog.text:
            assert await ask("time") is None
    assert caplog.text.count("no connection; tools may be ranked by words alone") == 1
    assert ask.meanings.problem == "no key"


async def test_a_problem_is_over_with_the_next_meaning(place: Place, new: New) -> None:
    ask = new(place.command, 30.0, place.first)
    ask.meanings.problem = "no connection"
    await ask.until_known("time")
    assert ask.meanings.problem == ""


async def test_a_query_with_bytes_that_are_no_text(place: Place, new: New) -> None:
    ask = new(place.command, 30.0, place.first)
    assert (await ask.until_known("send \udcff mail")).nearest


async def test_negated_verbs_are_not_compared(place: Place, new: New) -> None:
    ask = new(place.command, 30.0, place.first)
    meaning, same = await ask.until_known("don't draw, send mail"), await ask.until_known(", send mail")
    assert meaning.similarities == same.similarities


async def test_a_search_does_not_wait_for_a_slow_process(new: New) -> None:
    ask = new(stub("import sys; sys.stdin.read()"), 0.01)
    assert await ask("send mail") is None
    assert await ask("send mail") is None


async def test_a_process_that_ends_is_started_again(new: New, tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    ask = new(stub(f"open({str(starts)!r}, 'a').write('x'); input()"), 30.0)
    assert [await ask("time") for _ in range(3)] == [None] * 3
    assert starts.read_text() == "xxx"


async def test_a_process_that_fails_is_not_started_for_ever(
    new: New, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    starts = tmp_path / "starts"
    ask = new(
        stub(
            f"open({str(starts)!r}, 'a').write('x'); print('why', file=__import__('sys').stderr); raise SystemExit(3)"
        ),
        30.0,
    )
    with caplog.at_level(logging.WARNING):
        assert [await ask("time") for _ in range(3)] == [None] * 3
    assert starts.read_text() == "x"
    assert caplog.text.count("its process ended with 3 (why); tools may be ranked by words alone") == 1


async def test_a_process_that_failed_is_started_again_after_some_time(
    new: New, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(meanings, "RETRY_SECONDS", 0.0)
    starts = tmp_path / "starts"
    ask = new(stub(f"open({str(starts)!r}, 'a').write('x'); raise SystemExit(3)"), 30.0)
    async with asyncio.timeout(60):
        while not starts.exists() or len(starts.read_text()) < 3:
            assert await ask("time") is None
            await asyncio.sleep(0)


async def test_a_missing_model_is_reported_once(new: New, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    ask = new(choice.command(tmp_path / "vectors.sqlite3"), 30.0, Local(str(tmp_path)))
    with caplog.at_level(logging.WARNING):
        assert [await ask("time") for _ in range(3)] == [None] * 3
    assert caplog.text.count("there is no model in") == 1


async def test_a_program_that_cannot_be_started(new: New, tmp_path: Path) -> None:
    ask = new([str(tmp_path / "missing")], 30.0)
    assert await ask("time") is None


WRONG_LINES = [
    ('"nonsense"', "Expected `object`"),
    (Compared(1, b"", [], 0), "the similarities are those of other texts"),
    (Compared(1, b"1234" * 3, [3], 0), "the similarities are those of other texts"),
    (Compared(1, b"1234" * 3, [-1], 0), "the similarities are those of other texts"),
    ("x" * 5_000, "malformed"),
]


@pytest.mark.parametrize(("line", "fault"), WRONG_LINES)
async def test_a_wrong_line_ends_the_process(
    new: New,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    line: str | Compared,
    fault: str,
) -> None:
    monkeypatch.setattr(vector_process, "LONGEST_LINE", 4_000)
    text = line if isinstance(line, str) else payload.encode_bytes(line).decode()
    ending = "" if len(text) > vector_process.LONGEST_LINE else "\n"  # a line that is too long has no end
    ask = new(stub(f"print({text!r}, end={ending!r}, flush=True); import sys; sys.stdin.read()"), 30.0)
    with caplog.at_level(logging.WARNING):
        assert await ask("time") is None
    assert "its process wrote a wrong line" in caplog.text
    assert fault in caplog.text


async def test_a_process_that_does_not_answer_is_sent_no_more(
    new: New, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meanings, "MOST_UNANSWERED", 10)
    report = tmp_path / "length"
    ask = new(stub(f"import sys; n = len(sys.stdin.read()); open({str(report)!r}, 'w').write(str(n))"), 0.0)
    for number in range(20):
        ask.catalogue.change({"a": f"{number} {'x' * 10_000}"})
        assert await ask("time") is None
    ask.meanings.end()
    await asyncio.to_thread(wait_until_written, report)
    assert 100_000 < int(report.read_text()) < 105_000


async def test_queries_that_were_answered_are_not_waited_for(
    place: Place, new: New, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = new(place.command, 30.0, place.first)
    await ask.until_known("time")
    monkeypatch.setattr(meanings, "MOST_UNANSWERED", 1)
    for _ in range(3):
        assert await ask("time") is not None


def test_similarities_without_a_vector_are_missing() -> None:
    found = Similarities({"a": 0, "b": 1}, [0.5, float("nan")])
    assert (dict(found), "b" in found, found.get("b")) == ({"a": 0.5}, False, None)
