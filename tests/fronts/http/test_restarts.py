"""Two replicas behind a load balancer, one of which ends: what its clients notice."""

import os
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import httpx2
import pytest
from processes.run import Json, server

from fronts.http.replicas import PLACE, Replica, Replicas, balanced, place
from fronts.http.serving import HttpClient, get, text

NAMES = [f"name-{number}" for number in range(8)]
QUIET = [f"quiet-{number}" for number in range(8)]
"""Names that do not call by themselves."""


class Caller(threading.Thread):
    """A client that calls a number of times, and further until `is_needed` is false."""

    def __init__(self, client: HttpClient, name: str, least: int, pause: float, *, is_legacy: bool) -> None:
        super().__init__()
        self._client, self._name, self._is_legacy = client, name, is_legacy
        self._least, self._pause = least, pause
        self.is_needed = True
        self.sessions = 0
        self.answered: list[str] = []
        self.failures: list[str] = []

    def run(self) -> None:
        with self._client:
            for number in count():
                if number >= self._least and not self.is_needed:
                    break
                time.sleep(self._pause)  # for others on this machine
                words = f"{self._name}/{number}"
                try:
                    assert text(self._call(words)) == words
                    self.answered.append(words)
                except (AssertionError, httpx2.HTTPError) as exc:
                    self.failures.append(f"{words}: {exc!r}")

    def _call(self, words: str) -> httpx2.Response:
        call: Json = {"name": "counts.echo", "arguments": {"words": words}}
        if not self._is_legacy:
            return self._client.asks("tools/call", **call)
        if self._client.session:
            answer = self._client.sends("tools/call", **call)
            if answer.status_code != 404:
                return answer
        # "When a client receives HTTP 404 in response to a request containing an `MCP-Session-Id`, it MUST start a new
        # session by sending a new `InitializeRequest` without a session ID attached."
        self._client.session = {}
        self._client.opens()
        self.sessions += 1
        return self._client.sends("tools/call", **call)


class Load:
    """Eight names that call through the balancer, half of them in sessions."""

    def __init__(self, folder: Path) -> None:
        self._counted = folder / "counted"
        counts = server("counts_calls", str(self._counted), share="all")
        late = server("waits_for_a_file", str(folder / "never"))
        self.replicas = Replicas(folder, {**PLACE, "counts": counts, "late": late})
        self._tokens = self.replicas.tokens(*NAMES, *QUIET)

    def begin(self, calls: int, pause: float = 0.05) -> None:
        self.callers = [
            Caller(self.client(name), name, calls // len(NAMES), pause, is_legacy=number % 2 == 0)
            for number, name in enumerate(NAMES)
        ]
        for each in self.callers:
            each.start()

    def client(self, name: str) -> HttpClient:
        return self.replicas.client(self._tokens[name])

    def names_of(self, replica: Replica) -> set[str]:
        """Return the names that a replica serves now."""
        return {name for name in QUIET if self._place(name) == replica.folder}

    def _place(self, name: str) -> Path:
        with self.client(name) as client:
            return place(client)

    def end(self) -> None:
        for each in self.callers:
            each.is_needed = False
        for each in self.callers:
            each.join()

    def carried_out(self) -> Counter[str]:
        """Return how often each call was carried out, by its words."""
        return Counter(self._counted.read_text("utf-8").split())

    @property
    def answered(self) -> list[str]:
        return [words for each in self.callers for words in each.answered]

    @property
    def failures(self) -> list[str]:
        return [failure for each in self.callers for failure in each.failures]


NIGHTLY = pytest.mark.figures


@pytest.fixture
def load(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Load]:
    """Two replicas behind the load balancer of the parameter."""
    made = Load(tmp_path)
    with made.replicas, balanced(tmp_path, made.replicas, request.param):
        yield made


@pytest.mark.parametrize(
    ("load", "calls", "pause"),
    [
        ("haproxy", 500, 0.05),
        pytest.param("haproxy", 10_000, 0.0, marks=NIGHTLY),
        pytest.param("envoy", 10_000, 0.0, marks=NIGHTLY),
    ],
    indirect=["load"],
)
def test_no_call_fails_when_a_replica_is_restarted(load: Load, calls: int, pause: float) -> None:
    replica = load.replicas.each[0]
    load.begin(calls, pause)
    try:
        names = load.names_of(replica)
        replica.end()
        assert not load.names_of(replica)
        replica.start()
        while load.names_of(replica) != names:  # until the balancer sends them back
            time.sleep(0.1)
    finally:
        load.end()
    assert_each_call_was_carried_out_once(load, calls)


def assert_each_call_was_carried_out_once(load: Load, calls: int) -> None:
    assert load.failures == []
    assert len(load.answered) >= calls
    assert load.carried_out() == Counter(load.answered)


@NIGHTLY
@pytest.mark.parametrize("load", ["nginx"], indirect=True)
def test_no_call_fails_when_a_replica_is_marked_as_down_before_its_restart(load: Load, tmp_path: Path) -> None:
    """nginx does not ask for readiness."""
    replica, file = load.replicas.each[0], tmp_path / "nginx.conf"
    written = file.read_text("utf-8")
    reload = ["nginx", "-e", "stderr", "-p", ".", "-c", str(file), "-s", "reload"]
    environment = {"PATH": f"{os.environ['PATH']}:/usr/sbin"}
    load.begin(10_000, 0.0)
    try:
        names = load.names_of(replica)
        file.write_text(written.replace(f":{replica.port};", f":{replica.port} down;"), "utf-8")
        subprocess.run(reload, cwd=tmp_path, env=environment, check=True)
        while load.names_of(replica):
            pass
        replica.end()
        replica.start()
        file.write_text(written, "utf-8")
        subprocess.run(reload, cwd=tmp_path, env=environment, check=True)
        while load.names_of(replica) != names:
            pass
    finally:
        load.end()
    assert_each_call_was_carried_out_once(load, 10_000)


@pytest.mark.parametrize(
    "load",
    ["haproxy", *(pytest.param(each, marks=NIGHTLY) for each in ("nginx", "envoy"))],
    indirect=True,
)
def test_calls_of_a_replica_that_is_killed_are_lost_and_not_repeated(load: Load) -> None:
    replica = load.replicas.each[0]
    statuses: list[int] = []

    def call(name: str) -> None:
        with load.client(name) as client:
            statuses.append(client.asks("tools/call", name="late.echo", arguments={}).status_code)

    load.begin(500)
    try:
        name = min(load.names_of(replica))
        calling = threading.Thread(target=call, args=(name,))
        calling.start()
        while f'open_requests{{principal="{name}"}}' not in get(f"{replica.server.health}/metrics").text:
            time.sleep(0.01)
        replica.die()
        calling.join()
        assert not load.names_of(replica)
    finally:
        load.end()
    assert statuses in ([502], [503])
    carried_out = load.carried_out()
    assert {*carried_out.values()} == {1}
    assert {*load.answered} <= carried_out.keys()
    assert len(load.failures) <= len(NAMES)  # the calls that were open
