"""The limits of the processes of servers: one that has ended makes room for another."""

import os
import sys
from pathlib import Path

import anyio
import pytest

from search_mcp.backends.process.launching import Command, Spawner
from search_mcp.fronts.http import process_limits
from search_mcp.fronts.http.process_limits import ProcessLimits

WAITS = Command(sys.executable, ["-I", "-S", "-c", "input()"], dict(os.environ), None)
MISSING = Command(str(Path("missing").absolute()), [], {}, None)


@pytest.mark.parametrize(
    ("most_per_principal", "most", "said"), [(1, 9, "1 servers of this token"), (9, 1, "1 servers of all")]
)
def test_a_process_beyond_a_limit_is_not_started(
    most_per_principal: int, most: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_limits, "MOST_PER_PRINCIPAL", most_per_principal)
    monkeypatch.setattr(process_limits, "MOST_IN_ALL", most)

    async def main() -> None:
        anna = ProcessLimits(Spawner()).of("anna")
        with pytest.raises(FileNotFoundError):
            await anna(MISSING, lambda _data: None, lambda: None)
        ended = anyio.Event()
        first = await anna(WAITS, lambda _data: None, ended.set)
        with pytest.raises(OSError, match=said):
            await anna(WAITS, lambda _data: None, lambda: None)
        await first.stop()
        await ended.wait()
        await (await anna(WAITS, lambda _data: None, lambda: None)).stop()

    anyio.run(main)


def test_one_principal_does_not_use_up_the_processes_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_limits, "MOST_PER_PRINCIPAL", 1)

    async def main() -> None:
        limits = ProcessLimits(Spawner())
        for each in [await limits.of(name)(WAITS, lambda _data: None, lambda: None) for name in ("anna", "bob")]:
            await each.stop()

    anyio.run(main)
