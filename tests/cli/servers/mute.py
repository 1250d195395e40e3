"""A server with a child of its own that starts, and never says a word."""

import subprocess
import sys

subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"])
sys.stdin.read()
