"""Fixtures of the tests with real peers: Node.js, and command lines of search-mcp."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any
from uuid import uuid4

import pytest
from fork_server import ForkServer, forked

from real import packages
from real.peers import Run

Aggregator = Callable[..., list[str]]


@pytest.fixture(scope="session", autouse=True)
def node() -> None:
    """Fail without Node.js where it must be installed (CI), skip where it may be missing."""
    if not packages.has_node():
        reason = "Node.js 20 or newer with npm is not on PATH, and most real peers are npm packages"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)


@pytest.fixture(scope="session")
def new_run(tmp_path_factory: pytest.TempPathFactory, server_fork_server: ForkServer | None) -> Callable[[], Run]:
    """Return a function that makes runs, each with a folder of a unique name."""
    return lambda: Run(tmp_path_factory.mktemp(f"run-{uuid4().hex[:12]}-"), server_fork_server)


@pytest.fixture(scope="session")
def aggregator(tmp_path_factory: pytest.TempPathFactory, fork_server: ForkServer | None) -> Aggregator:
    """Return a function that writes a configuration and returns the command line that serves it, in a fork.

    A first list waits until it is complete, even on a busy machine: as long as the client is assumed to wait.
    """
    return _aggregator(tmp_path_factory, fork_server)


@pytest.fixture(scope="session")
def aggregator_by_default(tmp_path_factory: pytest.TempPathFactory, fork_server: ForkServer | None) -> Aggregator:
    """Return the same function without `"engine": "own"`: its clients use an engine, which the test has to stop."""
    return _aggregator(tmp_path_factory, fork_server, {})


@pytest.fixture(scope="session")
def aggregator_to_end(tmp_path_factory: pytest.TempPathFactory) -> Aggregator:
    """Return the same function without forks, for tests of exits: the signals would reach a stand-in."""
    return _aggregator(tmp_path_factory, None)


def _aggregator(
    tmp_path_factory: pytest.TempPathFactory,
    fork_server: ForkServer | None,
    engine: Mapping[str, str] = MappingProxyType({"engine": "own"}),
) -> Aggregator:
    def command(servers: dict[str, Any], **settings: Any) -> list[str]:
        path = tmp_path_factory.mktemp("config") / "mcp-servers.json"
        whole = {"mcpServers": servers, "settings": {"firstListSeconds": 60, **engine, **settings}}
        path.write_text(json.dumps(whole), encoding="utf-8")
        return forked(fork_server, [sys.executable, "-m", "search_mcp", "serve", "--config", str(path)])

    return command
