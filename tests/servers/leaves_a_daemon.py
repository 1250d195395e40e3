"""Starts a daemon in a session of its own that inherits every pipe; a call returns its pid."""

import subprocess
import sys
import time

import well_behaved
from well_behaved import Json


def stop(_arguments: Json) -> str:
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    command = [sys.executable, "-c", "import time; time.sleep(3600)"]
    daemon = subprocess.Popen(command, stdin=sys.stdin, start_new_session=True)
    well_behaved.serve({**well_behaved.TOOLS, "daemon": lambda _arguments: str(daemon.pid), "stop": stop})
