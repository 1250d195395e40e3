"""Windows job objects: the requests to Windows, and the effect of a refusal."""

import signal
import subprocess
import sys
from dataclasses import dataclass, field

import pytest

from search_mcp.backends.process.job_objects import JobTrees


@dataclass
class Recorded:
    """A record of the calls, in order; the calls named in `refuses` raise."""

    refuses: tuple[str, ...] = ()
    asked: list[tuple[object, ...]] = field(default_factory=list)
    _made: int = 0

    def create(self) -> int:
        self._ask("create")
        self._made += 1
        return self._made

    def take_us(self, job: int) -> None:
        self._ask("take_us", job)

    def take(self, job: int, pid: int) -> None:
        self._ask("take", job, pid)

    def terminate(self, job: int) -> None:
        self._ask("terminate", job)

    def close(self, job: int) -> None:
        self._ask("close", job)

    def _ask(self, *what: object) -> None:
        self.asked.append(what)
        if what[0] in self.refuses:
            raise OSError(5, "Access is denied")


def test_we_are_in_a_job_before_the_first_child_starts() -> None:
    objects = Recorded()
    jobs = JobTrees(objects)
    jobs.start()
    jobs.start()
    assert objects.asked == [("create",), ("take_us", 1)]


def test_a_child_has_a_job_of_its_own_until_it_is_gone() -> None:
    objects = Recorded()
    jobs = JobTrees(objects)
    jobs.watch(100)
    jobs.watch(200)
    jobs.signal(100, signal.SIGTERM)
    jobs.dismiss(100)
    jobs.dismiss(100)
    assert objects.asked == [
        *[("create",), ("take", 1, 100)],
        *[("create",), ("take", 2, 200)],
        *[("terminate", 1), ("close", 1)],
    ]


@pytest.mark.parametrize("refuses", ["create", "take_us"])
def test_children_are_started_even_if_we_get_no_job(refuses: str, caplog: pytest.LogCaptureFixture) -> None:
    JobTrees(Recorded((refuses,))).start()
    assert "Access is denied" in caplog.text


@pytest.mark.parametrize("refuses", ["create", "take"])
def test_a_child_without_a_job_is_ended_alone(refuses: str) -> None:
    objects = Recorded((refuses,))
    jobs = JobTrees(objects)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        jobs.watch(child.pid)
        jobs.signal(child.pid, signal.SIGTERM)
        assert child.wait(30) != 0
        jobs.dismiss(child.pid)
    assert [what for what, *_ in objects.asked] == (["create"] if refuses == "create" else ["create", "take", "close"])


def test_a_refusal_of_windows_at_the_end_is_ignored() -> None:
    jobs = JobTrees(Recorded(("terminate", "close")))
    jobs.watch(100)
    jobs.signal(100, signal.SIGTERM)
    jobs.dismiss(100)
