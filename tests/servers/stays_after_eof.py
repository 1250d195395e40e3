"""Serves well, and stays when its stdin ends; then it makes the file `stays` in its folder. SIGTERM ends it."""

import time
from pathlib import Path

import well_behaved

if __name__ == "__main__":
    well_behaved.serve()
    Path("stays").touch()
    while True:
        time.sleep(3600)
