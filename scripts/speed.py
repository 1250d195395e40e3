"""Compare the speed of this checkout, uncommitted changes included, with a revision: `python scripts/speed.py main`.

Without arguments the revision is `main`. Further arguments are those of benchmarks/compare.py.
"""

import sys

from environment import python

if __name__ == "__main__":
    before, *options = sys.argv[1:] or ["main"]
    python("benchmarks/compare.py", before, ".", "--measures", "start,small-call,throughput", *options)
