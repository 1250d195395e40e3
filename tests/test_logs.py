"""A client that does not read our stderr stops nobody."""

import subprocess
import sys

FLOOD = """
import logging, sys
from search_mcp import logs
with logs.to_stderr("INFO"):
    for number in range(50_000):
        logging.getLogger("x").info("a line of some length, number %d", number)
    print("done", flush=True)
"""


def test_a_stderr_that_nobody_reads_does_not_stop_us() -> None:
    with subprocess.Popen([sys.executable, "-c", FLOOD], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.wait(60) == 0  # while its stderr is still unread
            assert process.stdout is not None
            assert process.stdout.read().strip() == b"done"
        finally:
            process.kill()
