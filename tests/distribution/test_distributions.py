"""The content of sdist and wheel, and the command that each of the usual installers makes of them."""

import email
import json
import os
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from checkout import ROOT
from real import packages

from distribution.conftest import SCRIPTS, Distributions, Shell
from search_mcp import __version__

pytestmark = pytest.mark.installs

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
MOST_BYTES = 1_100_000
INFORMATION = f"search_mcp-{__version__}.dist-info"
SHARE = "packaging/share"
"""The man page and the completion scripts."""


def test_the_wheel_holds_the_package_and_what_systems_share_and_nothing_else(distributions: Distributions) -> None:
    with zipfile.ZipFile(distributions.wheel) as wheel:
        names = {*wheel.namelist()}
    made = {f"{INFORMATION}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")}
    package = _files(distributions.sources, "search_mcp")
    config = {name.replace("config/", "search_mcp/cli/") for name in _files(distributions.sources, "config")}
    data = f"search_mcp-{__version__}.data/data/share"
    share = {name.replace(SHARE, data) for name in _files(distributions.sources, SHARE)}
    assert names == package | config | share | made
    assert {"search_mcp/py.typed", "search_mcp/page/templates/layout.html", "search_mcp/page/static/page.js"} <= names
    assert distributions.wheel.stat().st_size < MOST_BYTES


def test_the_sdist_holds_what_the_wheel_is_built_from_and_nothing_else(distributions: Distributions) -> None:
    with tarfile.open(distributions.sdist) as sdist:
        names = {member.name.partition("/")[2] for member in sdist.getmembers()}
    folders = [_files(distributions.sources, name) for name in ("search_mcp", "config", SHARE)]
    read = {"pyproject.toml", ".gitignore", "README.md", "LICENSE", "CHANGELOG.md"}
    assert names == read.union(*folders) | {"PKG-INFO"}
    assert distributions.sdist.stat().st_size < MOST_BYTES


def test_the_wheel_has_its_metadata(distributions: Distributions) -> None:
    with zipfile.ZipFile(distributions.wheel) as wheel:
        about = email.message_from_bytes(wheel.read(f"{INFORMATION}/METADATA"))
    assert about["Name"] == "search-mcp"
    assert about["License-Expression"] == "MIT"
    assert about["Description-Content-Type"] == "text/markdown"
    assert about.get_payload() == (ROOT / "README.md").read_text("utf-8")
    lowest = PROJECT["requires-python"].removeprefix(">=")
    assert f"Programming Language :: Python :: {lowest}" in about.get_all("Classifier", [])


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


def test_pipx_runs_it(distributions: Distributions, shell: Shell) -> None:
    command = [*_pipx("run"), "--spec", distributions.wheel, "search-mcp"]
    assert shell.run(*command, "--version") == f"search-mcp {__version__}\n"


def test_pipx_installs_it_with_its_man_page_and_completions(distributions: Distributions, shell: Shell) -> None:
    folders = {"PIPX_HOME": "pipx", "PIPX_BIN_DIR": "bin", "PIPX_MAN_DIR": "share/man", "PIPX_COMPLETION_DIR": "share"}
    shell.run(*_pipx("install"), distributions.wheel, variables={k: str(shell.home / v) for k, v in folders.items()})
    command = shell.home / "bin" / ("search-mcp.exe" if os.name == "nt" else "search-mcp")
    assert shell.run(command, "--version") == f"search-mcp {__version__}\n"
    if os.name != "nt":  # Windows has no folder for them
        shared = _files(distributions.sources, SHARE)
        assert {f"packaging/{name}" for name in _files(shell.home, "share")} == shared


def _pipx(word: str) -> list[str | Path]:
    return [packages.installers(), "-m", "pipx", word, "--backend", "uv", "--python", sys.executable]


def _works(command: list[str | Path], shell: Shell) -> None:
    """Check its version and serve a server of another environment, outside of any checkout."""
    assert shell.run(*command, "--version") == f"search-mcp {__version__}\n"
    servers = {name: {"command": sys.executable, "args": ["-m", f"mcp_server_{name}"]} for name in ("time", "git")}
    (shell.home / "mcp-servers.json").write_text(json.dumps({"mcpServers": servers}), "utf-8")
    found = json.loads(shell.run(*command, "check", "--config", "mcp-servers.json", "--json"))
    assert {each["name"]: each["state"] for each in found["servers"]} == {"time": "ready", "git": "ready"}
