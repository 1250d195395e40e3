"""The `pair` fixture of all scenarios."""

from collections.abc import Generator, Iterator

import pytest

from conversations.eras import PAIRINGS
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


@pytest.fixture(params=PAIRINGS, ids=lambda each: f"{each[0]}+{each[1]}")
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    with Pair(*request.param) as pair:
        yield pair
        if not has_failed(request.node):
            pair.nothing_is_left()
