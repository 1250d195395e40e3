"""Serves well, and keeps running after EOF on its stdin and after SIGTERM."""

import signal
import time

import well_behaved

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    well_behaved.serve()
    while True:
        time.sleep(3600)
