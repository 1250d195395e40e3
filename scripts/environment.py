"""Run Python in this checkout, from any current folder and on any system."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"


def python(*arguments: str, output: Path | None = None, **variables: str) -> None:
    """Run Python in the project's root folder, with these environment variables; end this script if it fails.

    `output` is the file that gets what the command prints.
    """
    shown = [*(f"{name}={value}" for name, value in variables.items()), "python", shlex.join(arguments)]
    print("$", *shown, *([">", output.relative_to(ROOT)] if output else []), flush=True)
    done = subprocess.run(
        [_interpreter(), *arguments],
        stdout=subprocess.PIPE if output else None,
        cwd=ROOT,
        env={**os.environ, **variables},
        check=False,
    )
    if done.returncode:
        sys.exit(done.returncode)
    if output:
        output.write_bytes(done.stdout)


def _interpreter() -> str:
    """Return the Python of `.venv`, or the one that runs this script if there is no `.venv`."""
    found = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    return str(found) if found.exists() else sys.executable
