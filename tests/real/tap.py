"""Run a server and record both directions of its conversation: `python tap.py FOLDER COMMAND...`

The tap changes no line. It adds a file to FOLDER for each process it starts: all lines in order, with `> ` before
those of the client and `< ` before those of the server. A line is recorded before it is forwarded, so an answer is
never recorded before its request.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

_writing = threading.Lock()


def relay(source: IO[bytes], target: IO[bytes], log: IO[bytes], mark: bytes) -> None:
    try:
        for line in source:
            with _writing:
                log.write(mark + line if line.endswith(b"\n") else mark + line + b"\n")
            target.write(line)
            target.flush()
        target.close()
    except OSError:
        pass  # the other side has exited; its own end of file ends this program


def main() -> int:
    folder, *command = sys.argv[1:]
    log = (Path(folder) / f"{time.time_ns()}-{os.getpid()}.log").open("wb", buffering=0)
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None and server.stdout is not None
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _frame: server.send_signal(number))
    stdin = os.fdopen(os.dup(0), "rb", buffering=0)
    stdout = os.fdopen(os.dup(1), "wb", buffering=0)
    asking = threading.Thread(target=relay, args=(stdin, server.stdin, log, b"> "), daemon=True)
    asking.start()
    relay(server.stdout, stdout, log, b"< ")
    return server.wait()


if __name__ == "__main__":
    os._exit(main())  # the thread that reads stdin may still wait for a client that does not close it
