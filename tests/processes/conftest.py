"""A configuration is written and served."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from real.processes import VARIABLE

from processes.run import Json, Run

Serve = Callable[..., Run]


def write(path: Path, run: Run, servers: dict[str, Json], **settings: Any) -> None:
    """Write the configuration of a run, as an editor does: whole, under its name in one step."""
    mark = {VARIABLE: run.mark}
    marked = {name: {**entry, "env": {**mark, **entry.get("env", {})}} for name, entry in servers.items()}
    new = path.with_suffix(".new")
    new.write_text(json.dumps({"mcpServers": marked, "settings": settings}), encoding="utf-8")
    new.replace(path)


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """Make a run that serves these servers; every child carries the run's mark."""

    def make(servers: dict[str, Json], environment: dict[str, str] | None = None, **settings: Any) -> Run:
        path = tmp_path / "mcp-servers.json"
        run = Run(tmp_path, path, environment)
        # A first list that waits until it is whole, on a machine however busy.
        write(path, run, servers, **{"firstListSeconds": 60, **settings})
        return run

    return make
