"""A configuration is written and served."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from real.processes import VARIABLE

from processes.run import Json, Run

Serve = Callable[..., Run]


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """Make a run that serves these servers; every child carries the run's mark."""

    def make(servers: dict[str, Json], environment: dict[str, str] | None = None, **settings: Any) -> Run:
        path = tmp_path / "mcp-servers.json"
        run = Run(tmp_path, path, environment)
        marked = {name: {**entry, "env": {VARIABLE: run.mark, **entry.get("env", {})}} for name, entry in servers.items()}
        path.write_text(json.dumps({"mcpServers": marked, "settings": settings}), encoding="utf-8")
        return run

    return make
