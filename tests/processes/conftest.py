"""Fixtures that write a configuration and serve it."""

import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from real.processes import VARIABLE

from processes.run import Json, Run

Serve = Callable[..., Run]


def write(run: Run, servers: dict[str, Json], **settings: Any) -> None:
    """Write the configuration of a run as an editor does: replace the file in one step.

    `confirmCommands` is false by default: in this file, which is not the user's own, new programs would be held.
    `engine` is "own", because most tests are about one process.
    """
    settings = {"confirmCommands": False, "engine": "own", **settings}
    mark = {VARIABLE: run.mark}
    marked = {name: {**entry, "env": {**mark, **entry.get("env", {})}} for name, entry in servers.items()}
    new = run.config.with_suffix(".new")
    new.write_text(json.dumps({"mcpServers": marked, "settings": settings}), encoding="utf-8")
    new.replace(run.config)


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """Return a function that makes a run for these servers; all share a home, and every child has its run's mark."""
    numbers = itertools.count(1)

    def make(
        servers: dict[str, Json],
        environment: dict[str, str] | None = None,
        options: Sequence[str] = (),
        **settings: Any,
    ) -> Run:
        run = Run(tmp_path, tmp_path / f"servers-{next(numbers)}.json", environment, options)
        # A first list waits until it is complete, even on a busy machine: as long as this client is assumed to
        # wait.
        write(run, servers, **{"firstListSeconds": 60, **settings})
        return run

    return make
