"""Virtual environments of their own, kept in `.cache/` at the repository root under what is installed in them."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"


def interpreter(kind: str, key: str, requirements: Sequence[str]) -> Path:
    """Install what is required unless it is there already; return the interpreter.

    `key` says what the environment is of: with another one it is another.
    """
    digest = hashlib.sha256(f"{key} {sys.version} {sys.platform}".encode()).hexdigest()[:12]
    folder = CACHE / f"{kind}-{digest}"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not (folder / "whole").exists():
        CACHE.mkdir(exist_ok=True)
        print(f"installing {' '.join(requirements)} into {folder.relative_to(ROOT)}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements]
        done = subprocess.run(pip, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"pip install {' '.join(requirements)} failed: {done.stderr[-1000:]}")
        (folder / "whole").touch()
    return python
