"""Contributors' pages, hooks and workflows name only files, scripts and actions that exist."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from checkout import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name as canonical
from ruamel.yaml import YAML

PAGES = ["CONTRIBUTING.md", "RELEASING.md"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SCRIPTS = sorted((ROOT / "scripts").glob("*.py"))
CLASSIFIER = "Programming Language :: Python :: 3."


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def paths(page: str) -> list[str]:
    """Return the code spans of a page that look like paths: with a slash or a known suffix, and nothing else."""
    named = re.findall(r"`([\w./-]+)`", page)
    return [name for name in named if "/" in name or name.endswith((".md", ".py", ".toml", ".json", ".yml"))]


@pytest.mark.parametrize("page", PAGES)
def test_every_path_exists(page: str) -> None:
    named = paths(text(page))
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []
    linked = re.findall(r"\]\((?!https?:)([^)#]*)", text(page))
    assert [path for path in linked if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("file", [*PAGES, ".pre-commit-config.yaml", *(path.relative_to(ROOT) for path in WORKFLOWS)])
def test_every_script_exists(file: str) -> None:
    named = re.findall(r"python3? (\S+\.py)", text(str(file)))
    assert [script for script in named if not (ROOT / script).exists()] == []


def test_every_script_is_explained() -> None:
    explained = {*re.findall(r"scripts/(\w+\.py)", "".join(map(text, PAGES)))}
    assert {path.name for path in SCRIPTS} - explained == {"environment.py"}


def test_every_marker_is_registered() -> None:
    """An unregistered marker selects no test, and pytest does not warn about it in `-m`."""
    config = tomllib.loads(text("pyproject.toml"))["tool"]["pytest"]["ini_options"]
    registered = {marker.partition(":")[0] for marker in config["markers"]}
    selecting = "".join([text("CONTRIBUTING.md"), *(path.read_text("utf-8") for path in [*WORKFLOWS, *SCRIPTS])])
    named = {*re.findall(r"test\.py -m (\w+)", selecting), *re.findall(r'"pytest", "-m", "(\w+)"', selecting)}
    assert named == {"fast", "figures"}
    assert named <= registered


def test_the_exact_versions_are_within_the_ranges() -> None:
    """Without this test, a raised bound would make an environment impossible; `scripts/lock.py` renews the versions."""
    project = tomllib.loads(text("pyproject.toml"))["project"]
    wanted = [Requirement(each) for each in [*project["dependencies"], *project["optional-dependencies"]["dev"]]]
    exact = [Requirement(line) for line in text(".ci/constraints.txt").splitlines()]
    for each in wanted:
        if each.name != "search-mcp":
            found = [
                str(other.specifier).removeprefix("==")
                for other in exact
                if canonical(other.name) == canonical(each.name)
            ]
            assert found, each
            assert all(map(each.specifier.contains, found)), each


def steps(workflow: Any) -> Iterator[dict[str, Any]]:
    for job in workflow["jobs"].values():
        yield from job.get("steps", [])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_is_bounded_and_has_only_the_rights_it_needs(path: Any) -> None:
    workflow = YAML(typ="safe").load(path.read_text("utf-8"))
    assert workflow["permissions"] in ({}, {"contents": "read"})
    assert "concurrency" in workflow
    assert [name for name, job in workflow["jobs"].items() if "uses" not in job and "timeout-minutes" not in job] == []
    # A tag of an action can be moved to other code, a commit cannot.
    used = [step["uses"] for step in steps(workflow) if "uses" in step]
    assert [action for action in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action)] == []


def test_the_tests_run_with_every_python_that_is_supported() -> None:
    workflow = YAML(typ="safe").load(text(".github/workflows/tests.yml"))
    classifiers = tomllib.loads(text("pyproject.toml"))["project"]["classifiers"]
    supported = [f"3.{each.removeprefix(CLASSIFIER)}" for each in classifiers if each.startswith(CLASSIFIER)]
    assert workflow["jobs"]["tests"]["strategy"]["matrix"]["python"] == supported


def run(script: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a script from another folder, as a contributor may."""
    command = [sys.executable, str(ROOT / "scripts" / script), *arguments]
    return subprocess.run(command, cwd=os.path.sep, capture_output=True, encoding="utf-8", timeout=300)


def test_a_script_runs_from_any_folder_and_passes_arguments_on() -> None:
    done = run("test.py", "--collect-only", "tests/docs/test_contributing.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_contributing.py::test_every_path_exists" in done.stdout


def test_a_script_ends_with_the_exit_code_of_its_command() -> None:
    assert run("test.py", "tests/no_such_file.py").returncode == 4


def test_the_release_notes_are_the_changelog_of_the_version() -> None:
    done = run("notes.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("### ") or done.stdout.startswith("This will be")
    assert done.stdout.strip() in text("CHANGELOG.md")


def test_the_notes_refuse_a_tag_that_is_not_the_version() -> None:
    done = run("notes.py", "v99.0.0")
    assert done.returncode == 1
    assert "v99.0.0 is not the tag of version" in done.stderr
