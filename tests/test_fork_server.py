"""The command line of a forked program behaves as the program does."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fork_server import ForkServer

WAITS = """
import os, pathlib, sys, time
pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def server(fork_server: ForkServer | None) -> ForkServer:
    if fork_server is None:
        pytest.skip("programs are not forked on this platform")
    return fork_server


LAST = """
import atexit, sys, threading
last = threading.Event()
atexit.register(print, "registered")
threading.Thread(target=lambda: (last.wait(), print("of a thread"))).start()
print("of the program", end=" ")
last.set()
"""


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("", 0),
        ("sys.exit()", 0),
        ("sys.exit(3)", 3),
        ("sys.exit('a reason')", 1),
        ("raise KeyError('a bug')", 1),
        ("sys.stdout.close()", 0),
        ("sys.stdout = None", 0),
    ],
)
def test_the_end_of_a_program(server: ForkServer, tmp_path: Path, end: str, code: int) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"{LAST if 'stdout' not in end else 'import sys'}\n{end}\n")
    forked, new = (
        subprocess.run(words, capture_output=True, encoding="utf-8", cwd=tmp_path, timeout=60)
        for words in (server.command_line([str(program)]), [sys.executable, "-X", "utf8", str(program)])
    )
    assert (forked.returncode, sorted(forked.stdout.split())) == (new.returncode, sorted(new.stdout.split()))
    assert forked.stderr.splitlines()[-1:] == new.stderr.splitlines()[-1:]
    assert new.returncode == code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["SIGTERM", "SIGKILL"])
def test_a_signal_to_the_stand_in_ends_the_program(server: ForkServer, tmp_path: Path, number: int) -> None:
    program, process = tmp_path / "program.py", tmp_path / "process"
    program.write_text(WAITS)
    with subprocess.Popen(server.command_line([str(program), str(process)]), stdout=subprocess.PIPE) as stand_in:
        assert stand_in.stdout is not None
        assert stand_in.stdout.readline() == b"ready\n"
        stand_in.send_signal(number)
        assert stand_in.stdout.read() == b""
        assert stand_in.wait(60) in (-number, 128 + number)
    assert not Path("/proc", process.read_text(), "exe").exists()
