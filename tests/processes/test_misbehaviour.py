"""A misbehaving backend delays and breaks no other backend."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from processes.conftest import Serve
from processes.run import Run, server
from search_mcp.logs import LONGEST_TEXT

GOOD = server("well_behaved")


@pytest.mark.parametrize(
    "name",
    ["exits_in_start", "hangs_in_start", "answers_nonsense", "garbage_on_stdout", "floods_stderr", "answers_twice"],
)
def test_a_bad_backend_affects_no_other(serve: Serve, name: str) -> None:
    with serve({"bad": server(name), "good": GOOD}, firstListSeconds=0.5) as run:
        run.opens()
        assert run.calls("good.echo", words="☃") == "☃"
        names = [tool["name"] for tool in run.asks("tools/list")["tools"]]
        assert {"good.echo", "search_tools"} <= set(names)
        assert run.states()["good"] == "ready"


@pytest.mark.parametrize("name", ["garbage_on_stdout", "floods_stderr", "answers_twice", "forks_a_grandchild"])
def test_a_bad_backend_whose_messages_can_be_read_is_served(serve: Serve, name: str) -> None:
    with serve({"bad": server(name)}) as run:
        run.opens()
        for words in ("one", "two"):
            assert run.calls("bad.echo", words=words) == words


def test_garbage_on_stdout_is_logged_and_not_relayed(serve: Serve) -> None:
    with serve({"bad": server("garbage_on_stdout")}) as run:
        run.opens()
        assert run.calls("bad.echo", words="x") == "x"
        run.logs("Server running on stdio")


def test_stderr_is_drained_while_a_call_runs(serve: Serve) -> None:
    with serve({"bad": server("floods_stderr")}) as run:
        run.opens()
        assert run.calls("bad.loud") == "loud"


def test_a_backend_that_hangs_in_start_is_given_up_after_its_time_limit(serve: Serve) -> None:
    with serve({"bad": server("hangs_in_start", startTimeoutSeconds=0.5)}, firstListSeconds=0.1) as run:
        run.opens()
        error = run.is_refused("bad.echo")
        assert error["code"] == -32000
        assert error["data"]["server"] == "bad"


def test_a_long_reason_is_shortened_in_every_state_and_error_and_on_disk(serve: Serve) -> None:
    with serve({"bad": server("long_errors", "initialize")}) as run:
        run.opens()
        error = run.is_refused("bad.echo")
        (state,) = run.servers()
        run.close_stdin()
        run.ended()
    (failure,) = run.folder.rglob("*.failed")
    assert "the cause" in error["data"]["reason"]
    assert "the cause" in state["lastError"]
    for each in (json.dumps(error), json.dumps(state), failure.read_text(), *run.stderr.decode().splitlines()):
        assert len(each) < 3 * LONGEST_TEXT


def test_a_long_reason_is_shortened_in_the_log(serve: Serve) -> None:
    with serve({"bad": server("long_errors", "tools/list")}) as run:
        run.opens()
        run.logs("the cause")
    assert max(map(len, run.stderr.splitlines())) < 2 * LONGEST_TEXT


def test_a_backend_that_reads_nothing_stops_no_other(serve: Serve) -> None:
    with serve({"bad": server("reads_nothing"), "good": GOOD}) as run:
        run.opens()
        run.asks("tools/list")
        run.sends("tools/call", name="bad.stop")
        for _ in range(20):  # more than its pipe holds
            run.sends("tools/call", name="bad.echo", arguments={"words": "x" * 100_000})
        assert run.calls("good.echo", words="still here") == "still here"
        run.process.terminate()  # the answers will never come


@pytest.mark.parametrize("code", [0, 1, 42])
def test_a_backend_that_dies_during_a_call_may_have_run_it_and_comes_back(serve: Serve, code: int) -> None:
    with serve({"bad": server("dies_during_a_call"), "good": GOOD}) as run:
        run.opens()
        run.asks("tools/list")
        error = run.is_refused("bad.die", code=code)
        assert error["code"] == -32000
        assert error["data"]["mayHaveRun"] is True
        assert f"code {code}" in error["data"]["reason"]
        assert "assertion failed" in error["data"]["reason"]
        assert run.calls("good.echo", words="x") == "x"
        assert run.calls("bad.echo", words="back") == "back"


def test_a_missing_command_is_named(serve: Serve) -> None:
    with serve({"bad": {"command": "no-such-command-anywhere"}, "good": GOOD}) as run:
        run.opens()
        assert run.calls("good.echo", words="x") == "x"
        error = run.is_refused("bad.echo")
        assert error["message"].startswith(
            "MCP server 'bad' is not running: program 'no-such-command-anywhere' was not"
        )
        assert "no-such-command-anywhere" in error["data"]["reason"]


def test_a_remote_server_that_cannot_be_reached_is_not_said_to_have_started(serve: Serve) -> None:
    with serve({"notion": {"url": "http://127.0.0.1:9/mcp"}}) as run:
        run.opens()
        run.is_refused("notion.search")
    assert b"= notion: connecting to http://127.0.0.1:9/mcp" in run.stderr
    assert b"notion: started" not in run.stderr


def test_a_missing_folder_is_named(serve: Serve) -> None:
    with serve({"bad": server("well_behaved", cwd="/no/such/folder"), "good": GOOD}) as run:
        run.opens()
        assert run.calls("good.echo", words="x") == "x"
        error = run.is_refused("bad.echo")
        assert error["message"].startswith("MCP server 'bad' is not running: ")
        assert "/no/such/folder" in error["data"]["reason"]


def test_a_file_that_is_no_program_is_named(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> None:
    program = tmp_path_factory.mktemp("bin") / "broken"
    program.write_bytes(b"\x7fELF nonsense")
    program.chmod(0o755)
    with serve({"bad": {"command": str(program)}, "good": GOOD}) as run:
        run.opens()
        assert run.calls("good.echo", words="x") == "x"
        assert "reason" in run.is_refused("bad.echo")["data"]


# Odd answers

ANSWERED = {
    "both, but the error is null": "both, but the error is null",
    "deep and nothing else": "deep and nothing else",
    "under other ids": "under other ids",
    "in crumbs": "☃☃",
    "with a carriage return": "with a carriage return",
    "between garbage": "between garbage",
    "in a batch": "in a batch",
}
REFUSED = [
    "both",
    "neither",
    "error is no object",
    "deep result",
    "deep result, cut short",
    "deep beside the result",
    "half a character",
]


@pytest.fixture
def odd(serve: Serve) -> Iterator[Run]:
    with serve({"odd": server("odd_answers"), "good": GOOD}) as run:
        run.opens()
        run.asks("tools/list")
        yield run
        assert run.calls("good.echo", words="x") == "x"
        assert run.calls("odd.echo", words="at last") == "at last"


@pytest.mark.parametrize("words", ANSWERED)
def test_an_odd_answer_that_can_be_understood_arrives(odd: Run, words: str) -> None:
    assert odd.calls("odd.echo", words=words) == ANSWERED[words]


@pytest.mark.parametrize("words", REFUSED)
def test_an_odd_answer_that_cannot_be_understood_is_an_error(odd: Run, words: str) -> None:
    assert odd.is_refused("odd.echo", words=words)["code"] == -32000


def test_odd_answers_to_many_calls_end_each_of_them_once(odd: Run) -> None:
    words = [*ANSWERED, *REFUSED] * 5
    ids = [odd.sends("tools/call", name="odd.echo", arguments={"words": each}) for each in words]
    answers = [odd.answer(each) for each in ids]
    assert ["error" in answer for answer in answers] == [each in REFUSED for each in words]


def test_an_unpaired_surrogate_arrives_in_a_form_that_any_client_can_read(odd: Run) -> None:
    result = odd.asks("tools/call", name="odd.echo", arguments={"words": "half a surrogate"})
    assert result == {"content": [], "x": "\N{REPLACEMENT CHARACTER}"}


def test_arguments_nested_too_deeply_are_refused_under_their_id(odd: Run) -> None:
    head = b'{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{"name":"odd.echo","arguments":'
    odd.log.sent(head + b"{}}}")  # its id could not be read from the other line
    assert odd.process.stdin is not None
    odd.process.stdin.write(head + b"[" * 100_000 + b"]" * 100_000 + b"}}\n")
    odd.process.stdin.flush()
    refusal = odd.next()
    assert (refusal["id"], refusal["error"]["code"]) == ("deep", -32700)


def test_a_last_answer_without_a_line_ending_arrives(serve: Serve) -> None:
    with serve({"bad": server("ends_without_a_newline")}) as run:
        run.opens()
        for words in ("one", "two"):  # a new process each time
            assert run.calls("bad.echo", words=words) == words


# Exits at any time


STAGES = [
    ("before", "notifications/initialized"),
    *(
        (when, method)
        for method in ("initialize", "tools/list", "tools/call")
        for when in ("before", "half-way", "after")
    ),
]


@pytest.mark.parametrize(("when", "method"), STAGES)
def test_a_backend_that_exits_at_any_stage_affects_no_other(serve: Serve, when: str, method: str) -> None:
    with serve({"bad": server("exits_at", when, method), "good": GOOD}, firstListSeconds=0.5) as run:
        run.opens()
        ids = [run.sends("tools/call", name="bad.echo", arguments={"words": "x"}) for _ in range(3)]
        for words in ("one", "two"):
            assert run.calls("good.echo", words=words) == words
        for each in ids:
            answer = run.answer(each)
            assert "result" in answer or answer["error"]["code"] == -32000


@pytest.mark.parametrize("descriptor", [0, 1])
def test_a_backend_that_closes_a_pipe_and_keeps_running_is_replaced(serve: Serve, descriptor: int) -> None:
    with serve({"bad": server("closes_a_pipe"), "good": GOOD}) as run:
        run.opens()
        run.asks("tools/list")
        error = run.is_refused("bad.close", descriptor=descriptor)
        assert error["data"]["mayHaveRun"] is True
        assert "closed its input or output" in error["data"]["reason"]
        assert run.calls("good.echo", words="x") == "x"
        assert run.calls("bad.echo", words="back") == "back"


def test_a_backend_that_dies_between_two_pages_of_its_list_is_listed_whole_or_not_at_all(
    serve: Serve, tmp_path: Path
) -> None:
    sign = tmp_path / "sign"
    with serve({"bad": server("breaks_off_its_list", str(sign)), "good": GOOD}, firstListSeconds=0.5) as run:
        run.opens()
        assert run.calls("good.echo", words="x") == "x"
        assert servers_listed(run) == {"good": 4}
        sign.touch()
        run.waits_until(lambda: "result" in run.answer(run.sends("tools/call", name="bad.echo", arguments={})))
        assert servers_listed(run) == {"bad": 4, "good": 4}


def servers_listed(run: Run) -> dict[str, int]:
    """Return the number of listed tools by server."""
    names = [tool["name"] for tool in run.asks("tools/list")["tools"]]
    return dict(Counter(name.split(".")[0] for name in names if "." in name))


# Sizes


def test_a_result_of_10_mb_arrives_whole(serve: Serve) -> None:
    with serve({"good": GOOD}) as run:
        run.opens()
        run.asks("tools/list")
        words = run.calls("good.big", size=10_000_000)
        assert words == "0123456789abcdef" * 625_000


def test_arguments_of_10_mb_arrive_whole(serve: Serve) -> None:
    with serve({"good": GOOD}) as run:
        run.opens()
        run.asks("tools/list")
        words = "0123456789abcdef" * 625_000
        assert run.calls("good.echo", words=words) == words


def test_a_line_over_64_mib_is_an_error_and_the_next_is_served(serve: Serve) -> None:
    with serve({"bad": server("huge_line")}) as run:
        run.opens()
        run.asks("tools/list")
        error = run.is_refused("bad.huge", size=65 << 20)
        assert error["code"] == -32000
        assert run.calls("bad.echo", words="next") == "next"


def test_a_smaller_limit_may_be_set(serve: Serve) -> None:
    with serve({"bad": server("huge_line")}, maxMessageBytes=100_000) as run:
        run.opens()
        run.asks("tools/list")
        assert len(run.calls("bad.huge", size=90_000)) == 90_000
        assert run.is_refused("bad.huge", size=110_000)["code"] == -32000
        run.writes(b'{"jsonrpc":"2.0","id":99,"method":"ping","params":{"x":"%b"}}\n' % (b"x" * 110_000))
        assert run.answer(99)["error"]["code"] == -32700  # its end was never read, but its id was
        assert run.calls("bad.echo", words="next") == "next"


# Environment of a child


def test_a_backend_has_its_own_environment_and_no_other(serve: Serve) -> None:
    one = server("well_behaved", env={"MINE": "one's", "TOKEN": "one's secret"})
    two = server("well_behaved", env={"TOKEN": "two's secret"})
    outside = {"AWS_SECRET_ACCESS_KEY": "the user's", "LANG": "C.UTF-8", "PASSED": "on request"}
    with serve({"one": one, "two": {**two, "inheritEnv": ["PASSED"]}}, outside) as run:
        run.opens()
        first, second = (json.loads(run.calls(f"{name}.environment")) for name in ("one", "two"))
    assert (first["MINE"], first["TOKEN"], first["LANG"]) == ("one's", "one's secret", "C.UTF-8")
    assert second["TOKEN"] == "two's secret"
    assert second["PASSED"] == "on request"
    assert "PASSED" not in first
    assert "MINE" not in second
    for environment in (first, second):
        assert {"PATH", "HOME"} <= environment.keys()
        assert "AWS_SECRET_ACCESS_KEY" not in environment


def test_placeholders_and_the_folder_are_the_entrys(serve: Serve) -> None:
    entry = server("well_behaved", cwd="${configDir}", env={"A": "${OUTSIDE}", "B": "${NOTHING:-default}"})
    with serve({"one": entry}, {"OUTSIDE": "from outside"}) as run:
        run.opens()
        environment = json.loads(run.calls("one.environment"))
        folder = run.calls("one.folder")
    assert (environment["A"], environment["B"]) == ("from outside", "default")
    assert folder == str(run.folder.resolve())


def test_no_message_and_no_log_line_shows_a_secret(serve: Serve) -> None:
    secret = "hunter2-is-a-secret"
    with serve({"bad": server("exits_in_start", env={"TOKEN": secret})}) as run:
        run.opens()
        reason = run.is_refused("bad.echo")["data"]["reason"]
        assert "code 3" in reason
        assert "the token *** was refused" in reason
        shown = run.servers()[0]["lastError"]
        assert "***" in shown
        assert secret not in shown
    assert secret.encode() not in run.stderr
