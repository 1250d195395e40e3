"""Represent a program that a fork server runs: `python -ISE forked_command.py SOCKET PROGRAM...`

Hands over its own standard streams, folder and environment, forwards SIGTERM, and exits as the program does.
"""

import json
import os
import signal
import socket
import sys

path, *program = sys.argv[1:]
request = {"program": program, "folder": os.getcwd(), "environment": {**os.environ}}  # noqa: PTH109  # no pathlib
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(path)
    socket.send_fds(connection, [b"\n"], [0, 1, 2])
    for stream in range(3):
        os.close(stream)
    connection.sendall(json.dumps(request).encode() + b"\n")
    with connection.makefile("rb") as numbers:
        process = int(numbers.readline())
        signal.signal(signal.SIGTERM, lambda number, frame: os.kill(process, number))
        code = int(numbers.readline())
os._exit(code if code >= 0 else 128 - code)
