"""The memory of processes and of the processes that they started; all platform code about it is here.

Linux counts the memory that a process shares with others in equal parts (PSS); elsewhere it is the resident memory,
which counts shared memory in full.
"""

import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

IS_PROPORTIONAL = sys.platform == "linux"
"""Whether memory that a process shares with others is counted in parts, so that sums and differences mean something."""
PS_SECONDS = 5.0
_LISTING = ("ps", "-A", "-o", "pid=,ppid=,rss=")


def of_trees(roots: Iterable[int]) -> dict[int, int]:
    """Return the memory of processes, each with all processes below it, in bytes; those that ended are left out."""
    platform: str = sys.platform  # a name, so that types are checked on both ways
    if platform == "linux":
        return {root: sum(map(_proportional, tree)) for root, tree in _trees(roots, _parents_on_linux()).items()}
    parents, resident = _listed()
    return {root: sum(resident[pid] for pid in tree) for root, tree in _trees(roots, parents).items()}


def _trees(roots: Iterable[int], parents: Mapping[int, int]) -> dict[int, list[int]]:
    children: dict[int, list[int]] = defaultdict(list)
    for pid, parent in parents.items():
        children[parent].append(pid)
    trees = {}
    for root in roots:
        if root in parents:
            tree = [root]
            for pid in tree:
                tree += children[pid]
            trees[root] = tree
    return trees


def _parents_on_linux() -> dict[int, int]:
    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):  # it has ended
            # "pid (name) state ppid ...", where a name may have any characters
            parents[int(entry.name)] = int((entry / "stat").read_bytes().rpartition(b")")[2].split()[1])
    return parents


def _proportional(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_bytes().splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) << 10
    return 0


def _listed() -> tuple[dict[int, int], dict[int, int]]:
    """Return the parent and the memory of each process, from `ps`, which every POSIX system has; empty without it."""
    try:
        done = subprocess.run(_LISTING, capture_output=True, timeout=PS_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return {}, {}
    lines = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    return {pid: parent for pid, parent, _ in lines}, {pid: kilobytes << 10 for pid, _, kilobytes in lines}
