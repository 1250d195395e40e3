"""Edits of the configuration file while search-mcp runs."""

import pytest

from processes.conftest import Serve, write
from processes.run import Run, server

GOOD = server("well_behaved")


def test_an_edit_takes_effect_without_a_restart(serve: Serve) -> None:
    with serve({"one": GOOD}) as run:
        run.opens()
        run.asks("tools/list")
        write(run, {"one": GOOD, "two": GOOD})
        assert run.next()["method"] == "notifications/tools/list_changed"
        assert run.calls("two.echo", words="x") == "x"
        write(run, {"two": GOOD})
        assert run.next()["method"] == "notifications/tools/list_changed"
        assert run.is_refused("one.echo")["code"] == -32602
        assert run.calls("two.echo", words="y") == "y"


def test_an_edit_before_the_client_speaks_takes_effect(serve: Serve) -> None:
    with serve({"one": GOOD, "two": GOOD}) as run:
        run.logs("= configuration")
        write(run, {"two": GOOD})
        run.logs("the configuration changed")
        run.opens()
        assert [each["name"] for each in run.servers()] == ["two"]
    assert b"one: started" not in run.stderr


def test_a_broken_edit_keeps_running_servers_and_is_reported_once(serve: Serve) -> None:
    with serve({"one": GOOD}) as run:
        run.opens()
        run.asks("tools/list")
        broken = run.config.with_suffix(".broken")
        broken.write_text('{"mcpServers": {"one": ')
        broken.replace(run.config)
        run.logs("not valid JSON")
        assert run.calls("one.echo", words="still") == "still"
        told = run.asks("tools/call", name="list_servers")["structuredContent"]
        assert "not valid JSON" in told["configurationError"]
        write(run, {"one": GOOD, "two": GOOD})
        assert run.next()["method"] == "notifications/tools/list_changed"
        assert run.calls("two.echo", words="x") == "x"
        assert "configurationError" not in run.asks("tools/call", name="list_servers")["structuredContent"]
    assert run.stderr.count(b"not valid JSON") == 1


def test_an_edit_that_needs_a_restart_is_reported(serve: Serve) -> None:
    with serve({"one": GOOD}) as run:
        run.opens()
        run.asks("tools/list")
        write(run, {"one": GOOD}, maxMessageBytes=100_000)
        run.logs("maxMessageBytes")
        assert run.calls("one.echo", words="x" * 200_000) == "x" * 200_000
    (line,) = (line for line in run.stderr.splitlines() if b"maxMessageBytes" in line)
    assert b"restart" in line


@pytest.mark.parametrize(
    ("options", "before", "after", "is_debugged"),
    [
        ([], "debug", "error", False),
        ([], "error", "debug", True),
        (["--log-level", "debug"], "error", "error", True),
        (["--log-level", "error"], "info", "debug", False),
    ],
)
def test_the_log_level_is_the_edited_one_unless_the_command_line_names_one(
    serve: Serve, options: list[str], before: str, after: str, is_debugged: bool
) -> None:
    with serve({"one": GOOD}, options=options, logLevel=before) as run:
        run.opens()
        run.asks("tools/list")
        write(run, {"one": GOOD, "newcomer": GOOD}, logLevel=after)
        assert run.next()["method"] == "notifications/tools/list_changed"
        assert run.calls("newcomer.echo", words="x") == "x"
        if is_debugged:
            run.waits_until(lambda: is_in_debug_lines(run, b"newcomer"))
    assert is_in_debug_lines(run, b"newcomer") == is_debugged


def is_in_debug_lines(run: Run, name: bytes) -> bool:
    return any(b" DEBUG " in line and name in line for line in run.stderr.splitlines())
