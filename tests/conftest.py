"""Fixtures and settings of all tests, and their distribution among processes.

`--hypothesis-profile=explore` tries other examples each time.
"""

import asyncio
import gc
import os
import pkgutil
import re
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

import pytest
from fork_server import AVAILABLE, ForkServer
from hypothesis import settings
from real.processes import lasting_engines, stop_engines
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

import search_mcp

settings.register_profile("explore", deadline=None, print_blob=True)
settings.register_profile("repeat", parent=settings.get_profile("explore"), derandomize=True)
settings.load_profile("repeat")

# The tests start hundreds of interpreters, and without bytecode files each would compile its imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell without job control starts its background jobs with SIGINT ignored, which all programs of the tests inherit.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The tests that take longest. They start first, so that at the end no process works alone.
LONG = (
    "conformance/",
    "real/test_everything.py",
    "real/test_clients.py",
    "real/test_ai_clients.py",
    "distribution/",
    "docs/test_snippets.py",
    "test_readme.py",
    "processes/",
    "page/",
    "semantic/test_serve.py",
    "semantic/test_address_through_serve.py",
    "cli/",
    "loop_steps/",
    "interaction/",
    "real/",
    "docs/",
    "soak/",
    "test_benchmarks.py",
)
# Fixtures that start processes, in folders where other tests start none.
STARTERS = {"place", "new_home", "new_lasting_home"}
# Files with long tests that share no fixture: each test can run in any process.
INDEPENDENT = ("docs/test_snippets.py", "loop_steps/test_steps.py", "test_benchmarks.py", "test_readme.py")
# Files with a slow parametrized fixture, and its parameters: the tests of one parameter run in the same process.
PARAMETERS = {
    "conformance/test_conformance.py": r"\d+-\d+-\d+",
    "real/test_ai_clients.py": r"claude-code|codex|gemini-cli|opencode",
    "real/test_clients.py": r"(typescript|python)-\d(-(auto|legacy|modern)\b)?",
    "real/test_everything.py": r"(typescript|python)-\d-(legacy|modern)",
}


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return one more process than cores, because tests wait; return 0 for a single file, for a debugger."""
    alone = len(config.args) == 1 and ".py" in config.args[0]
    return 0 if alone else (os.cpu_count() or 1) + 1


class Groups(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Scheduler that runs all tests of a group in one process."""

    def _split_scope(self, nodeid: str) -> str:
        return _group(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Groups:
    return Groups(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _rank(_file(item.nodeid)))
    for item in items:
        if _is_fast(item):
            item.add_marker(pytest.mark.fast)
    if "figures" not in config.option.markexpr:
        chosen: list[pytest.Item] = []
        figures: list[pytest.Item] = []
        for item in items:
            (figures if item.get_closest_marker("figures") else chosen).append(item)
        items[:] = chosen
        config.hook.pytest_deselected(items=figures)


def pytest_collection_finish() -> None:
    """Keep the garbage collector from searching the 15,000 tests themselves each time, which takes a second."""
    gc.collect()
    gc.freeze()


def _is_fast(item: pytest.Item) -> bool:
    file = _file(item.nodeid)
    starts_nothing = isinstance(item, pytest.Function) and not STARTERS & {*item.fixturenames}
    return _rank(file) == len(LONG) or (file.startswith(("cli/", "page/")) and starts_nothing)


def _group(nodeid: str) -> str:
    file = _file(nodeid)
    if file in INDEPENDENT:
        return nodeid
    found = re.search(rf"\[({PARAMETERS[file]})", nodeid) if file in PARAMETERS else None
    return f"{file} {found[1]}" if found else file


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0].removeprefix("tests/")


@cache
def _rank(file: str) -> int:
    return next((rank for rank, path in enumerate(LONG) if file.startswith(path)), len(LONG))


@pytest.fixture(scope="session", autouse=True)
def folders_of_our_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Use temporary folders for caches, logs, configuration and engines, not those of the user who runs the tests."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="search-mcp-") as runtime:
        for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name.lower())))
        patch.setenv("XDG_RUNTIME_DIR", runtime)  # short, as the path of a socket has to be
        yield


@pytest.fixture(scope="module", autouse=True)
def no_engine_is_left(folders_of_our_own: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Fail if the tests of a module leave an engine behind, which would run for five minutes."""
    yield
    left = lasting_engines(str(tmp_path_factory.getbasetemp()))
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    assert not left, 'an engine is left: is a test about one process without `"engine": "own"`?'


@pytest.fixture
def engines_to_stop(folders_of_our_own: None) -> Iterator[None]:
    """Stop the engines that a test starts as a user does: by serving a configuration without `"engine"`."""
    yield
    stop_engines()


@pytest.fixture(autouse=True)
def no_watcher_of_a_closed_loop() -> Iterator[None]:
    """Forget a child watcher that a test left behind: Python 3.11 would use it in the next event loop and fail."""
    yield
    if sys.platform == "linux" and sys.version_info < (3, 12) and not asyncio.get_child_watcher().is_active():
        asyncio.set_child_watcher(asyncio.ThreadedChildWatcher())


UNMEASURED = ("conformance/", "distribution/", "interaction/", "real/", "soak/", "test_readme.py")
"""Tests whose processes are not measured for coverage: they take twice as long with it, and run what others run."""


@pytest.fixture(scope="module", autouse=True)
def coverage_of_processes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Keep coverage out of the processes that some tests start."""
    with pytest.MonkeyPatch.context() as patch:
        if _file(request.node.nodeid).startswith(UNMEASURED):
            patch.delenv("COVERAGE_PROCESS_START", raising=False)
        yield


@pytest.fixture(scope="session")
def fork_server(folders_of_our_own: None) -> Iterator[ForkServer | None]:
    """Fork server for commands of search-mcp; None on platforms without it."""
    found = pkgutil.walk_packages(search_mcp.__path__, "search_mcp.")
    yield from _fork_server([module.name for module in found if not module.name.endswith("__main__")])


@pytest.fixture(scope="session")
def server_fork_server(folders_of_our_own: None) -> Iterator[ForkServer | None]:
    """Fork server for servers written with the Python SDK; None on platforms without it."""
    yield from _fork_server(["mcp.server.stdio", "mcp.server.subscriptions", "mcp_server_git", "mcp_server_time"])


def _fork_server(modules: list[str]) -> Iterator[ForkServer | None]:
    if not AVAILABLE:
        yield None
        return
    server = ForkServer(modules, {**os.environ, "PYTHONUTF8": "1"})
    yield server
    server.close()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
