"""The socket of an engine process: what happens at the limit of open files."""

import asyncio
import errno
import socket
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest

from search_mcp.engine.process import Socket

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="the sockets of POSIX"),
]


class Full(socket.socket):
    """A socket of a process that may open no more files."""

    refusals = 0
    refused: asyncio.Event

    def accept(self) -> NoReturn:
        self.refusals += 1
        self.refused.set()
        raise OSError(errno.EMFILE, "Too many open files")


async def test_a_connection_that_cannot_be_accepted_is_tried_once_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a relative path is short enough for a socket
    logged: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, context: logged.append(context))
    with Full(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as client:
        listening.refused = asyncio.Event()
        listening.bind("one.sock")
        listening.setblocking(False)
        listening.listen(1)
        engine = Socket(listening)
        await engine.start(lambda _connection, _line: None)
        client.connect("one.sock")
        await listening.refused.wait()
        await asyncio.sleep(0)
        assert listening.refusals == len(logged) == 1
        engine.close()
