"""Distributions that are built from the files of a clone."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pytest
from checkout import clone
from real import packages

SECONDS = 300
SCRIPTS = "Scripts" if os.name == "nt" else "bin"


@dataclass(frozen=True)
class Shell:
    """Runner of programs, with a temporary home, and uv on the PATH."""

    home: Path

    def run(self, *words: str | Path, variables: Mapping[str, str] = MappingProxyType({})) -> str:
        """Run a program; return its output. Fail if its exit code is not 0."""
        done = subprocess.run(
            [str(word) for word in words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=SECONDS,
            cwd=self.home,
            env={**self.environment, **variables},
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    @property
    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
        folders = {
            name: str(self.home / name)
            for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
        }
        own = {
            "HOME": str(self.home),
            "PATH": os.pathsep.join([str(packages.installers().parent), inherited["PATH"]]),
            "UV_CACHE_DIR": str(packages.CACHE / "uv"),
            "UV_PYTHON": sys.executable,
            "PIP_CACHE_DIR": str(packages.CACHE / "pip"),
        }
        return {**inherited, **folders, **own}


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@dataclass(frozen=True)
class Distributions:
    sources: Path
    sdist: Path
    wheel: Path


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    """The sdist of a clone, and the wheel built from the sdist."""
    place = tmp_path_factory.mktemp("distributions")
    sources = clone(place / "clone")
    Shell(place).run("uv", "build", "--out-dir", place / "dist", sources)
    (sdist,) = (place / "dist").glob("*.tar.gz")
    (wheel,) = (place / "dist").glob("*.whl")
    return Distributions(sources, sdist, wheel)
