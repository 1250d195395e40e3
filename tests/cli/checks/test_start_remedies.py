"""Remedies for servers that failed to start."""

import sys

from search_mcp.cli.checks.start_remedies import RUN_IT, of_failed
from search_mcp.config.schema import ServerConfig
from search_mcp.model.reasons import STDERR_TAIL_MARK

PYTHON = ServerConfig(name="x", command=sys.executable)


def test_a_misspelt_package_is_named() -> None:
    stderr = "  `-> Because mcp-server-tmie was not found in the package\n      registry and you require"
    remedy = of_failed(PYTHON, f"it exited with code 1{STDERR_TAIL_MARK}{stderr}")
    assert remedy == "package 'mcp-server-tmie' was not found; check its name, its version, and your access to it"


def test_any_other_failure_is_to_be_looked_at() -> None:
    remedy = of_failed(PYTHON, "it exited with code 1")
    assert remedy is not None
    assert remedy.startswith(RUN_IT)
