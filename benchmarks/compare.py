"""Compare two states of search-mcp, each with the dependencies it declares, in alternating turns.

    python benchmarks/compare.py HEAD~1 HEAD
    python benchmarks/compare.py main . --measures small-call,start --turns 9

Each state is a revision, or a folder with a copy of the project. The brackets hold the ratio of a figure to the
floor's figure and to that of the first state.
"""

import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path

from installed import CACHE, ROOT, interpreter
from run import parser, run
from subjects import Subject, floor, search_mcp


def state(name: str) -> Subject:
    """Return search-mcp as a subject, at a revision or in a folder."""
    folder = Path(name).resolve()
    if folder.is_dir():
        dependencies = (folder / "pyproject.toml").read_text("utf-8")
        python = interpreter("folder", f"{folder} {dependencies}", ["--editable", str(folder)])
    else:
        commit = _git("rev-parse", "--verify", f"{name}^{{commit}}").decode().strip()
        folder = CACHE / f"revision-{commit[:12]}"
        if not folder.exists():
            folder.parent.mkdir(exist_ok=True)
            with tarfile.open(fileobj=BytesIO(_git("archive", commit))) as archive:
                archive.extractall(folder, filter="data")
        python = interpreter("revision", commit, ["--editable", str(folder)])
    return search_mcp(name, str(python))


def _git(*arguments: str) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"git {' '.join(arguments)}: {done.stderr.decode().strip()}")
    return done.stdout


def main() -> int:
    described = parser(__doc__)
    described.add_argument("before", help="a revision or a folder")
    described.add_argument("after", help="a revision or a folder")
    options = described.parse_args()
    return run([floor(), state(options.before), state(options.after)], options, ["floor", options.before])


if __name__ == "__main__":
    sys.exit(main())
