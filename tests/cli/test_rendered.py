"""Whole screens, exactly as they are printed, 80 and 140 columns wide.

After an intended change: `UPDATE_SCREENS=1 .venv/bin/pytest tests/cli/test_rendered.py`, then read the difference.
"""

from pathlib import Path

import pytest

from cli.snapshots import compare
from search_mcp.cli import checkup
from search_mcp.cli.checkup import Examination, Finding
from search_mcp.cli.terminal import Terminal
from search_mcp.model import Era, Kind, Offer, Status
from search_mcp.profiles import CANONICAL

SCREENS = Path(__file__).parent / "screens"


@pytest.fixture(params=[80, 140])
def columns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setenv("COLUMNS", str(request.param))
    return int(request.param)


def _ready(name: str, seconds: float, tools: int, *others: int, slow: bool = False) -> Finding:
    offer = Offer("2025-11-25", Era.LEGACY, frozenset())
    counts = dict(zip(Kind, (tools, *others, 0, 0, 0), strict=False))
    status = Status(name, "ready", offer=offer, start_seconds=seconds)
    return Finding(status, counts, (), None, True, seconds if slow else None)


def _other(name: str, state: str, reason: str | None = None, remedy: str | None = None) -> Finding:
    return Finding(Status(name, state, reason), dict.fromkeys(Kind, 0), (), remedy, state == "disabled")


FOURTEEN = (
    _ready("time", 0.41, 2),
    _ready("git", 0.62, 12),
    _ready("filesystem", 1.24, 14),
    _ready("memory", 1.02, 9, 0, 1),
    _ready("everything", 1.91, 13, 4, 100, 2),
    _ready("context7", 6.53, 2, slow=True),
    _ready("playwright", 2.24, 1_021),
    _ready("postgres", 0.93, 1),
    _other(
        "github",
        "failed",
        "it exited with code 125; its last words: docker: Cannot connect to the Docker daemon at "
        "unix:///var/run/docker.sock. Is the docker daemon running?\n\nRun 'docker run --help' for more information",
        "to see more, run it yourself: docker run -i --rm ghcr.io/github/github-mcp-server",
    ),
    _other(
        "fetch",
        "failed",
        "program 'uvxx' was not found on PATH",
        "did you mean uvx? (uvx comes with uv: https://docs.astral.sh/uv)",
    ),
    _other("sentry", "failed", "it exited with code 1; its last words: Traceback ...\nKeyError: 'SENTRY_TOKEN'"),
    _other("puppeteer", "starting"),
    _other("linear", "disabled", "it is disabled in the configuration"),
    _other("notion", "disabled", "it is disabled in the configuration"),
)


def test_check_of_fourteen_servers(columns: int, capsys: pytest.CaptureFixture[str]) -> None:
    found = Examination(FOURTEEN, CANONICAL, [])
    checkup.report(found, [], Path("mcp-servers.json"), Terminal(), is_detailed=False)
    text = capsys.readouterr().out
    compare(SCREENS / f"check-{columns}.txt", text)
    assert max(map(len, text.splitlines())) <= columns
    assert text.count("\n") < 24


def test_check_of_one_server(columns: int, capsys: pytest.CaptureFixture[str]) -> None:
    found = Examination(FOURTEEN[8:9], CANONICAL, [])
    checkup.report(found, [], Path("mcp-servers.json"), Terminal(), is_detailed=True)
    compare(SCREENS / f"check-one-{columns}.txt", capsys.readouterr().out)
