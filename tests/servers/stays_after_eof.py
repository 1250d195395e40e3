"""Serves well, and keeps running after EOF on its stdin, when it creates the file `stays`. SIGTERM ends it."""

import time
from pathlib import Path

import well_behaved

if __name__ == "__main__":
    well_behaved.serve()
    Path("stays").touch()
    while True:
        time.sleep(3600)
