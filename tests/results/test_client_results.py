"""The shortened results of one client: nothing is lost, and nothing is read by another client."""

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from search_mcp.background import at_once
from search_mcp.model.calls import Outcome, Reply, Result
from search_mcp.results import client_results
from search_mcp.results.client_results import ABOUT_ROOM, MOST_RESULTS, WRITE_SECONDS, ClientResults, Shortening
from search_mcp.results.kept_results import KEPT_SECONDS, KeptFiles, KeptResults
from search_mcp.results.result_search import search
from search_mcp.wire import payload
from search_mcp.wire.errors import PeerError
from search_mcp.wire.structs import ErrorObject

T = TypeVar("T")
LIMIT = 1000
LONG = "".join(f"line {number} 日本\n" for number in range(500))
SHORTENING = Shortening(LIMIT, "files.read", is_read_only=True, has_link=False, keeps_structured=False)


class Clock:
    """Timers that a test lets expire."""

    def __init__(self) -> None:
        self.timers: dict[object, tuple[float, Callable[[], None]]] = {}

    def later(self, seconds: float, act: Callable[[], None]) -> Callable[[], None]:
        key = object()
        self.timers[key] = seconds, act
        return lambda: self.timers.pop(key, None) and None

    def pass_over(self, seconds: float) -> None:
        due = [key for key, (wait, _) in self.timers.items() if wait <= seconds]
        for key in due:
            if key in self.timers:
                self.timers.pop(key)[1]()


class Disk:
    """Work that is done when a test says so."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def __call__(self, act: Callable[[], T], done: Callable[[T], None], /) -> None:
        self.waiting.append(lambda: done(act()))

    def works(self) -> None:
        while self.waiting:
            self.waiting.pop(0)()


class Client:
    """The results of one client, and what it receives."""

    def __init__(self, folder: Path, write: Any = at_once, read: Any = at_once) -> None:
        self.clock, self.folder = Clock(), folder
        self.results = ClientResults(KeptResults(KeptFiles(folder), write, read, search), self.clock.later)
        self.outcomes: list[Outcome] = []

    def gets(self, outcome: Outcome, shortening: Shortening = SHORTENING) -> Any:
        self.begins(outcome, shortening)
        return self.last() if self.outcomes else None

    def begins(self, outcome: Outcome, shortening: Shortening = SHORTENING) -> None:
        reply = Reply(self.outcomes.append)
        reply.steps.append(partial(self.results.shorten, shortening, reply))
        reply(outcome)

    def last(self) -> Any:
        outcome = self.outcomes.pop()
        return payload.value(outcome.raw()) if isinstance(outcome, Result) else outcome

    def handle(self, words: str = LONG, shortening: Shortening = SHORTENING) -> str:
        handle = self.gets(text(words), shortening)["_meta"]["search-mcp/truncated"]["handle"]
        assert isinstance(handle, str)
        return handle

    def reads(self, **arguments: Any) -> Any:
        self.results.read(arguments, self.outcomes.append)
        return self.last() if self.outcomes else None

    def files(self) -> list[Path]:
        return [path for path in self.folder.glob("*/*") if path.name != "lock"]


def text(words: str) -> Result:
    return Result(payload.encode({"content": [{"type": "text", "text": words}]}))


def texts(body: Any) -> list[str]:
    return [block["text"] for block in body["content"]]


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path)


# Results on their way


@pytest.mark.parametrize(
    "outcome",
    [
        pytest.param(text("x" * LIMIT), id="at the limit"),
        pytest.param(text("日" * LIMIT), id="at the limit, in three times the bytes"),
        pytest.param(Result(payload.encode({"task": {"taskId": "x" * 5000}}), "task"), id="a task"),
        pytest.param(PeerError(ErrorObject(-1, "x" * 5000)), id="an error"),
    ],
)
def test_an_outcome_passes_as_the_same_object(client: Client, outcome: Outcome) -> None:
    client.begins(outcome)
    assert client.outcomes == [outcome]
    assert client.outcomes[0] is outcome
    assert client.files() == []


def test_a_decoded_result_is_shortened_like_one_in_bytes(client: Client) -> None:
    first, second = client.gets(text(LONG)), client.gets(Result(text(LONG).fields()))
    assert first["content"][0] == second["content"][0]


@pytest.mark.parametrize("problem", ["no space", "no answer"])
def test_a_result_that_cannot_be_kept_passes_whole_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, problem: str
) -> None:
    disk = Disk()
    client = Client(tmp_path, disk if problem == "no answer" else at_once)
    if problem == "no space":
        (tmp_path / "file").write_text("")
        client = Client(tmp_path / "file")
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            client.begins(text(LONG))
            client.clock.pass_over(WRITE_SECONDS)
            assert client.last() == payload.value(text(LONG).raw())
    (record,) = caplog.records
    assert "long results are passed on whole, because they cannot be kept" in record.message
    assert len(disk.waiting) == (problem == "no answer"), "the second does not wait for the file system"
    disk.works()
    assert client.files() == []
    assert client.outcomes == []


def test_a_file_system_that_answers_again_is_used_again(tmp_path: Path) -> None:
    disk = Disk()
    client = Client(tmp_path, disk)
    client.begins(text(LONG))
    client.clock.pass_over(WRITE_SECONDS)
    disk.works()
    client.outcomes.clear()
    client.begins(text(LONG))
    disk.works()
    assert "search-mcp/truncated" in client.last()["_meta"]


def test_a_bug_costs_no_result(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_results, "shortened", lambda *_: 1 / 0)
    assert client.gets(text(LONG)) == payload.value(text(LONG).raw())


def test_a_client_that_left_meanwhile_leaves_nothing(tmp_path: Path) -> None:
    disk = Disk()
    client = Client(tmp_path, disk)
    client.gets(text(LONG))
    client.results.close()
    disk.works()
    assert client.files() == []
    assert client.last() == payload.value(text(LONG).raw())


def test_the_end_of_the_client_deletes_everything(client: Client) -> None:
    for _ in range(3):
        client.handle()
    assert len(client.files()) == 3
    client.results.close()
    assert client.files() == []
    assert client.clock.timers == {}


def test_a_thousand_results_are_kept_and_more_replace_the_oldest(client: Client) -> None:
    handles = [client.handle("x" * 1100) for _ in range(MOST_RESULTS + 1)]
    assert len(set(handles)) == len(handles)
    assert len(client.files()) == MOST_RESULTS
    assert client.reads(handle=handles[0])["isError"]
    assert texts(client.reads(handle=handles[1], length=5))[0] == "xxxxx"
    assert texts(client.reads(handle=handles[-1], length=5))[0] == "xxxxx"


# Reading on


def test_parts_that_follow_each_other_are_the_whole_text(client: Client) -> None:
    words = "日本語か\u3099👩\u200d👩\u200d👧🇯🇵\r\n" * 400
    handle, offset, parts = client.handle(words), 0, list[str]()
    while True:
        part, about = texts(client.reads(handle=handle, offset=offset))
        parts.append(part)
        assert len(part) <= LIMIT - ABOUT_ROOM
        if "this is the end" in about:
            break
        offset = int(about.rpartition(" ")[2].rstrip("]"))
    assert "".join(parts) == words
    assert not any(part.startswith(("\u200d", "\u3099", "\n")) for part in parts)


def test_an_answer_says_where_it_is_and_that_it_is_not_to_be_shortened(client: Client) -> None:
    handle = client.handle()
    body = client.reads(handle=handle, offset=10, length=20)
    assert texts(body) == [LONG[10:30], f"[search-mcp: characters 10 to 30 of {len(LONG):,}; next offset 30]"]
    assert body["_meta"] == {"search-mcp/truncated": {"total": len(LONG), "handle": handle}}


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({}, LONG[: LIMIT - ABOUT_ROOM]),
        ({"length": 10**9}, LONG[: LIMIT - ABOUT_ROOM]),
        ({"offset": -5}, LONG[-5:]),
        ({"offset": -(10**9), "length": 3}, LONG[:3]),
        ({"offset": "7", "length": 2.0}, LONG[7:9]),
        ({"offset": len(LONG) - 1}, "\n"),
        (
            {"pattern": "line 499"},
            f"499-{LONG.index('line 498')}- line 498 日本\n500:{LONG.index('line 499')}: line 499 日本",
        ),
    ],
)
def test_the_arguments(client: Client, arguments: dict[str, Any], part: str) -> None:
    assert texts(client.reads(handle=client.handle(), **arguments))[0] == part


WRONG = [
    ({"handle": ""}, "handle is missing"),
    ({"handel": "x"}, "handle is missing; got 'handel'"),
    ({"handle": 7}, "handle must be a string"),
    ({"offset": 10**9}, f"offset is beyond the end: the result has {len(LONG):,} characters"),
    ({"offset": "x"}, "offset must be a whole number"),
    ({"pattern": "a", "path": "b"}, "give pattern or path, not both"),
    ({"pattern": "("}, "pattern is not a regular expression of Python: missing )"),
    ({"path": "/a"}, "path needs JSON"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_wrong_arguments_are_explained(client: Client, arguments: dict[str, Any], message: str) -> None:
    handle = {} if "handel" in arguments else {"handle": client.handle()}
    body = client.reads(**{**handle, **arguments})
    assert body["isError"] is True
    assert texts(body)[0].startswith(message)


def test_the_handle_may_be_the_uri_of_the_result(client: Client) -> None:
    handle = client.handle()
    assert client.reads(handle=f"search-mcp://result/{handle}") == client.reads(handle=handle)


@pytest.mark.parametrize("is_read_only", [True, False])
def test_an_expired_result_is_to_be_got_again_if_that_does_no_harm(client: Client, is_read_only: bool) -> None:
    shortening = Shortening(LIMIT, "files.read", is_read_only=is_read_only, has_link=False, keeps_structured=False)
    handle = client.handle(shortening=shortening)
    client.clock.pass_over(KEPT_SECONDS)
    assert client.files() == []
    body = client.reads(handle=handle)
    again = " Call files.read again to get it." if is_read_only else ""
    about = "a shortened result is deleted after an hour at the latest, and only the client that got it can read it."
    assert texts(body) == [f"There is no result '{handle}': {about}{again}"]
    assert body["isError"] is True


def test_a_file_that_was_deleted_to_make_room_counts_as_expired(client: Client) -> None:
    handle = client.handle()
    for path in client.files():
        path.unlink()
    for _ in range(2):
        body = client.reads(handle=handle)
        assert body["isError"] is True
        assert texts(body)[0].endswith("Call files.read again to get it.")


def test_no_client_reads_the_result_of_another_one(client: Client, tmp_path: Path) -> None:
    other = Client(tmp_path)
    handle = client.handle()
    body = other.reads(handle=handle)
    assert body["isError"] is True
    assert "Call" not in texts(body)[0]
    assert not client.reads(handle=handle).get("isError")


def test_readings_are_carried_out_one_after_another(tmp_path: Path) -> None:
    disk = Disk()
    client = Client(tmp_path, read=disk)
    handle = client.handle()
    for offset in (0, 10, 20):
        client.reads(handle=handle, offset=offset, length=3)
    assert len(disk.waiting) == 1
    disk.works()
    assert [texts(payload.value(each.raw()))[0] for each in client.outcomes if isinstance(each, Result)] == [
        LONG[offset : offset + 3] for offset in (0, 10, 20)
    ]


def test_a_bug_while_reading_is_answered(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = client.handle()
    monkeypatch.setattr(client_results, "boundary_before", lambda *_: 1 / 0)
    assert client.reads(handle=handle)["isError"] is True
