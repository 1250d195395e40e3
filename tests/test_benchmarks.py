"""The benchmarks run, check what they measure, and guard against a change that costs multiples."""

import json
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
    """What `run.py --json` writes, with the floor's figures for those of ours that are not given."""
    rows = {
        "second start, 1 backend: initialize": ("ms", 36.0),
        "second start, 10 backends: complete list": ("ms", 100.0),
        "small call, 1 backend: p50": ("ms", 0.14),
        "small call, 8 backends: p50": ("ms", 0.17),
        "calls a second, 64 in flight, 1 backend": ("/s", 12_000.0),
        "calls a second, 64 in flight, 8 backends": ("/s", 40_000.0),
        "10 MB result": ("ms", 75.0),
    }
    values = {"floor": {}, "search-mcp": ours}
    return json.dumps(
        {
            "readings": [
                {"row": row, "unit": unit, "subject": subject, "values": [given.get(row, figure)] * 2}
                for subject, given in values.items()
                for row, (unit, figure) in rows.items()
            ]
        }
    )


def test_nothing_became_several_times_slower() -> None:
    done = run("guard.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "small call, 1 backend: p50" in done.stdout


@pytest.mark.parametrize(
    ("row", "figure", "said"),
    [
        ("small call, 1 backend: p50", 2.8, "20.0 times the floor's, more than 4"),
        ("calls a second, 64 in flight, 8 backends", 400, "0.01 times the floor's, less than 0.08"),
    ],
)
def test_the_guard_sees_what_did(tmp_path: Path, row: str, figure: float, said: str) -> None:
    path = tmp_path / "readings.json"
    path.write_text(readings(**{row: figure}), "utf-8")
    done = run("guard.py", "--read", str(path))
    assert done.returncode == 1
    assert [line for line in done.stdout.splitlines() if row in line and said in line]
    assert len(done.stdout.splitlines()) == 1


def test_the_guard_is_content_with_the_floor(tmp_path: Path) -> None:
    path = tmp_path / "readings.json"
    path.write_text(readings(), "utf-8")
    assert run("guard.py", "--read", str(path)).returncode == 0


def test_one_command_gives_a_table_numbers_and_a_picture(tmp_path: Path) -> None:
    numbers, picture = tmp_path / "numbers.json", tmp_path / "picture.svg"
    measures = ["--measures", "import,list-size", "--subjects", "direct,floor,search-mcp", "--turns", "1", "--short"]
    done = run("run.py", *measures, "--json", str(numbers), "--plot", str(picture))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| 200 real tools, light list, tokens |" in done.stdout
    taken = {
        (each["row"], each["subject"]): each["values"] for each in json.loads(numbers.read_text("utf-8"))["readings"]
    }
    (whole,) = taken["200 real tools, full list", "direct"]
    (light,), (search,) = (taken[f"200 real tools, {listing} list", "search-mcp"] for listing in ("light", "search"))
    assert light < 0.3 * whole
    assert search < 600
    assert "200 real tools, light list" in picture.read_text("utf-8")


@pytest.mark.parametrize(
    "answers",
    [
        [{"id": 1, "result": {"content": [{"type": "text", "text": "something else"}]}}],
        [{"id": 1, "error": {"code": -32603, "message": "no"}}],
        [],
    ],
)
def test_wrong_answers_are_no_figures(answers: list[object]) -> None:
    """A server that is fast because it is broken must not win."""
    lines = [json.dumps(answer).encode() for answer in answers]
    check = f"import client; client.check_echoes({lines!r}, [1])"
    done = subprocess.run([sys.executable, "-c", check], cwd=BENCHMARKS, capture_output=True, text=True, timeout=300)
    assert "client.WrongAnswerError" in done.stderr


def test_what_is_unknown_is_said_with_what_there_is() -> None:
    done = run("run.py", "--measures", "speed")
    assert done.returncode == 2
    assert "speed: choose from start, hindered-start, small-call" in done.stderr
