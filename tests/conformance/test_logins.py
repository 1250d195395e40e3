"""The scenarios of logins in the official conformance suite, each at every revision that it is for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from real import packages

from conformance import login_client

SECONDS = 120

SCENARIOS = {
    "2026-07-28": (
        *("authorization-server-migration", "basic-cimd", "pre-registration", "resource-mismatch"),
        *("iss-normalized", "iss-not-advertised", "iss-supported", "iss-supported-missing", "iss-unexpected"),
        *("iss-wrong-issuer", "metadata-issuer-mismatch"),
        *("metadata-default", "metadata-var1", "metadata-var2", "metadata-var3"),
        *("offline-access-not-supported", "offline-access-scope"),
        *("scope-from-scopes-supported", "scope-from-www-authenticate", "scope-omitted-when-undefined"),
        *("scope-retry-limit", "scope-step-up"),
        *("token-endpoint-auth-basic", "token-endpoint-auth-none", "token-endpoint-auth-post"),
    ),
    "2025-11-25": (
        *("basic-cimd", "pre-registration"),
        *("metadata-default", "metadata-var1", "metadata-var2", "metadata-var3"),
        *("scope-from-scopes-supported", "scope-from-www-authenticate", "scope-omitted-when-undefined"),
        *("scope-retry-limit", "scope-step-up"),
        *("token-endpoint-auth-basic", "token-endpoint-auth-none", "token-endpoint-auth-post"),
    ),
    "": ("2025-03-26-oauth-endpoint-fallback", "2025-03-26-oauth-metadata-backcompat", "client-credentials-basic"),
}
"""By revision; those without one are older, or of extensions."""
MISSING = {
    "client-credentials-jwt": "needs a library for signatures",
    "dpop": "an extension that search-mcp does not have",
    "dpop-nonce": "an extension that search-mcp does not have",
    "enterprise-managed-authorization": "an extension that search-mcp does not have",
    "wif-jwt-bearer": "an extension that search-mcp does not have",
}
"""Scenarios that are not run, with the reason."""


def suite(*words: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "NO_COLOR": "1"}
    return subprocess.run(
        [*packages.conformance(), *words], capture_output=True, text=True, timeout=SECONDS, env=environment, check=False
    )


@pytest.mark.parametrize(
    ("revision", "scenario"), [(revision, each) for revision, scenarios in SCENARIOS.items() for each in scenarios]
)
def test_a_login(revision: str, scenario: str, tmp_path: Path, node: object) -> None:
    version = ("--spec-version", revision) if revision else ()
    command = f"{sys.executable} {login_client.__file__}"
    options = ("--command", command, "--output-dir", str(tmp_path), "--scenario", f"auth/{scenario}")
    done = suite("client", *options, *version)
    assert "OVERALL: PASSED" in done.stdout + done.stderr, done.stdout + done.stderr
    assert " 0 failed, 0 warnings" in done.stdout + done.stderr


def test_no_scenario_is_left_out(node: object) -> None:
    listed = suite("list", "--client").stdout
    found = {word.removeprefix("auth/") for word in listed.split() if word.startswith("auth/")}
    assert found == {each for scenarios in SCENARIOS.values() for each in scenarios} | MISSING.keys()
