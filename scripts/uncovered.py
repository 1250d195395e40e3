"""Run all tests, and report the branches of every process that they did not cover: `python scripts/uncovered.py`.

Takes twice as long as the tests alone. Fails if less is covered than `fail_under` in pyproject.toml.
"""

import sys

from environment import ROOT, python

if __name__ == "__main__":
    python("-m", "pytest", *sys.argv[1:], COVERAGE_PROCESS_START=str(ROOT / "pyproject.toml"))
    python("-m", "coverage", "combine", "--quiet")
    python("-m", "coverage", "report")
