"""The benchmarks run, check the answers they time, and detect a change that multiplies a cost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the floor needs asyncio on pipes")


def run(script: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(BENCHMARKS / script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=1200)


def readings(**ours: float) -> str:
    """Return the output of `run.py --json`; figures not given are the floor's."""
    rows = {
        "second start, 1 backend: initialize": ("ms", 36.0),
        "second start, 10 backends: complete list": ("ms", 100.0),
        "small call, 1 backend: p50": ("ms", 0.14),
        "small call, 8 backends: p50": ("ms", 0.17),
        "calls a second, 64 in flight, 1 backend": ("/s", 12_000.0),
        "calls a second, 64 in flight, 8 backends": ("/s", 40_000.0),
        "processor time of a call, 64 in flight, 1 backend": ("µs", 45.0),
        "processor time of a call, 64 in flight, 8 backends": ("µs", 12.0),
        "10 MB result": ("ms", 75.0),
        "small remote call, answers in JSON: p50": ("ms", 0.9),
        "small remote call, answers in streams: p50": ("ms", 1.0),
        "remote calls a second, 64 in flight": ("/s", 1_200.0),
        "processor time of a remote call, 64 in flight": ("µs", 750.0),
        "start beside a client: initialize": ("ms", 45.0),
        "start of the first client: initialize": ("ms", 250.0),
        "small call of one of 6 clients: p50": ("ms", 0.3),
        "calls a second of 12 busy clients": ("/s", 6_000.0),
        "processor time of a call of 12 busy clients": ("µs", 60.0),
        "6 clients of 6 servers: memory of all processes": ("MB", 90.0),
        "6 clients of 6 servers: server processes": ("", 6.0),
        "6 clients of 6 servers: memory of the process that a client starts": ("MB", 7.0),
    }
    several = {
        "6 clients of 6 servers: memory of all processes": 300.0,
        "6 clients of 6 servers: server processes": 36.0,
    }
    values = {"floor": {}, "search-mcp": {**several, **ours}, "search-mcp-shared": ours}
    return json.dumps(
        {
            "readings": [
                {"row": row, "unit": unit, "subject": subject, "values": [given.get(row, figure)] * 2}
                for subject, given in values.items()
                for row, (unit, figure) in rows.items()
            ]
        }
    )


@pytest.mark.figures
def test_nothing_became_several_times_slower() -> None:
    done = run("guard.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "small call, 1 backend: p50" in done.stdout


@pytest.mark.parametrize(
    ("row", "figure", "said"),
    [
        ("small call, 1 backend: p50", 2.8, "20.0 times floor's, more than 4"),
        ("calls a second, 64 in flight, 8 backends", 400, "0.01 times floor's, less than 0.08"),
    ],
)
def test_the_guard_reports_a_figure_out_of_bounds(tmp_path: Path, row: str, figure: float, said: str) -> None:
    path = tmp_path / "readings.json"
    path.write_text(readings(**{row: figure}), "utf-8")
    done = run("guard.py", "--read", str(path))
    assert done.returncode == 1
    assert [line for line in done.stdout.splitlines() if row in line and said in line]
    assert len(done.stdout.splitlines()) == 1


def test_the_guard_accepts_the_figures_of_the_floor(tmp_path: Path) -> None:
    path = tmp_path / "readings.json"
    path.write_text(readings(), "utf-8")
    assert run("guard.py", "--read", str(path)).returncode == 0


def test_one_command_gives_a_table_and_numbers(tmp_path: Path) -> None:
    numbers = tmp_path / "numbers.json"
    measures = ["--measures", "import,list-size", "--subjects", "direct,floor,search-mcp", "--turns", "1", "--short"]
    done = run("run.py", *measures, "--json", str(numbers))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| 200 real tools, light list, tokens |" in done.stdout
    taken = {
        (each["row"], each["subject"]): each["values"] for each in json.loads(numbers.read_text("utf-8"))["readings"]
    }
    (whole,) = taken["200 real tools, full list", "direct"]
    (light,), (search,) = (taken[f"200 real tools, {listing} list", "search-mcp"] for listing in ("light", "search"))
    assert light < 0.3 * whole
    assert search < 700


def evaluated(code: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run code that imports the modules of the benchmarks."""
    command = [sys.executable, "-c", code]
    variables = {**os.environ, **environment}
    return subprocess.run(command, cwd=BENCHMARKS, env=variables, capture_output=True, text=True, timeout=300)


def answer(text: str) -> dict[str, object]:
    return {"id": 1, "result": {"content": [{"type": "text", "text": text}]}}


RIGHT = "hello, this is call number 1 – and it is of an ordinary length"
RESULT = {"content": [{"type": "text", "text": RIGHT}]}


@pytest.mark.parametrize(
    ("read", "answers"),
    [
        ("result_of", [answer("something else")]),
        ("result_of", [answer(json.dumps(RESULT))]),
        ("result_of", [{"id": 1, "error": {"code": -32603, "message": "no"}}]),
        ("result_of", []),
        ("result_within", [answer(RIGHT)]),
        ("result_within", [answer(json.dumps(RIGHT))]),
        ("result_within", [answer(json.dumps({**RESULT, "content": []}))]),
        ("result_within", [answer("Tool call failed")]),
        ("result_within", [{"id": 1, "error": {"code": -32603, "message": "no"}}]),
    ],
)
def test_a_wrong_answer_is_an_error(read: str, answers: list[object]) -> None:
    """A server that is fast because it is broken must not win."""
    lines = [json.dumps(answer).encode() for answer in answers]
    done = evaluated(f"import client; client.check_echoes({lines!r}, [1], client.{read})")
    assert "client.WrongAnswerError" in done.stderr


def taken(subject: str, measure: str, before: str = "") -> tuple[list[str], list[str]]:
    """Take a measure of a subject once; return the rows with figures, and the failures."""
    done = evaluated(f"""
import json, sys
import calls, client, readings, run, subjects
from dataclasses import replace
calls.PROCESSOR_CALLS = 100
{before}
taken, failures = run.take([{subject}], [{measure!r}], readings.Extent(1, (1,), 5, 60.0, (4,), (1,)))
print(json.dumps([[each.reading.row for each in taken], failures]))
""")
    assert done.returncode == 0, done.stderr
    rows, failures = json.loads(done.stdout)
    return rows, failures


BY_ONE_TOOL = """
def spell(server, tool, arguments, count):
    return {"name": "call_tool", "arguments": {"name": f"{server}.{tool}", "arguments": arguments}}

subject = replace(subjects.search_mcp(), spell=spell, listings=("search",))
"""


def test_a_subject_that_lists_no_tools_is_called_through_its_call_tool() -> None:
    rows = [
        f"{what} in flight, {backends}"
        for backends in ("1 backend", "8 backends")
        for what in ("calls a second, 4", "processor time of a call, 64")
    ]
    assert taken("subject", "throughput", BY_ONE_TOOL) == (rows, [])


SMALL_REMOTE_CALLS = [
    f"small remote call, {kind}: {part}"
    for kind in ("answers in JSON", "answers in streams", "modern server")
    for part in ("p50", "p99")
]


PROCESSOR_TIME = "processor time of a remote call, 64 in flight"


@pytest.mark.parametrize(
    ("subject", "measure", "rows"),
    [
        ("direct", "remote-call", SMALL_REMOTE_CALLS),
        ("direct", "remote-throughput", ["remote calls a second, 4 in flight"]),
        ("direct", "remote-result", ["1 MB remote result"]),
        ("floor", "remote-throughput", ["remote calls a second, 4 in flight", PROCESSOR_TIME]),
        ("search_mcp", "remote-call", SMALL_REMOTE_CALLS),
        ("search_mcp", "remote-result", ["1 MB remote result"]),
    ],
)
def test_a_remote_server_is_called(subject: str, measure: str, rows: list[str]) -> None:
    measured, failures = taken(f"subjects.{subject}()", measure)
    assert not failures
    assert [row for row in measured if "peak memory" not in row] == rows


SHARED_STARTS = [
    *(f"start of the first client: {what}" for what in ("initialize", "complete list")),
    *(f"start beside a client: {what}" for what in ("initialize", "complete list", "time to end")),
]


def test_starts_beside_a_running_engine_are_measured() -> None:
    assert taken("subjects.search_mcp_shared()", "shared-start") == (SHARED_STARTS, [])


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts shared pages once")
def test_clients_of_one_engine_have_one_process_of_each_server() -> None:
    done = evaluated("""
import run, subjects
from readings import SHORT
from dataclasses import replace
taken, failures = run.take([subjects.search_mcp_shared()], ["shared-memory"], replace(SHORT, turns=1))
print([each.reading.value for each in taken if each.reading.row.endswith(": server processes")], failures)
""")
    assert done.stdout.strip() == "[6, 6, 6] []", done.stderr


def odd(program: str, **facts: object) -> str:
    """Return code that makes a subject of a misbehaving backend, with `facts` as its attributes."""
    whole = f"import sys; sys.path.insert(0, {str(BENCHMARKS)!r}); import backend\n{program}"
    return f"""
def command(path, home):
    return sys.executable, "-c", {whole!r}

subject = subjects.Subject("odd", command, subjects.direct().spell, **{facts!r})
"""


DEAF = "import time; backend.main(); time.sleep(3600)"


def test_a_subject_that_does_not_end_has_no_figures() -> None:
    rows, (failure,) = taken("subject", "start", odd(DEAF) + "subjects.END_SECONDS = 0.1")
    assert rows == []
    assert "odd, start: still there 0.1 s after its stdin was closed" in failure


def test_a_subject_that_fails_late_has_no_figures() -> None:
    late = """
def measure(subject, extent, folder):
    yield [readings.Reading("fast", "ms", 0.1)]
    raise client.WrongAnswerError("too fast")

run.MEASURES = {"measure": measure}
"""
    assert taken("subjects.floor()", "measure", late) == ([], ["floor, measure: too fast"])


def test_an_unknown_measure_is_refused_with_the_known_ones() -> None:
    done = run("run.py", "--measures", "speed")
    assert done.returncode == 2
    assert "speed: choose from start, hindered-start, small-call" in done.stderr


@pytest.mark.figures  # installs six servers
@pytest.mark.skipif(sys.platform != "linux", reason="memory that processes share is counted on Linux only")
def test_clients_share_the_real_servers_that_keep_nothing() -> None:
    done = run("real_servers.py")
    assert done.returncode == 0, done.stderr
    rows = {row: ratio for row, *_, ratio in (line.strip("| ").split(" | ") for line in done.stdout.splitlines()[2:])}
    assert float(rows["memory of time, fetch, memory, git, MB"]) <= 1 / 3
