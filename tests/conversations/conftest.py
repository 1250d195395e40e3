"""The `pair` fixture of all scenarios."""

from collections.abc import Generator, Iterator

import pytest

from conversations.eras import PAIRINGS
from conversations.neighbour import is_played_alone
from conversations.pair import Pair

_failed = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[_failed] = item.stash.get(_failed, False) or report.failed
    return report


def has_failed(item: pytest.Item) -> bool:
    """Return whether a test failed before its fixtures end."""
    return item.stash.get(_failed, False)


ALWAYS = {
    "test_calls",
    "test_exactly_once",
    "test_listening",
    "test_progress",
    "test_questions",
    "test_tasks",
}
"""The modules that are played beside a busy client in every run; the others are with the mark `figures`."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "is_beside_a_busy_client" not in metafunc.fixturenames:
        return
    played = [pytest.param(False, id="alone")]
    is_nightly = metafunc.module.__name__.rpartition(".")[2] not in ALWAYS
    if not is_nightly or "figures" in metafunc.config.option.markexpr:  # each process would make and drop thousands
        played.append(pytest.param(True, id="beside", marks=pytest.mark.figures if is_nightly else ()))
    metafunc.parametrize("is_beside_a_busy_client", played)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = [item for item in items if not ("beside" in item.name.partition("[")[2] and is_played_alone(item.name))]


@pytest.fixture(params=PAIRINGS, ids=lambda each: f"{each[0]}+{each[1]}")
def pair(request: pytest.FixtureRequest, is_beside_a_busy_client: bool) -> Iterator[Pair]:
    with Pair(*request.param, is_beside_a_busy_client=is_beside_a_busy_client) as pair:
        yield pair
        if not has_failed(request.node):
            pair.nothing_is_left()
