"""Exits at EOF on its stdin, and leaves children and grandchildren that ignore SIGTERM."""

import subprocess
import sys

import well_behaved

STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if int(sys.argv[1]):
    subprocess.Popen([sys.executable, "-c", sys.argv[2], str(int(sys.argv[1]) - 1), sys.argv[2]])
else:
    print("up", flush=True)
    os.close(1)
time.sleep(3600)
"""

if __name__ == "__main__":
    command = [sys.executable, "-c", STUBBORN, "2", STUBBORN]
    family = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert family.stdout is not None
    family.stdout.readline()  # the whole family has started
    well_behaved.serve()
