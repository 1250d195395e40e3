"""Starts a process of its own that has its stdout and outlives it, as `npx` and shell wrappers do."""

import subprocess
import sys

import well_behaved

if __name__ == "__main__":
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    well_behaved.serve()
