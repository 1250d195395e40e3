"""One run of the official conformance suite: its scenarios at one revision, against one stdio server.

Starts the bridge in front of the server and the suite in front of the bridge, and reads what the suite wrote down.
What a result has to be is for the tests to say.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from real import packages

HERE = Path(__file__).parent
SKILLS = ("sep-2640-skills-enumeration", "sep-2640-skills-manifest", "sep-2640-skills-directory")
"""The scenarios of an extension belong to no revision, so they are run by name."""
OUT_OF_TIME = (
    "aborted due to timeout",
    "failed to yield frame structures",
    "Failed to receive progressive stream chunk execution frames",
    "Failed to open or receive frames",
    "tracking frames are missing completely",
    "carried no notification frames to inspect",
    "failed to return communication frames",
)
"""What the suite writes of a request whose answer, or first message of a stream, did not come in time."""
SECONDS = 240  # one run; they take 10 to 40 s on two cores

_FOLDER = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")


@dataclass(frozen=True)
class Check:
    """One thing a scenario looked at; `nth` tells those of the same name in one scenario apart."""

    scenario: str
    id: str
    name: str
    nth: int
    status: str
    message: str

    @property
    def key(self) -> tuple[str, str, str, int]:
        return self.scenario, self.id, self.name, self.nth

    def __str__(self) -> str:
        said = f": {self.message}" if self.message else ""
        return f"{self.scenario} / {self.name} [{self.id}] {self.status}{said}"


@dataclass(frozen=True)
class Report:
    """What came of one run: every check of every scenario, what was said on the pipes, and on stderr."""

    revision: str
    checks: tuple[Check, ...]
    lines: Path
    stderr: str

    @property
    def ran_out_of_time(self) -> bool:
        """Whether the suite did not wait for an answer any longer: it gives each a few seconds, or half a second."""
        return any(said in check.message for check in self.checks for said in OUT_OF_TIME)

    @property
    def scenarios(self) -> set[str]:
        return {check.scenario for check in self.checks}


def run(server: list[str], revision: str, folder: Path, environment: Mapping[str, str]) -> Report:
    """Run every scenario there is for a revision, at that revision, against a server."""
    errors = folder / "stderr.txt"
    with errors.open("wb") as stderr, _bridged(server, folder / "lines.txt", environment, stderr) as url:
        return run_at(url, revision, folder, environment)


def run_at(url: str, revision: str, folder: Path, environment: Mapping[str, str]) -> Report:
    """Run every scenario there is for a revision, at that revision, against a server at an address."""
    results = folder / "results"
    said = ""
    for chosen in (["--suite", "all"], *(["--scenario", each, "--force"] for each in SKILLS)):
        options = ["--url", url, *chosen, "--spec-version", revision, "--output-dir", str(results)]
        suite = subprocess.run(
            [*packages.conformance(), "server", *options],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env=dict(environment),
            check=False,  # it fails if a scenario does
        )
        said += suite.stdout + suite.stderr
    errors = folder / "stderr.txt"
    errors.touch()
    report = read(revision, folder)
    assert report.checks, f"the suite wrote down nothing:\n{said}\n{errors.read_text()}"
    return report


def read(revision: str, folder: Path) -> Report:
    """Read what a run left in its folder."""
    checks = tuple(check for path in sorted(folder.glob("results/*/checks.json")) for check in _checks(path))
    stderr = (folder / "stderr.txt").read_text(encoding="utf-8", errors="replace")
    return Report(revision, checks, folder / "lines.txt", stderr)


@contextmanager
def _bridged(server: list[str], lines: Path, environment: Mapping[str, str], stderr: IO[bytes]) -> Iterator[str]:
    """Serve a stdio server over HTTP for as long as the context lasts; gives its URL."""
    bridge = subprocess.Popen(
        [sys.executable, str(HERE / "bridge.py"), str(lines), *server],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=dict(environment),
    )
    assert bridge.stdin is not None and bridge.stdout is not None
    with bridge:
        try:
            yield f"http://localhost:{int(bridge.stdout.readline())}/mcp"
        finally:
            bridge.stdin.close()
            try:
                bridge.wait(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                bridge.kill()
                raise


def _checks(path: Path) -> Iterator[Check]:
    match = _FOLDER.fullmatch(path.parent.name)
    assert match is not None, path
    seen: dict[tuple[str, str], int] = {}
    for check in json.loads(path.read_text(encoding="utf-8")):
        same = check["id"], check["name"]
        seen[same] = seen.get(same, 0) + 1
        yield Check(match["scenario"], *same, seen[same], check["status"], check.get("errorMessage") or "")
