"""The Python SDK's own interaction tests: all that pass with a server directly pass with search-mcp between.

The suite comes from the SDK's published source. Its tests of both revisions run in separate processes, and the
failures are compared with the expected ones. An expected failure that passes fails the test as well.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

import pytest
from real import packages

from interaction.exceptions import EXPECTED

SECONDS = 300  # for one part; it takes about 10 s on two cores, mostly waiting in tests that are expected to fail
PARTS = 2
# In these files every test uses the fixture that connects a client to a server; the others test a transport or HTTP.
FOLDERS = ("tests/interaction/lowlevel", "tests/interaction/mcpserver")
NOT_OF_THEM = "tests/interaction/lowlevel/test_timeouts.py"


def test_the_suite_passes_directly(tmp_path: Path) -> None:
    """This is the baseline for the next test."""
    outcomes = run(tmp_path / "report.xml", "--directly")
    assert [test for test, passed in outcomes if not passed] == []
    assert len(outcomes) > 200


@pytest.mark.parametrize("options", [(), ("--shared",)], ids=["alone", "shared"])
def test_through_search_mcp_only_the_explained_tests_fail(options: tuple[str, ...], tmp_path: Path) -> None:
    with ThreadPoolExecutor(PARTS) as pool:
        parts = pool.map(lambda part: run(tmp_path / f"{part}.xml", f"--part={part}/{PARTS}", *options), range(PARTS))
        outcomes = [outcome for part in parts for outcome in part]
    failed = {test for test, passed in outcomes if not passed}
    assert sorted(failed - EXPECTED) == []
    assert sorted(EXPECTED - failed) == [], "these pass: remove them from the exceptions"
    assert len(outcomes) > 200


def run(report: Path, *options: str) -> list[tuple[str, bool]]:
    """Run the suite, or a part of it; return each test's name with its revision, and whether it passed."""
    folder = packages.interaction()
    here = str(Path(__file__).parents[1])
    source = [str(folder / "src"), str(folder / "src" / "mcp-types"), here]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "interaction.between", "-p", "no:cacheprovider"),
            *("-W", "ignore", f"--ignore={NOT_OF_THEM}", f"--junit-xml={report}", *options),
            *FOLDERS,
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(source)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,  # its exit code is not 0 if a test fails
    )
    if done.returncode not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        pytest.fail(f"the suite did not run:\n{done.stdout[-3000:]}{done.stderr[-3000:]}", pytrace=False)
    print(done.stdout)
    return list(_outcomes(report))


def _outcomes(report: Path) -> Iterator[tuple[str, bool]]:
    for case in ElementTree.parse(report).iter("testcase"):
        test, _, cell = (case.get("name") or "").partition("[")
        revision = cell.removesuffix("]").partition("in-memory-")[2]
        yield f"{test} [{revision}]", not case.findall("failure") + case.findall("error")
