"""Processes that the reaper's shell kills after search-mcp exited, and those it leaves alone."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has job objects")

STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
time.sleep(60)
print("survived", flush=True)
"""
STARTS_ONE = f"""
import subprocess, sys
from search_mcp.backends.process.reaper import Reaper
reaper = Reaper()
reaper.start()
with reaper.expecting() as announce:
    subprocess.Popen(
        [sys.executable, "-c", {STUBBORN!r}], start_new_session=True, preexec_fn=announce, stdin=subprocess.PIPE
    ).wait()
"""
FORGETS = """
import contextlib, os, subprocess
from search_mcp.backends.process.reaper import Reaper
reaper = Reaper()
reaper.start()
end, held = os.pipe()
@contextlib.contextmanager
def born(script, descriptor):
    with reaper.expecting() as announce:
        options = {"start_new_session": True, "preexec_fn": announce, "pass_fds": [descriptor]}
        yield subprocess.Popen(["sh", "-c", script], **options)
with born("sleep 60; echo kept", held):
    pass
with born(f"cat <&{end}; echo dismissed", end) as dismissed:
    reaper.dismiss(dismissed.pid)
with contextlib.suppress(OSError), born(f"cat <&{end}; echo given up", end):
    raise OSError
with contextlib.suppress(OSError), reaper.expecting():
    raise OSError  # before any child was there
"""


def test_a_child_whose_pid_we_never_received_is_killed_after_our_end() -> None:
    """search-mcp is killed right after it started a child that ignores EOF on its stdin, and SIGTERM."""
    with subprocess.Popen([sys.executable, "-c", STARTS_ONE], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"up\n"
        parent.kill()
        assert parent.stdout.read() == b""  # EOF comes when the child has exited


def test_a_dismissed_or_abandoned_child_is_not_killed() -> None:
    """The other two see the exit of the third, and report it."""
    run = subprocess.run([sys.executable, "-c", FORGETS], stdout=subprocess.PIPE, check=True)
    assert sorted(run.stdout.splitlines()) == [b"dismissed", b"given up"]
