"""A copy of this repository as another user would clone it."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def clone(place: Path) -> Path:
    """Copy the files that git tracks, or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():  # git still tracks a file that was removed but not committed
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place / name)
    return place
