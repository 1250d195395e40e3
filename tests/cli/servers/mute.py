"""A server with a child process that starts and never answers."""

import subprocess
import sys

subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"])
sys.stdin.read()
