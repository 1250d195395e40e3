"""The official conformance suite against `search-mcp serve --http`, with its reference server behind it."""

import sys
from pathlib import Path

import pytest
from fork_server import ForkServer, forked
from fronts.http.serving import HttpServer

from conformance import suite
from conformance.test_conformance import LEGACY, MODERN, MOST_RUNS, OF_LATER, REFERENCE, report


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_conforms_over_http(tmp_path: Path, revision: str, server_fork_server: ForkServer | None) -> None:
    program, *arguments = forked(server_fork_server, [sys.executable, REFERENCE])
    reference = {"command": program, "args": arguments, "prefix": ""}
    with HttpServer(tmp_path, {"reference": reference}, "--no-auth", listing="full") as running:
        for number in range(MOST_RUNS):
            folder = tmp_path / str(number)
            folder.mkdir()
            found = suite.run_at(running.url, revision, folder, running.environment)
            if not found.ran_out_of_time:
                break
    wrong = [each for each in found.checks if each.status not in ("SUCCESS", "INFO") and OF_LATER not in each.message]
    report([f"{each}" for each in wrong])
