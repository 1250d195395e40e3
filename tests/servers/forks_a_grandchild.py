"""Starts a process that inherits its stdout and outlives it, like `npx` and shell wrappers."""

import subprocess
import sys

import well_behaved

if __name__ == "__main__":
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    well_behaved.serve()
