"""Fixtures of the page's tests: homes with an engine, and visitors with browsers."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Browser
from processes.run import Json

from page.running import PageHome, Visitor, chromium, running_browser

collect_ignore_glob = ["test_*.py"] if sys.platform == "win32" else []  # it has no shared engine, so no page

NewHome = Callable[..., PageHome]
NewVisitor = Callable[..., Visitor]


@pytest.fixture
def new_home(tmp_path: Path) -> Iterator[NewHome]:
    """Return a function that makes a home with these servers; its engine starts with the first invitation."""
    yield from _homes(lambda: tmp_path / uuid4().hex[:8])


@pytest.fixture(scope="module")
def new_lasting_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NewHome]:
    """Return the same function for homes that the tests of a module share."""
    yield from _homes(lambda: tmp_path_factory.mktemp("lasting") / "home")


def _homes(new_folder: Callable[[], Path]) -> Iterator[NewHome]:
    with contextlib.ExitStack() as stack:

        def make(servers: dict[str, Json], **settings: Any) -> PageHome:
            folder = new_folder()
            folder.mkdir()
            return stack.enter_context(PageHome(folder, servers, **settings))

        yield make


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Run a Chromium for the tests of a module; these tests can run no event loop of their own."""
    program = chromium()
    if program is None:
        reason = "the page is tested in a browser, and no Chromium is on PATH (Debian: apt-get install chromium)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with running_browser(program) as running:
        yield running


@pytest.fixture
def new_visitor(browser: Browser) -> Iterator[NewVisitor]:
    """Return a function that makes a visitor; the test fails if its browser complains."""
    visitors: list[Visitor] = []

    def make(**options: Any) -> Visitor:
        visitors.append(Visitor(browser, **options))
        return visitors[-1]

    yield make
    assert [complaint for visitor in visitors for complaint in visitor.leaves()] == []


@pytest.fixture
def visitor(new_visitor: NewVisitor) -> Visitor:
    """A person with a browser."""
    return new_visitor()
