"""The memory of process trees."""

import shutil
import subprocess
import sys

import pytest

from search_mcp.cli.engine import memory

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX only")

PARENT = """
import subprocess, sys
data = b"x" * (40 << 20)
child = "import sys; data = b'x' * (30 << 20); print('ready', flush=True); sys.stdin.read()"
subprocess.run([sys.executable, "-c", child])
"""


@pytest.mark.parametrize("platform", [sys.platform, "another"])
def test_the_memory_of_a_process_includes_that_of_the_processes_below_it(
    platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if platform != "linux" and shutil.which("ps") is None:
        pytest.skip("this system has no `ps`")
    monkeypatch.setattr(sys, "platform", platform)
    with subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdin is not None
        parent.stdout.readline()
        found = memory.of_trees([parent.pid])
        parent.stdin.close()
    assert 70 << 20 <= found[parent.pid] < 300 << 20
    assert memory.of_trees([parent.pid]) == {}
