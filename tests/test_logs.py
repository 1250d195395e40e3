"""The log on stderr: a client that does not read it stalls nothing, and no line contains a secret."""

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


def test_a_stderr_that_is_not_read_stops_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", FLOOD], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.wait(60) == 0  # while its stderr is still unread
            assert process.stdout is not None
            assert process.stdout.read().strip() == b"done"
        finally:
            process.kill()


WORDS = """
import logging
from search_mcp import logs
from search_mcp.config.schema import Config, ServerConfig, Settings
from search_mcp.gateway.reloading import LogSettings
server = ServerConfig(name="a", command="a", secrets=frozenset({"s3cret", "s4cret\\\\of two\\nlines"}))
log_to = LogSettings("info")
with logs.to_stderr(log_to.level(Config((server,), Settings(), ())), log_to.clean):
    log = logging.getLogger("x")
    log.info("it said %s", "s3cret\\n2026-01-01 INFO forged\\x1b[2Jline")
    log.info("and %s", "s4cret\\\\of two\\nlines")
    log.info("tagged %s", chr(0xe0041) + chr(0x200b) + chr(0x202e))
    try:
        raise ValueError("s3cret")
    except ValueError:
        log.exception("why")
"""


def test_no_line_holds_a_secret_or_more_than_text() -> None:
    said = subprocess.run([sys.executable, "-c", WORDS], capture_output=True, text=True, check=True).stderr
    assert "it said ***\\n2026-01-01 INFO forged\\x1b[2Jline" in said.splitlines()[0]
    assert "and ***" in said.splitlines()[1]
    assert r"tagged \u{e0041}\u{200b}\u{202e}" in said.splitlines()[2]
    assert "s3cret" not in said
    assert "Traceback" in said
