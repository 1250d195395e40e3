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
LOGINS = {
    MODERN: (
        *("authorization-server-migration", "basic-cimd", "pre-registration", "resource-mismatch"),
        *("iss-normalized", "iss-not-advertised", "iss-supported", "iss-supported-missing", "iss-unexpected"),
        *("iss-wrong-issuer", "metadata-issuer-mismatch"),
        *("metadata-default", "metadata-var1", "metadata-var2", "metadata-var3"),
        *("offline-access-not-supported", "offline-access-scope"),
        *("scope-from-scopes-supported", "scope-from-www-authenticate", "scope-omitted-when-undefined"),
        *("scope-retry-limit", "scope-step-up"),
        *("token-endpoint-auth-basic", "token-endpoint-auth-none", "token-endpoint-auth-post"),
    ),
    LEGACY: (
        *("basic-cimd", "pre-registration"),
        *("metadata-default", "metadata-var1", "metadata-var2", "metadata-var3"),
        *("scope-from-scopes-supported", "scope-from-www-authenticate", "scope-omitted-when-undefined"),
        *("scope-retry-limit", "scope-step-up"),
        *("token-endpoint-auth-basic", "token-endpoint-auth-none", "token-endpoint-auth-post"),
    ),
    "": ("2025-03-26-oauth-endpoint-fallback", "2025-03-26-oauth-metadata-backcompat", "client-credentials-basic"),
}
"""The scenarios of logins, without `auth/` in front; those without a revision are older, or of extensions."""
OTHERS = {
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
SCENARIOS = [
    *((revision, each) for revision, names in OTHERS.items() for each in names),
    *((revision, f"auth/{each}") for revision, names in LOGINS.items() for each in names),
]
ALWAYS = {
    *((MODERN, f"auth/{each}") for each in ("authorization-server-migration", "basic-cimd", "iss-wrong-issuer")),
    *((MODERN, f"auth/{each}") for each in ("scope-step-up", "token-endpoint-auth-basic")),
    *((LEGACY, f"auth/{each}") for each in ("metadata-var2", "scope-step-up")),
    ("", "auth/2025-03-26-oauth-endpoint-fallback"),
}
"""Logins that are played in every run; the others take minutes, and are played with `-m figures`."""
MISSING = {
    "auth/client-credentials-jwt": "needs a library for signatures",
    "auth/dpop": "an extension that search-mcp does not have",
    "auth/dpop-nonce": "an extension that search-mcp does not have",
    "auth/enterprise-managed-authorization": "an extension that search-mcp does not have",
    "auth/wif-jwt-bearer": "an extension that search-mcp does not have",
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


@pytest.fixture(scope="module")
def serve(fork_server: ForkServer | None) -> list[str]:
    """The command that serves a configuration."""
    words = ["-m", "search_mcp", "serve"]
    return [sys.executable, *words] if fork_server is None else fork_server.command_line(words)


def suite(*words: str, **variables: str) -> str:
    """Run the suite; return its output."""
    environment = {**os.environ, "PYTHONPATH": TESTS, "NO_COLOR": "1", **variables}
    command = [*packages.conformance(), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=environment, check=False)
    except subprocess.TimeoutExpired as exc:
        pytest.fail(f"the suite did not end; it said: {exc.stdout!r} {exc.stderr!r}")
    return done.stdout + done.stderr


def play(
    scenario: str, revision: str, folder: Path, drivers: ForkServer | None, serve: list[str], **variables: str
) -> None:
    """Run a scenario; it must pass without a warning."""
    client = [driver.__file__]
    command = [sys.executable, *client] if drivers is None else drivers.command_line(client)
    options = ["--scenario", scenario, "--command", " ".join(command), "--output-dir", str(folder)]
    options += ["--spec-version", revision] if revision else []
    said = suite("client", *options, SERVE=json.dumps(serve), **variables)
    passed = re.search(r"Passed: (\d+)/\d+, 0 failed, (\d+) warnings", said)
    assert passed is not None, said
    assert int(passed[1]) > 0, said
    assert int(passed[2]) == (1 if LATE in said else 0), said
    assert "Client exited" not in said, said
    assert "TIMED OUT" not in said, said


@pytest.mark.parametrize(
    ("revision", "scenario"),
    [
        each if each in ALWAYS or not each[1].startswith("auth/") else pytest.param(*each, marks=pytest.mark.figures)
        for each in SCENARIOS
    ],
)
def test_a_scenario(
    revision: str, scenario: str, tmp_path: Path, node: object, drivers: ForkServer | None, serve: list[str]
) -> None:
    play(scenario, revision, tmp_path, drivers, serve)


@pytest.mark.parametrize("revision", [MODERN, LEGACY])
@pytest.mark.parametrize("scenario", ["auth/basic-cimd", "auth/scope-step-up"])
def test_a_scenario_in_which_the_client_opens_the_address(
    revision: str, scenario: str, tmp_path: Path, node: object, drivers: ForkServer | None, serve: list[str]
) -> None:
    play(scenario, revision, tmp_path, drivers, serve, OPENS_ADDRESSES="1")


def test_no_scenario_is_left_out(node: object) -> None:
    listed = re.findall(r"- (\S+) \[", suite("list", "--client"))
    assert {*listed} == {scenario for _, scenario in SCENARIOS} | MISSING.keys()
