"""Windows: job objects, each of which keeps a process and all that it starts together.

This process puts itself into one, which every child inherits and which ends with this process. Each child gets another
job inside it, so that its tree can be ended alone. A process may leave both with `CREATE_BREAKAWAY_FROM_JOB`, as
daemons of a server do.
"""

import contextlib
import logging
import os
import signal
import sys
from collections.abc import Iterator
from typing import Protocol

if sys.platform == "win32":
    import pywintypes
    import win32api
    import win32con
    import win32job

log = logging.getLogger(__name__)


class JobObjects(Protocol):
    """The part of the Windows API that is used here; a job is its handle."""

    def create(self) -> int:
        """Create a job whose processes end when the last handle to it is closed, at the latest with this process.

        Raises:
            OSError: this and all that follows, where Windows refuses.
        """
        ...

    def take_us(self, job: int) -> None:
        """Put this process into a job, with all that it starts from here on."""
        ...

    def take(self, job: int, pid: int) -> None: ...
    def terminate(self, job: int) -> None: ...
    def close(self, job: int) -> None: ...


class JobTrees:
    """The job of this process and that of each child."""

    def __init__(self, objects: JobObjects) -> None:
        self._objects = objects
        self._started = False
        self._jobs: dict[int, int] = {}  # by the child's pid

    def start(self) -> None:
        """Create our own job, before the first child."""
        if self._started:
            return
        self._started = True
        try:
            self._objects.take_us(self._objects.create())
        except OSError as exc:
            log.warning("! if search-mcp is killed, its servers may be left running: %s", exc)

    def expecting(self) -> contextlib.AbstractContextManager[None]:
        """Nothing has to be ready for a child here."""
        return contextlib.nullcontext()

    def watch(self, pid: int) -> None:
        """Keep a child and what it starts together."""
        try:
            job = self._objects.create()
        except OSError as exc:
            log.warning("! pid %d may leave processes behind: %s", pid, exc)
            return
        try:
            self._objects.take(job, pid)
        except OSError as exc:  # it may have exited already
            log.debug("! pid %d is in no job: %s", pid, exc)
            self._close(job)
        else:
            self._jobs[pid] = job

    def signal(self, pid: int, number: int) -> None:
        """End a child's tree: Windows has no signals, so every number means the same."""
        with contextlib.suppress(OSError):
            if pid in self._jobs:
                self._objects.terminate(self._jobs[pid])
            else:
                os.kill(pid, signal.SIGTERM)

    def dismiss(self, pid: int) -> None:
        """Let go of a child that is gone; what it left behind ends here."""
        if pid in self._jobs:
            self._close(self._jobs.pop(pid))

    def _close(self, job: int) -> None:
        with contextlib.suppress(OSError):
            self._objects.close(job)


if sys.platform == "win32":

    class Win32JobObjects:
        """The real `JobObjects`."""

        def create(self) -> int:
            with _os_errors():
                handle = win32job.CreateJobObject(None, "")
                limits = win32job.QueryInformationJobObject(handle, win32job.JobObjectExtendedLimitInformation)
                limits["BasicLimitInformation"]["LimitFlags"] |= (
                    win32job.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | win32job.JOB_OBJECT_LIMIT_BREAKAWAY_OK
                )
                win32job.SetInformationJobObject(handle, win32job.JobObjectExtendedLimitInformation, limits)
                # Else Python would close our own job, and end us with it, before our exit code is set.
                return int(handle.Detach())

        def take_us(self, job: int) -> None:
            with _os_errors():
                win32job.AssignProcessToJobObject(job, win32api.GetCurrentProcess())

        def take(self, job: int, pid: int) -> None:
            with _os_errors():
                wanted = win32con.PROCESS_SET_QUOTA | win32con.PROCESS_TERMINATE
                process = win32api.OpenProcess(wanted, False, pid)
                try:
                    win32job.AssignProcessToJobObject(job, process)
                finally:
                    process.Close()

        def terminate(self, job: int) -> None:
            with _os_errors():
                win32job.TerminateJobObject(job, 1)

        def close(self, job: int) -> None:
            with _os_errors():
                win32api.CloseHandle(job)

    @contextlib.contextmanager
    def _os_errors() -> Iterator[None]:
        try:
            yield
        except pywintypes.error as exc:
            raise OSError(exc.winerror, exc.strerror) from exc
