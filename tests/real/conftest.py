"""What every test of real peers starts from: Node.js is there, and a command line of the server under test."""

import json
import os
import sys
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from real import packages
from real.peers import Run

Aggregator = Callable[..., list[str]]


@pytest.fixture(scope="session", autouse=True)
def node() -> None:
    """Fail without Node.js where it must be (CI), skip where it may be missing."""
    if not packages.has_node():
        reason = "Node.js 20 or newer with npm is not on PATH, and most real peers are npm packages"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)


@pytest.fixture(scope="session")
def new_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Run]:
    """Make runs, each with a folder whose name occurs nowhere else."""
    return lambda: Run(tmp_path_factory.mktemp(f"run-{uuid4().hex[:12]}-"))


@pytest.fixture(scope="session")
def aggregator(tmp_path_factory: pytest.TempPathFactory) -> Aggregator:
    """Write a config file with these servers and settings; the command line that serves it.

    A first list waits until it is whole, on a busy machine too: as long as the client is believed to wait.
    """

    def command(servers: dict[str, Any], **settings: Any) -> list[str]:
        path = tmp_path_factory.mktemp("config") / "mcp-servers.json"
        whole = {"mcpServers": servers, "settings": {"firstListSeconds": 60, **settings}}
        path.write_text(json.dumps(whole), encoding="utf-8")
        return [sys.executable, "-m", "search_mcp", "serve", "--config", str(path)]

    return command
