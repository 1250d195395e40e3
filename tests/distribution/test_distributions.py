"""The content of sdist and wheel, and the command that each of the usual installers makes of them."""

import email
import json
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from checkout import ROOT

from distribution.conftest import SCRIPTS, Distributions, Shell
from search_mcp import __version__

pytestmark = pytest.mark.installs

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_wheel_holds_the_package_and_nothing_else(distributions: Distributions) -> None:
    with zipfile.ZipFile(distributions.wheel) as wheel:
        names = wheel.namelist()
    assert {name.split("/")[0] for name in names} == {"search_mcp", f"search_mcp-{__version__}.dist-info"}
    assert _files(distributions.sources, "search_mcp") <= {*names}
    assert {"search_mcp/py.typed", "search_mcp/cli/mcp-servers.json"} <= {*names}
    assert f"search_mcp-{__version__}.dist-info/licenses/LICENSE" in names


def test_the_wheel_has_its_metadata(distributions: Distributions) -> None:
    with zipfile.ZipFile(distributions.wheel) as wheel:
        about = email.message_from_bytes(wheel.read(f"search_mcp-{__version__}.dist-info/METADATA"))
    assert about["Name"] == "search-mcp"
    assert about["License-Expression"] == "MIT"
    assert about["Description-Content-Type"] == "text/markdown"
    assert about.get_payload() == (ROOT / "README.md").read_text("utf-8")
    lowest = PROJECT["requires-python"].removeprefix(">=")
    assert f"Programming Language :: Python :: {lowest}" in about.get_all("Classifier", [])


@pytest.mark.parametrize("name", ["config", "docs", "benchmarks", "packaging", "scripts", "tests"])
def test_the_sdist_holds_what_the_documentation_and_the_tests_name(distributions: Distributions, name: str) -> None:
    with tarfile.open(distributions.sdist) as sdist:
        names = {member.name.partition("/")[2] for member in sdist.getmembers()}
    assert _files(distributions.sources, name) <= names
    assert {"README.md", "CHANGELOG.md", "ARCHITECTURE.md", "LICENSE", "server.json", "pyproject.toml"} <= names


def _files(root: Path, folder: str) -> set[str]:
    found = {path.relative_to(root).as_posix() for path in (root / folder).rglob("*") if path.is_file()}
    assert found
    return found


@pytest.mark.figures  # README.md's first command is a `pip install`, too
def test_pip_installs_it(distributions: Distributions, shell: Shell) -> None:
    shell.run(sys.executable, "-m", "venv", "--without-pip", "venv")
    scripts = shell.home / "venv" / SCRIPTS
    shell.run(sys.executable, "-m", "pip", "--python", scripts / "python", "install", "--quiet", distributions.wheel)
    _works([scripts / "search-mcp"], shell)
    typed = "import pathlib, search_mcp; print(pathlib.Path(search_mcp.__file__).with_name('py.typed').is_file())"
    assert shell.run(scripts / "python", "-c", typed) == "True\n"


def test_uvx_runs_it(distributions: Distributions, shell: Shell) -> None:
    _works(["uvx", "--quiet", "--from", distributions.wheel, "search-mcp"], shell)


def _works(command: list[str | Path], shell: Shell) -> None:
    """Check its version and serve a server of another environment, outside of any checkout."""
    assert shell.run(*command, "--version") == f"search-mcp {__version__}\n"
    servers = {name: {"command": sys.executable, "args": ["-m", f"mcp_server_{name}"]} for name in ("time", "git")}
    (shell.home / "mcp-servers.json").write_text(json.dumps({"mcpServers": servers}), "utf-8")
    found = json.loads(shell.run(*command, "check", "--config", "mcp-servers.json", "--json"))
    assert {each["name"]: each["state"] for each in found["servers"]} == {"time": "ready", "git": "ready"}
