"""The official suite's scenarios for clients, with search-mcp between the suite's server and a stdio client.

Each runs at every revision that it is for; the client speaks the era of the revision (`driver.py`).
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fork_server import AVAILABLE, ForkServer
from real import packages

from conformance import driver

SECONDS = 120
TESTS = str(Path(__file__).parents[1])

LEGACY, MODERN = "2025-11-25", "2026-07-28"
SCENARIOS = {
    MODERN: (
        *("tools_call", "request-metadata", "sep-2322-client-request-state"),
        *("http-standard-headers", "http-custom-headers", "http-invalid-tool-headers"),
        *("json-schema-ref-no-deref", "json-schema-2020-12-preservation"),
    ),
    LEGACY: (
        *("initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"),
        "json-schema-2020-12-preservation",
    ),
}
"""By revision; those without one are older, or of extensions."""
MISSING = {
    "sep-2640-client-no-prefetch": "a skill's files are read by the client, and search-mcp passes them on",
    "sep-2640-client-verify-digest": "a skill's files are checked by the client that unpacks them",
    "sep-2640-client-verify-size": "a skill's files are checked by the client that unpacks them",
    "sep-2640-client-verify-frontmatter": "a skill's files are checked by the client that unpacks them",
}
"""Scenarios that are not run, with the reason."""
LATE = "reconnected slightly late"
"""A remark of `sse-retry` on a busy machine: more than 200 ms after the delay that its server asked for."""


@pytest.fixture(scope="module")
def drivers() -> Iterator[ForkServer | None]:
    if not AVAILABLE:
        yield None
        return
    server = ForkServer(["conformance.driver"], {**os.environ, "PYTHONPATH": TESTS, "PYTHONUTF8": "1"})
    yield server
    server.close()


def suite(*words: str, **variables: str) -> str:
    """Run the suite; return its output."""
    environment = {**os.environ, "PYTHONPATH": TESTS, "NO_COLOR": "1", **variables}
    command = [*packages.conformance(), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=environment, check=False)
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("revision", "scenario"), [(revision, each) for revision, scenarios in SCENARIOS.items() for each in scenarios]
)
def test_a_scenario(
    revision: str,
    scenario: str,
    tmp_path: Path,
    node: object,
    drivers: ForkServer | None,
    fork_server: ForkServer | None,
) -> None:
    client = [driver.__file__]
    command = [sys.executable, *client] if drivers is None else drivers.command_line(client)
    serve = ["-m", "search_mcp", "serve"]
    served = [sys.executable, *serve] if fork_server is None else fork_server.command_line(serve)
    version = ("--spec-version", revision) if revision else ()
    options = ("--scenario", scenario, "--command", " ".join(command), "--output-dir", str(tmp_path))
    said = suite("client", *options, *version, SERVE=json.dumps(served))
    passed = re.search(r"Passed: (\d+)/\d+, 0 failed, (\d+) warnings", said)
    assert passed is not None, said
    assert int(passed[1]) > 0, said
    assert int(passed[2]) == (1 if LATE in said else 0), said
    assert "Client exited" not in said, said
    assert "TIMED OUT" not in said, said


def test_no_scenario_is_left_out(node: object) -> None:
    listed = re.findall(r"- (\S+) \[", suite("list", "--client"))
    assert {each for each in listed if not each.startswith("auth/")} == {
        each for scenarios in SCENARIOS.values() for each in scenarios
    } | MISSING.keys()
