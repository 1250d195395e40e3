"""Resource use of a subject's own processes, without its backends."""

import contextlib
import time
from pathlib import Path

import psutil
from subjects import HERE, Session

MEGABYTE = 1_000_000
PROCESS_CLOCK = 2
"""The clock of a whole process, in the number that Linux makes of it and the process (clock_getcpuclockid(3))."""


def of_home(folder: Path) -> list[psutil.Process]:
    """Return all processes whose home is a folder, those of an engine included."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("HOME") == str(folder):
                found.append(process)
    return found


def proportional(process: psutil.Process) -> float:
    """Return the proportional set size in MB, in which a page that several processes share counts once; Linux only."""
    return float(process.memory_full_info().pss) / MEGABYTE


def own(session: Session) -> list[psutil.Process]:
    """Return the subject's processes, including its helpers."""
    backend = str(HERE / "backend.py")
    return [process for process in session.processes if backend not in process.cmdline()]


def memory(session: Session) -> float:
    """Return resident memory in MB."""
    return float(sum(process.memory_info().rss for process in own(session))) / MEGABYTE


def peak_memory(session: Session) -> float | None:
    """Return the peak of resident memory in MB; None except on Linux."""
    kilobytes = 0
    for process in own(session):
        try:
            status = Path(f"/proc/{process.pid}/status").read_text("ascii")
        except FileNotFoundError:
            return None
        kilobytes += next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))
    return kilobytes * 1024 / MEGABYTE


def threads(session: Session) -> int:
    return sum(process.num_threads() for process in own(session))


def cpu_seconds(session: Session) -> float:
    """Return the processor time that its processes have used."""
    return sum(map(processor_time, own(session)))


def processor_time(process: psutil.Process) -> float:
    """Return the processor time that a process has used, in seconds: on Linux in nanoseconds, else in larger steps."""
    if psutil.LINUX:
        return time.clock_gettime(~process.pid << 3 | PROCESS_CLOCK)
    return float(sum(process.cpu_times()[:2]))


def wakeups(session: Session) -> int | None:
    """Return the number of voluntary context switches of all threads; None except on Linux."""
    if not psutil.LINUX:
        return None
    ids = [thread.id for process in own(session) for thread in process.threads()]
    return sum(psutil.Process(number).num_ctx_switches().voluntary for number in ids)
