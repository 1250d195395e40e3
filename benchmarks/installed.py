"""Installs the subjects' dependencies into separate folders in `.cache/` at the repository root."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"


def interpreter(kind: str, key: str, requirements: Sequence[str]) -> Path:
    """Install requirements into a virtual environment unless it exists; return its interpreter.

    `key` identifies the content: another key means another environment.
    """
    folder = _folder(kind, key)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not _is_whole(folder):
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _install(folder, pip, requirements)
    return python


def script(package: str) -> tuple[str, str]:
    """Install an npm package, `NAME@VERSION`, unless it is installed; return the command line of its script."""
    name = package.rpartition("@")[0]
    root = modules(package) / name
    node = shutil.which("node")
    assert node is not None
    return node, str(root / json.loads((root / "package.json").read_text("utf-8"))["bin"][name])


def modules(package: str) -> Path:
    """Install an npm package, `NAME@VERSION`, unless it is installed; return its `node_modules` folder."""
    node, npm = map(shutil.which, ("node", "npm"))  # on Windows this finds npm.cmd
    if node is None or npm is None:
        sys.exit(f"{package} needs Node.js with npm on PATH: install it, or leave this subject out with --subjects")
    folder = _folder(package.rpartition("@")[0].replace("/", "-"), package)
    if not _is_whole(folder):
        folder.mkdir(exist_ok=True)
        quietly = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        _install(folder, [npm, "install", "--prefix", str(folder), *quietly], [package])
    return folder / "node_modules"


def _folder(kind: str, key: str) -> Path:
    CACHE.mkdir(exist_ok=True)
    digest = hashlib.sha256(f"{key} {sys.version} {sys.platform}".encode()).hexdigest()[:12]
    return CACHE / f"{kind}-{digest}"


def _is_whole(folder: Path) -> bool:
    return (folder / "whole").exists()


def _install(folder: Path, command: Sequence[str], packages: Sequence[str]) -> None:
    """Install packages and mark the folder as complete; exit with the reason if that fails."""
    print(f"installing {' '.join(packages)} into {folder.relative_to(ROOT)}", file=sys.stderr)
    done = subprocess.run([*command, *packages], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"installing {' '.join(packages)} failed: {done.stderr[-1000:]}")
    (folder / "whole").touch()
