"""Starts with a closed standard stream: its file descriptor must not be reused for another file."""

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from processes.conftest import Serve
from processes.run import REVISION, SECONDS, server
from processes.test_endings import SPEAKS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="closed by the shell of POSIX")


def closing(streams: str, config: Path) -> Sequence[str]:
    """Return a command that starts `search-mcp serve` with streams closed by a shell."""
    command = [sys.executable, "-m", "search_mcp", "serve", "--config", str(config)]
    return ["/bin/sh", "-c", f'exec "$@" {streams}', "sh", *command]


TAKES_A_NUMBER = "kept = open(__file__)"
"""Stands in for a library that opens its own log before search-mcp starts."""


@pytest.mark.parametrize("site", ["", TAKES_A_NUMBER])
@pytest.mark.parametrize(
    ("streams", "missing"), [("<&-", "no stdin;"), (">&-", "no stdout;"), ("<&- >&-", "no stdin and no stdout;")]
)
def test_without_a_client_it_exits_and_names_the_command_that_installs_it(
    tmp_path: Path, streams: str, missing: str, site: str
) -> None:
    (tmp_path / "sitecustomize.py").write_text(site)
    ended = subprocess.run(
        closing(streams, tmp_path / "nothing.json"),
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    (sentence,) = ended.stderr.splitlines()
    assert missing in sentence
    assert "search-mcp install" in sentence


@pytest.mark.parametrize("site", ["", TAKES_A_NUMBER])
@pytest.mark.parametrize("streams", ["<&-", ">&-", "<&- >&-"])
def test_it_joins_no_engine_without_a_client(tmp_path: Path, streams: str, site: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(site)
    (tmp_path / "shared.json").write_text('{"mcpServers": {}, "settings": {"engine": "shared"}}')
    with tempfile.TemporaryDirectory(prefix="search-mcp-") as runtime:  # short, as the path of a socket has to be
        variables = {**os.environ, "PYTHONPATH": str(tmp_path), "XDG_RUNTIME_DIR": runtime}
        ended = subprocess.run(
            closing(streams, tmp_path / "shared.json"), env=variables, stdin=subprocess.DEVNULL, timeout=SECONDS
        )
        assert ended.returncode == 2
        assert not [*Path(runtime).rglob("*.sock")]


def test_with_all_streams_closed_the_exit_code_is_still_set(tmp_path: Path) -> None:
    assert subprocess.run(closing("<&- >&- 2>&-", tmp_path / "nothing.json"), timeout=SECONDS).returncode == 2


def test_without_stderr_it_serves_as_usual(serve: Serve, tmp_path: Path) -> None:
    """Node connects clients by sockets: output of libraries on stderr must not be written into one."""
    (tmp_path / "sitecustomize.py").write_text(SPEAKS)
    run = serve({"good": server("well_behaved")})
    hello = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "a client", "version": "1"}}
    asked = [
        {"id": 1, "method": "initialize", "params": hello},
        {"id": 2, "method": "tools/call", "params": {"name": "good.echo", "arguments": {"words": "x"}}},
        {"id": 3, "method": "nonsense"},
    ]
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b"".join(json.dumps({"jsonrpc": "2.0", **each}).encode() + b"\n" for each in asked))
        ours.shutdown(socket.SHUT_WR)
        ended = subprocess.run(
            closing("2>&-", run.config),
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            stdin=theirs.fileno(),
            stdout=subprocess.PIPE,
            timeout=SECONDS,
        )
        theirs.close()
        assert ours.recv(1) == b""
    assert ended.returncode == 0
    answers = {message["id"]: message for message in map(json.loads, ended.stdout.splitlines()) if "id" in message}
    assert answers.keys() == {1, 2, 3}
    assert answers[2]["result"]["content"][0]["text"] == "x"
