"""Remedies for servers that failed to start."""

import sys

import pytest

from search_mcp.cli.checks.start_remedies import RUN_IT, of_failed
from search_mcp.config.schema import ServerConfig
from search_mcp.model.reasons import STDERR_TAIL_MARK

PYTHON = ServerConfig(name="x", command=sys.executable)


@pytest.mark.parametrize(
    ("stderr", "package"),
    [
        ("npm error code E404\nnpm error 404 Not Found - GET https://registry.example/npm/@a%2fb - Not found", "@a/b"),
        ("npm error notarget No matching version found for @a/b@99.0.0.", "@a/b@99.0.0"),
        ("ERROR: No matching distribution found for mcp-server-tmie", "mcp-server-tmie"),
        (
            "  `-> Because mcp-server-tmie was not found in the package\n      registry and you require",
            "mcp-server-tmie",
        ),
    ],
)
def test_a_misspelt_package_is_named(stderr: str, package: str) -> None:
    remedy = of_failed(PYTHON, f"it exited with code 1{STDERR_TAIL_MARK}{stderr}")
    assert remedy == f"no package '{package}' was found; check its name in the config file"


def test_any_other_failure_is_to_be_looked_at() -> None:
    remedy = of_failed(PYTHON, "it exited with code 1")
    assert remedy is not None
    assert remedy.startswith(RUN_IT)
