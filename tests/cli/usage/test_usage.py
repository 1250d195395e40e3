"""The record of tool calls as a person sees it: sums, files, and a record of real calls."""

import json
import os
import re
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import COMMAND, SECONDS, Place, server
from search_mcp.cli.usage.report import By, Wanted, summed_up
from search_mcp.cli.usage.usage import duration, size
from search_mcp.usage.ended_calls import Row
from search_mcp.usage.store import UsageStore

NOON = time.mktime((2026, 11, 1, 12, 0, 0, 0, 0, -1))
DAY = 86_400


def call(
    server: str = "alpha",
    tool: str = "echo",
    *,
    at: float = NOON,
    client: str = "a client",
    seconds: float = 0.5,
    ending: str = "ok",
    text: int | None = None,
    returned: int = 100,
) -> Row:
    return (at, client, server, tool, seconds, ending, 10, returned, text)


# Sums


def test_calls_are_summed_up_by_tool_the_most_used_first() -> None:
    calls = [call(), call("beta"), call("beta", text=9_000), call("", "search_tools"), call("", ""), call("beta", "")]
    rows = summed_up(calls, By.TOOL).rows
    assert [(each.name, each.count) for each in rows] == [
        ("beta.echo", 2),
        ("(no such tool)", 1),
        ("alpha.echo", 1),
        ("beta.(unknown tool)", 1),
        ("search_tools", 1),
    ]
    assert [each.as_json()["largestText"] for each in rows[:2]] == [9_000, None]
    assert rows[1].fields == {"server": None, "tool": None}


def test_calls_are_summed_up_by_server_and_by_client() -> None:
    calls = [call(), call("", "search_tools", client="another"), call("", "", client="another")]
    assert [each.name for each in summed_up(calls, By.SERVER).rows] == ["(no such tool)", "alpha", "search-mcp"]
    found = summed_up(calls, By.CLIENT)
    assert [(each.name, each.count) for each in found.rows] == [("another", 2), ("a client", 1)]
    assert (found.clients, found.servers) == (2, frozenset({"alpha"}))


def test_days_are_in_order_and_days_without_calls_are_drawn_too() -> None:
    found = summed_up([call(), call(at=NOON + 2 * DAY), call(at=NOON + 2 * DAY)], By.DAY)
    assert [(each.name, each.count) for each in found.rows] == [("2026-11-01", 1), ("2026-11-03", 2)]
    assert [each.count for each in found.days] == [1, 0, 2]


def test_percentiles_are_those_of_calls_with_a_result() -> None:
    quick = [call(seconds=number / 100) for number in range(1, 101)]
    others = [call(seconds=99, ending=ending) for ending in ("error", "lost", "cancelled", "unread task")]
    total = summed_up([*quick, *others], By.TOOL).total
    assert (total.seconds(0.5), total.seconds(0.95)) == (0.5, 0.95)
    assert (total.count, total.errors) == (104, 2)
    assert summed_up(others, By.TOOL).total.seconds(0.5) is None


def test_tokens_are_estimated(place: Place) -> None:
    place.configure({})
    store(place).write([call(at=time.time())])
    shown = " ".join(place.run("usage", COLUMNS="100").out.splitlines())
    assert re.search(r"~25  alpha\.echo .*Tokens: an estimate, one for 4 characters of a result", shown)
    assert place.run("usage", "--json").json["total"]["estimatedTokensOut"] == 25


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, ""),
        (0.00004, "0.0 ms"),
        (0.0014, "1.4 ms"),
        (0.00996, "10 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.0 s"),
        (9.96, "10 s"),
        (99.4, "99 s"),
        (99.6, "2 min"),
    ],
)
def test_a_duration_has_two_or_three_digits(seconds: float | None, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1.0k"),
        (9_960, "10k"),
        (999_400, "999k"),
        (999_600, "1.0M"),
        (2 * 10**9, "2.0G"),
    ],
)
def test_a_size_has_two_or_three_digits(count: int, shown: str) -> None:
    assert size(count) == shown


# The command


@pytest.fixture
def recorded(place: Place) -> Place:
    """A place with two servers, and with recorded calls of one."""
    place.configure({"alpha": server("toolbox"), "beta": server("toolbox"), "off": server("toolbox", enabled=False)})
    store(place).write(
        [
            call(at=time.time() - 60),
            call(at=time.time() - 50, ending="tool error", tool="evil\x1b[31m"),
            call(at=time.time() - 20 * DAY, client="another"),
        ]
    )
    return place


def store(place: Place) -> UsageStore:
    return UsageStore(Path(place.run("usage", "--json").json["file"]))


def test_the_command_sums_up_what_is_recorded(recorded: Place) -> None:
    ended = recorded.run("usage", COLUMNS="80")
    assert (ended.code, ended.err) == (0, "")
    assert "3 calls of 2 clients in the last 30 days, 1 error; the first on " in ended.out
    assert "\x1b" not in ended.out
    found = recorded.run("usage", "--json", "--days", "7").json
    assert found["total"]["calls"] == 2
    assert found["total"]["endings"] == {"ok": 1, "tool error": 1}
    assert (found["isRecording"], found["clients"]) == (True, 1)
    assert [each["tool"] for each in found["rows"]] == ["echo", "evil\x1b[31m"]
    assert [each["client"] for each in recorded.run("usage", "--json", "--by", "client").json["rows"]] == [
        "a client",
        "another",
    ]


def test_the_last_calls_are_listed_of_one_client_or_server(recorded: Place) -> None:
    ended = recorded.run("usage", "--last", "2", COLUMNS="80")
    assert (ended.code, ended.err) == (0, "")
    headings, latest, before = ended.out.splitlines()
    assert headings.split() == ["Time", "Client", "Took", "Outcome", "Tool"]
    assert latest.split()[2:] == ["a", "client", "500", "ms", "tool", "error", "alpha.evil"]
    assert before.split()[-2:] == ["ok", "alpha.echo"]
    (call,) = recorded.run("usage", "--last", "5", "--client", "another", "--json").json["calls"]
    assert (call["client"], call["server"], call["tool"], call["ending"]) == ("another", "alpha", "echo", "ok")
    assert recorded.run("usage", "--last", "5", "--server", "beta").out == (
        "No tool call to beta was recorded. Calls in the terminal are not recorded.\n"
    )


@pytest.mark.parametrize("name", ["anna", "n8n", "anna / n8n"])
def test_a_client_over_http_is_found_by_the_name_of_its_token_too(name: str) -> None:
    assert Wanted(name).includes(call(client="anna / n8n"))
    assert not Wanted(name).includes(call(client="ben / claude-code"))


def test_the_calls_of_one_client_or_server_are_summed_up(recorded: Place) -> None:
    store(recorded).write([call("beta", at=time.time(), client="claude-ai"), call("", "search_tools", at=time.time())])
    assert recorded.run("usage", "--client", "a client", "--json").json["total"]["calls"] == 3
    assert recorded.run("usage", "--server", "search-mcp", "--json").json["total"]["calls"] == 1
    desktop = recorded.run("usage", "--client", "claude-desktop", "--json").json  # it calls itself claude-ai
    assert [each["tool"] for each in desktop["rows"]] == ["echo"]
    rows = recorded.run("usage", "--by", "client,tool", "--server", "alpha", "--json").json["rows"]
    assert {(each["client"], each["tool"]) for each in rows} == {
        ("a client", "echo"),
        ("a client", "evil\x1b[31m"),
        ("another", "echo"),
    }
    nothing = recorded.run("usage", "--client", "x", "--server", "y").out
    assert nothing.startswith("No tool call to y by x was recorded in the last 30 days.")


def test_servers_are_called_unused_once_that_means_something(recorded: Place) -> None:
    assert recorded.run("check", "alpha", "beta").code == 0
    assert recorded.run("usage", "--json").json["neverUsed"] == []  # the file is new
    old = time.time() - 8 * DAY
    os.utime(recorded.config, (old, old))
    assert "  search-mcp disable beta\n" in recorded.run("usage").out
    assert recorded.run("usage", "--json").json["neverUsed"] == ["beta"]
    assert recorded.run("usage", "--json", "--days", "7").json["neverUsed"] == []
    assert recorded.run("usage", "--json", "--client", "another").json["neverUsed"] == []
    recorded.configure({"alpha": server("toolbox"), "beta": server("dying")})
    os.utime(recorded.config, (old, old))
    assert recorded.run("check", "beta").code == 1
    assert recorded.run("usage", "--json").json["neverUsed"] == []  # it could not be called


def test_tools_are_named_whose_results_were_longer_than_a_client_takes(recorded: Place) -> None:
    store(recorded).write([call(at=time.time(), client="claude-code", text=60_000)])
    (remark,) = recorded.run("usage", "--json").json["longResults"]
    assert remark.startswith("claude-code does not pass results of more than 50,000 characters to its model whole: ")
    assert "alpha.echo (60,000)" in remark
    assert remark in " ".join(recorded.run("usage", COLUMNS="80").out.split())


def test_an_empty_record_is_one_sentence(place: Place) -> None:
    place.configure({"alpha": server("toolbox")}, usage=False)
    ended = place.run("usage")
    assert ended.code == 0
    assert ended.out.startswith(
        "No tool call was recorded in the last 30 days. Calls in the terminal are not recorded.\n"
    )
    assert "disable" not in ended.out
    assert 'Calls are not recorded now ("usage": false).\n' in ended.out
    assert not Path(place.run("usage", "--json").json["file"]).parent.exists()


def test_the_file_of_earlier_calls_is_named_when_no_more_are_recorded(recorded: Place) -> None:
    recorded.configure({"alpha": server("toolbox")}, usage=False)
    path = recorded.run("usage", "--json").json["file"]
    ended = recorded.run("usage")
    assert f'Calls are not recorded now ("usage": false). Earlier ones are in {path}.' in " ".join(ended.out.split())


def test_calls_are_shown_without_a_configuration(recorded: Place) -> None:
    recorded.config.write_text("{")
    ended = recorded.run("usage", "--json")
    assert ended.code == 0
    assert "warning: " in ended.err
    assert (ended.json["total"]["calls"], ended.json["neverUsed"], ended.json["isRecording"]) == (3, [], None)
    assert recorded.run("usage", "--config", "nothing.json").code == 2


@pytest.mark.skipif(sys.platform == "win32", reason="has no such pipes in folders")
@pytest.mark.parametrize("ending", ["", "-journal", "-wal", "-shm"])
def test_a_pipe_in_the_place_of_the_record_is_not_waited_for(recorded: Place, ending: str) -> None:
    path = Path(recorded.run("usage", "--json").json["file"])
    pipe = path.with_name(path.name + ending)
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    ended = recorded.run("usage")
    assert ended.code == 1
    assert f"cannot be read: {pipe.name} is not a regular file; `search-mcp usage --clear` deletes it" in ended.err
    assert recorded.run("check").code == 0
    assert recorded.run("usage", "--clear").out == f"{path}: deleted\n"
    assert list(path.parent.iterdir()) == []


def test_the_name_of_a_server_does_not_control_the_terminal(recorded: Place) -> None:
    recorded.configure({"evil\x1b]0;title\x07\u202e": server("toolbox")})
    ended = recorded.run("usage")
    assert r"'evil\x1b]0;title\x07\u202e' has characters that cannot be printed" in ended.err
    assert not {"\x1b", "\x07", "\u202e"} & {*ended.out, *ended.err}


def test_a_file_that_cannot_be_read_is_a_problem_with_a_remedy(recorded: Place) -> None:
    path = Path(recorded.run("usage", "--json").json["file"])
    path.write_bytes(b"no database " * 1000)
    ended = recorded.run("usage")
    assert ended.code == 1
    assert "cannot be read: file is not a database; `search-mcp usage --clear` deletes it" in ended.err
    assert "Traceback" not in ended.err
    assert recorded.run("usage", "--clear").out == f"{path}: deleted\n"
    assert recorded.run("usage", "--clear").out == f"There is no record in {path}.\n"
    assert recorded.run("usage", "--json").json["total"]["calls"] == 0


def test_a_good_record_that_cannot_be_read_now_is_not_to_be_deleted(recorded: Place) -> None:
    path = Path(recorded.run("usage", "--json").json["file"])
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA user_version = 99")
    ended = recorded.run("usage")
    assert ended.code == 1
    assert ended.err.rstrip().endswith("use the search-mcp that wrote it, or a later one")


USAGE_MODULES = "import 'search_mcp.usage.client_usage"  # the beginning of their names, as PYTHONVERBOSE writes it
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "my client", "version": "1"}}


def serve(place: Place) -> str:
    """Serve a client that calls a tool of a server and one of search-mcp; return stderr, which has all imports."""
    calls: list[tuple[str, Any]] = [
        ("initialize", HELLO),
        ("tools/call", {"name": "alpha.echo", "arguments": {"text": "secret words"}}),
        ("tools/call", {"name": "list_servers", "arguments": {}}),
    ]
    stderr = place.folder / "stderr"
    with (
        stderr.open("wb") as errors,
        subprocess.Popen(
            [*COMMAND, "serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**place.variables, "PYTHONVERBOSE": "1"},
            cwd=place.folder,
        ) as client,
    ):
        assert client.stdin is not None
        assert client.stdout is not None
        for number, (method, params) in enumerate(calls):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            client.stdin.write(json.dumps(message).encode() + b"\n")
            client.stdin.flush()
            while "id" not in (answer := json.loads(client.stdout.readline())):
                pass
            assert "result" in answer
        client.communicate(timeout=SECONDS)
    return stderr.read_text(errors="replace")


def test_the_calls_of_a_real_client_are_recorded(place: Place) -> None:
    place.configure({"alpha": server("toolbox")})
    assert USAGE_MODULES in serve(place)
    found = place.run("usage", "--json").json
    rows = {each["tool"]: each for each in found["rows"]}
    assert rows.keys() == {"echo", "list_servers"}
    assert (rows["echo"]["server"], rows["echo"]["calls"]) == ("alpha", 1)
    assert rows["echo"]["charactersIn"] == len('{"text": "secret words"}')
    assert found["neverUsed"] == []
    assert place.run("usage", "--json", "--by", "client").json["rows"][0]["client"] == "my client"
    (file,) = Path(found["file"]).parent.iterdir()  # it was closed
    assert b"secret words" not in file.read_bytes()


def test_nothing_is_loaded_or_written_if_the_record_is_switched_off(place: Place) -> None:
    place.configure({"alpha": server("toolbox")}, usage=False)
    assert USAGE_MODULES not in serve(place)
    assert not Path(place.run("usage", "--json").json["file"]).parent.exists()
