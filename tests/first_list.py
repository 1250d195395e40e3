"""The shortest client session: open, list the tools, list them again after a change, close."""

import itertools
import json
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

SECONDS = 300.0
"""Time limit for the expected tools; their servers start at their own speed."""


def visit(
    command: Sequence[str], client: str, wanted: set[str], *, folder: Path, environment: Mapping[str, str]
) -> None:
    """Start a server as a client of this name and wait until its list has the wanted tools.

    Raises:
        AssertionError: the tools did not come in time, or the exit code is not 0.
    """
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env=environment, encoding="utf-8"
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        give_up = threading.Timer(SECONDS, server.kill)
        give_up.start()
        try:
            _wait_for_tools(server.stdin, server.stdout, client, wanted)
            server.stdin.close()
            assert server.wait() == 0
        finally:
            give_up.cancel()
            server.kill()


def _wait_for_tools(stdin: IO[str], stdout: IO[str], client: str, wanted: set[str]) -> None:
    ids = itertools.count(1)
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": client, "version": "1"}}
    _say(stdin, {"id": 0, "method": "initialize", "params": hello})
    _say(stdin, {"method": "notifications/initialized"})
    _say(stdin, {"id": next(ids), "method": "tools/list"})
    for line in stdout:
        message = json.loads(line)
        assert "error" not in message, message
        if message.get("method") == "notifications/tools/list_changed":
            _say(stdin, {"id": next(ids), "method": "tools/list"})
        elif wanted <= {tool["name"] for tool in message.get("result", {}).get("tools", ())}:
            return
    raise AssertionError(f"it ended, or was ended after {SECONDS:g} s, and never listed {wanted}")


def _say(stdin: IO[str], message: dict[str, Any]) -> None:
    stdin.write(f"{json.dumps({'jsonrpc': '2.0', **message})}\n")
    stdin.flush()
