"""A remote server behind the real mcp-remote, with an option that a native entry does not have."""

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from real import packages

from cli.conftest import SERVERS, Place

pytestmark = pytest.mark.skipif(not packages.has_node(), reason="there is no Node.js")


@pytest.fixture
def address() -> Iterator[str]:
    command = [sys.executable, str(SERVERS / "remote.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}/mcp"
        server.terminate()


def test_a_remote_server_is_added_checked_and_called(place: Place, address: str) -> None:
    args = ["-y", "mcp-remote", address, "--header", "Authorization:${HEADER}", "--authorize-param", "kept=1"]
    # In this folder npx finds mcp-remote without a network.
    entry = {"command": "npx", "args": args, "env": {"HEADER": "Bearer ${TOKEN}"}, "cwd": str(packages.bridge())}
    assert place.run("add", "web", "--json", json.dumps(entry)).code == 0
    ended = place.run("check", "--json", TOKEN="s3cret-token")
    assert ended.code == 0, ended.err
    assert [(server["name"], server["state"]) for server in ended.json["servers"]] == [("web", "ready")]
    ended = place.run("call", "web.credentials_sent", TOKEN="s3cret-token")
    assert (ended.code, ended.out) == (0, "Bearer s3cret-token\n"), ended.err
