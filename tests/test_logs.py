"""The log on stderr: a client that does not read it stalls nothing, and no line contains a secret."""

import json
import re
import subprocess
import sys

from search_mcp.logs import MOST_ALIKE

FLOOD = """
import logging, sys
from search_mcp import logs
with logs.to_stderr("INFO"):
    for number in range(50_000):
        logging.getLogger("x").info("a line of some length, number %d", number)  # each of a kind of its own
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


ALIKE = """
import logging
from search_mcp import logs
now = 0.0
with logs.to_stderr("INFO", clock=lambda: now):
    log = logging.getLogger("x")
    for number in range(100_000):
        log.warning("! %s: its question %d is refused", "bad", number)
        if number % 10_000 == 0:
            log.warning("! %s: its question %d is refused", "good", number)
    now = 60.0
    for number in range(1_000):
        log.warning("! %s: its question %d is refused", "bad", number)
    now = 120.0
    log.info("= something else")
    log.warning("! %s: its question %d is refused", "bad", 0)
"""


def test_lines_of_one_kind_about_one_server_are_counted_after_the_first_of_them() -> None:
    said = subprocess.run([sys.executable, "-c", ALIKE], capture_output=True, text=True, check=True).stderr
    lines = [line.partition(": ! ")[2] or line.partition(" x: ")[2] for line in said.splitlines()]
    assert [line for line in lines if "good" in line] == [
        f"good: its question {number} is refused" for number in range(0, 100_000, 10_000)
    ]
    assert [line for line in lines if "good" not in line] == [
        *(f"bad: its question {number} is refused" for number in range(MOST_ALIKE)),
        "bad: its question 0 is refused (and 99,980 more like it)",
        "bad: its question 0 is refused (and 1,000 more like it)",
        "= something else",
        "bad: its question 0 is refused (and 1 more like it)",
    ]


LONG = """
import logging, sys
from search_mcp import logs
with logs.to_stderr("INFO", lambda text: text[:5000] + text[-100:]):
    logging.getLogger("x").warning("! %s: %s", "bad", "y" * (32 << 20))
"""


def test_a_long_line_is_shortened_before_it_waits() -> None:
    said = subprocess.run([sys.executable, "-c", LONG], capture_output=True, text=True, check=True).stderr
    assert 5000 < len(said) < 6000


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


JSON = """
import logging
from search_mcp import logs
with logs.to_stderr("INFO", lambda text: text.replace("secret", "***"), as_json=True):
    logs.REQUEST.set("r-1")
    logging.getLogger("x").warning("! %s\\n\\x1b[31m", "a secret")
    logs.REQUEST.set("")
    try:
        raise ValueError("another secret")
    except ValueError:
        logging.getLogger("x").exception("! bug")
"""


def test_lines_can_be_json_objects() -> None:
    done = subprocess.run([sys.executable, "-c", JSON], capture_output=True, text=True, timeout=60, check=True)
    first, second = map(json.loads, done.stderr.splitlines())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first.pop("time"))
    assert first == {"level": "warning", "logger": "x", "message": "! a ***\n\x1b[31m", "request": "r-1"}
    assert (second["level"], second["message"]) == ("error", "! bug")
    assert second["traceback"].endswith("ValueError: another ***")
