"""Windows: the named pipes between adapters and the engine process of a user, who is at their other end, and the lock.

Only processes of the user, of this computer and with at least the privileges of the one that made a pipe can open it.
Its name has the user, the logon and the privileges: drive letters and network passwords belong to a logon, so a client
of another one has another engine. Standard library only, because adapters load nothing else.
"""

import contextlib
import ctypes
import errno
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from ctypes import wintypes
from hashlib import sha256
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from search_mcp.fronts.hello import END

PREFIX = r"\\.\pipe" + "\\"
BUFFER_BYTES = 1 << 16
LOOK_SECONDS = 0.01
"""Poll interval while the engine makes another instance of its pipe, in seconds."""

# Names, values and meanings of the constants are those of Microsoft's documentation.
_BROKEN_PIPE, _PIPE_BUSY, _NO_DATA, _PIPE_NOT_CONNECTED, _OPERATION_ABORTED = 109, 231, 232, 233, 995
_GONE = (_BROKEN_PIPE, _NO_DATA, _PIPE_NOT_CONNECTED)
_SHARING_VIOLATION = 32
_GENERIC_READ, _GENERIC_WRITE = 0x80000000, 0x40000000
_OPEN_EXISTING, _OPEN_ALWAYS = 3, 4
_FLAG_OVERLAPPED, _FLAG_FIRST_PIPE_INSTANCE = 0x40000000, 0x00080000
_SECURITY_SQOS_PRESENT, _SECURITY_IDENTIFICATION = 0x00100000, 0x00010000
_PIPE_ACCESS_DUPLEX, _PIPE_REJECT_REMOTE_CLIENTS, _PIPE_UNLIMITED_INSTANCES = 0x00000003, 0x00000008, 255
_INFINITE, _WAIT_TIMEOUT = 0xFFFFFFFF, 0x00000102


class Identity(NamedTuple):
    """For whom and with which privileges a process runs."""

    user: str
    """The SID of its user."""
    logon: int
    """The number of its logon."""
    integrity: str
    """The SID of its integrity level, which is higher if the user has started it as an administrator."""
    is_confined: bool
    """Whether it may use less than its user may, as in a sandbox."""


class Accounts(Protocol):
    """The part of the Windows API that tells who runs a process.

    All methods raise `OSError` where Windows refuses.
    """

    def ours(self) -> Identity: ...
    def of_server(self, pipe: int) -> Identity:
        """Return the identity of the process that has made a pipe, by the handle of a client."""
        ...

    def owner(self, pipe: int) -> str:
        """Return the SID of the owner of a pipe, by the handle of a client."""
        ...

    def only_for(self, identity: Identity) -> contextlib.AbstractContextManager[int]:
        """Provide the address of security attributes by which only a user can open an object.

        Processes of a lower integrity level cannot, either.
        """
        ...


class PipeEnd:
    """A client's end of a pipe, with the methods of a socket that are used of one.

    One thread may read while another one writes, and a third one closes it.
    """

    def __init__(self, handle: int, api: Any) -> None:
        self._handle, self._api = handle, api
        self._milliseconds = _INFINITE
        self._lock = threading.Lock()
        self._pending: list[Any] = []  # overlapped operations; the handle stays open until they have ended
        self._is_closed = False

    def settimeout(self, seconds: float | None) -> None:
        self._milliseconds = _INFINITE if seconds is None else max(1, int(seconds * 1000))

    def recv(self, size: int) -> bytes:
        """Read some bytes; empty if the other end was closed.

        Raises:
            TimeoutError: none came in time.
            OSError: this end was closed meanwhile.
        """
        try:
            operation = self._begin(lambda: self._api.ReadFile(self._handle, size, overlapped=True))
            self._finish(operation)
        except OSError as exc:
            if _code(exc) in _GONE:
                return b""
            raise
        return bytes(operation.getbuffer())

    def sendall(self, data: memoryview | bytes) -> None:
        """Write all bytes.

        Raises:
            TimeoutError: the other end has not read them in time.
            BrokenPipeError: one of the ends was closed.
            OSError: they cannot be written.
        """
        left = memoryview(data)
        try:
            while left:
                piece = bytes(left[:BUFFER_BYTES])
                operation = self._begin(lambda piece=piece: self._api.WriteFile(self._handle, piece, overlapped=True))
                left = left[self._finish(operation) :]
        except OSError as exc:
            if _code(exc) in _GONE:  # one of them has another class in Python
                raise BrokenPipeError(errno.EPIPE, "the other end was closed") from exc
            raise

    def shutdown(self, _how: int) -> None:
        """Tell the other end that nothing more will be written."""
        self.sendall(END)

    def close(self) -> None:
        """Close this end; what is read or written in other threads fails."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            for operation in self._pending:
                operation.cancel()
            if not self._pending:
                self._api.CloseHandle(self._handle)

    def detach(self) -> int:
        """Return the handle, which the caller has to close from here on; nothing may be read or written meanwhile."""
        with self._lock:
            assert not self._pending
            assert not self._is_closed
            self._is_closed = True
            return self._handle

    def _begin(self, start: Any) -> Any:
        with self._lock:
            if self._is_closed:
                raise BrokenPipeError(errno.EPIPE, "this end is closed")
            operation, _ = start()
            self._pending.append(operation)
            return operation

    def _finish(self, operation: Any) -> int:
        """Wait for an operation; return how many bytes it has moved."""
        is_late = True
        try:
            is_late = self._api.WaitForSingleObject(operation.event, self._milliseconds) == _WAIT_TIMEOUT
        finally:
            if is_late:
                operation.cancel()
            moved, error = self._result(operation)
        if moved or not error:
            return moved
        raise TimeoutError("timed out") if is_late else BrokenPipeError(errno.EPIPE, "this end is closed")

    def _result(self, operation: Any) -> tuple[int, int]:
        """Return how many bytes a finished or cancelled operation has moved, and its error."""
        try:
            # It waits: Windows writes to the buffer of an operation until it has ended, cancelled or not.
            moved, error = operation.GetOverlappedResult(True)
        finally:
            with self._lock:
                self._pending.remove(operation)
                if self._is_closed and not self._pending:
                    self._api.CloseHandle(self._handle)
        return int(moved), int(error)


def connect(address: str, seconds: float, accounts: Accounts, api: Any) -> PipeEnd:
    """Open the pipe of an engine, with a time limit for this and for what is read and written.

    Raises:
        FileNotFoundError: there is no engine.
        TimeoutError: the engine takes no more clients in this time.
        PermissionError: the pipe is not that of a process like this one.
    """
    deadline = time.monotonic() + seconds
    # By identification, the process that has made the pipe can see who we are, but not act in our name.
    flags = _FLAG_OVERLAPPED | _SECURITY_SQOS_PRESENT | _SECURITY_IDENTIFICATION
    while True:
        try:
            handle = api.CreateFile(address, _GENERIC_READ | _GENERIC_WRITE, 0, 0, _OPEN_EXISTING, flags, 0)
            break
        except OSError as exc:
            if _code(exc) != _PIPE_BUSY:
                raise
        if time.monotonic() > deadline:
            raise TimeoutError("the engine takes no clients")
        time.sleep(LOOK_SECONDS)
    try:
        ours = accounts.ours()
        # Both: the number of a process may have been that of another one, and a sandbox may have the user's files.
        if accounts.owner(handle) != ours.user or accounts.of_server(handle) != ours:
            raise PermissionError("its pipe belongs to another user, or to a process with other privileges")
    except BaseException:
        api.CloseHandle(handle)
        raise
    end = PipeEnd(handle, api)
    end.settimeout(seconds)
    return end


def make_instance(address: str, accounts: Accounts, api: Any, *, is_first: bool) -> int:
    """Make an instance of a pipe, to which one client can connect; return its handle.

    Raises:
        OSError: it cannot be made, such as a first one where a process has made one already.
    """
    with accounts.only_for(accounts.ours()) as attributes:
        handle: int = api.CreateNamedPipe(
            address,
            _PIPE_ACCESS_DUPLEX | _FLAG_OVERLAPPED | (_FLAG_FIRST_PIPE_INSTANCE if is_first else 0),
            _PIPE_REJECT_REMOTE_CLIENTS,  # the modes of bytes and of waiting are 0
            _PIPE_UNLIMITED_INSTANCES,
            BUFFER_BYTES,
            BUFFER_BYTES,
            0,
            attributes,
        )
    return handle


def open_alone(path: str, api: Any) -> int | None:
    """Open a file that no other process can open meanwhile; return its handle, or `None` if another process has it.

    It is a lock that can be passed on: it lasts until all copies of the handle are closed. `LockFile` has none.

    Raises:
        OSError: it cannot be opened.
    """
    try:
        handle: int = api.CreateFile(path, _GENERIC_READ | _GENERIC_WRITE, 0, 0, _OPEN_ALWAYS, 0, 0)
    except PermissionError as exc:
        if _code(exc) != _SHARING_VIOLATION:
            raise
        return None
    return handle


def name_of(identity: Identity) -> str:
    """Return the beginning of the names of the pipes of all engines that a process may use."""
    return f"search-mcp-{sha256(repr(tuple(identity)).encode()).hexdigest()[:16]}-"


def addresses(beginning: str) -> list[str]:
    """Return the pipes of the running engines whose names begin like this."""
    return sorted(PREFIX + each for each in os.listdir(PREFIX) if each.startswith(beginning))  # noqa: PTH208


def _code(exc: OSError) -> int | None:
    return getattr(exc, "winerror", None)


_QUERY_LIMITED_INFORMATION, _TOKEN_QUERY = 0x1000, 0x0008
_TOKEN_USER, _TOKEN_STATISTICS, _TOKEN_INTEGRITY_LEVEL, _TOKEN_IS_APP_CONTAINER = 1, 10, 25, 29
_SE_KERNEL_OBJECT, _OWNER_SECURITY_INFORMATION = 6, 1
_SDDL_REVISION = 1


class _SecurityAttributes(ctypes.Structure):
    _fields_ = (
        ("nLength", wintypes.DWORD),
        ("lpSecurityDescriptor", wintypes.LPVOID),
        ("bInheritHandle", wintypes.BOOL),
    )


class _Luid(ctypes.Structure):
    _fields_ = (("LowPart", wintypes.DWORD), ("HighPart", wintypes.LONG))


class _TokenStatistics(ctypes.Structure):
    _fields_ = (
        ("TokenId", _Luid),
        ("AuthenticationId", _Luid),
        ("ExpirationTime", wintypes.LARGE_INTEGER),
        ("TokenType", ctypes.c_int),
        ("ImpersonationLevel", ctypes.c_int),
        ("DynamicCharged", wintypes.DWORD),
        ("DynamicAvailable", wintypes.DWORD),
        ("GroupCount", wintypes.DWORD),
        ("PrivilegeCount", wintypes.DWORD),
        ("ModifiedId", _Luid),
    )


class _SidAndAttributes(ctypes.Structure):
    """`TOKEN_USER` or `TOKEN_MANDATORY_LABEL`, and room for the SID behind it, to which it points."""

    _fields_ = (("Sid", wintypes.LPVOID), ("Attributes", wintypes.DWORD), ("room", ctypes.c_char * 68))


class WindowsAccounts:
    """The real `Accounts`, by functions of kernel32, of advapi32 and of Python's `_winapi`."""

    def __init__(self, kernel: Any, advapi: Any, api: Any, failure: Callable[[int | None], OSError]) -> None:
        """`failure` makes the error of a code; without one, that of the function that was called last."""
        self._kernel, self._advapi, self._api, self._failure = kernel, advapi, api, failure
        handle, address, number, yes = wintypes.HANDLE, wintypes.LPVOID, wintypes.DWORD, wintypes.BOOL
        numbers, addresses = ctypes.POINTER(wintypes.DWORD), ctypes.POINTER(wintypes.LPVOID)
        to_descriptor = advapi.ConvertStringSecurityDescriptorToSecurityDescriptorW
        for function, result, arguments in (
            (kernel.GetNamedPipeServerProcessId, yes, (handle, numbers)),
            (kernel.LocalFree, address, (address,)),
            (advapi.OpenProcessToken, yes, (handle, number, ctypes.POINTER(handle))),
            (advapi.GetTokenInformation, yes, (handle, ctypes.c_int, address, number, numbers)),
            (advapi.IsTokenRestricted, yes, (handle,)),
            (advapi.ConvertSidToStringSidW, yes, (address, addresses)),
            (advapi.GetSecurityInfo, number, (handle, ctypes.c_int, number, *(addresses,) * 5)),
            (to_descriptor, yes, (wintypes.LPCWSTR, number, addresses, numbers)),
        ):
            function.restype, function.argtypes = result, arguments

    def ours(self) -> Identity:
        return self._of_process(self._api.GetCurrentProcess())

    def of_server(self, pipe: int) -> Identity:
        pid = wintypes.DWORD()
        self._check(self._kernel.GetNamedPipeServerProcessId(pipe, ctypes.byref(pid)))
        process = self._api.OpenProcess(_QUERY_LIMITED_INFORMATION, False, pid.value)
        try:
            return self._of_process(process)
        finally:
            self._api.CloseHandle(process)

    def owner(self, pipe: int) -> str:
        owner, descriptor = wintypes.LPVOID(), wintypes.LPVOID()
        error = self._advapi.GetSecurityInfo(
            pipe,
            _SE_KERNEL_OBJECT,
            _OWNER_SECURITY_INFORMATION,
            ctypes.byref(owner),
            None,
            None,
            None,
            ctypes.byref(descriptor),
        )
        if error:
            raise self._failure(error)
        try:
            return self._text_of(owner.value)
        finally:
            self._kernel.LocalFree(descriptor)

    @contextlib.contextmanager
    def only_for(self, identity: Identity) -> Iterator[int]:
        user = identity.user
        # The owner; one entry, by which the user may do everything, and none that is inherited; a label, by which
        # processes of a lower integrity level cannot write.
        text = f"O:{user}D:P(A;;GA;;;{user})S:(ML;;NW;;;{identity.integrity})"
        descriptor = wintypes.LPVOID()
        convert = self._advapi.ConvertStringSecurityDescriptorToSecurityDescriptorW
        self._check(convert(text, _SDDL_REVISION, ctypes.byref(descriptor), None))
        try:
            attributes = _SecurityAttributes(ctypes.sizeof(_SecurityAttributes), descriptor, False)
            yield ctypes.addressof(attributes)
        finally:
            self._kernel.LocalFree(descriptor)

    def _of_process(self, process: int) -> Identity:
        token = wintypes.HANDLE()
        self._check(self._advapi.OpenProcessToken(process, _TOKEN_QUERY, ctypes.byref(token)))
        assert token.value is not None
        try:
            user, integrity, statistics, contained = (
                self._read(token, kind, into)
                for kind, into in (
                    (_TOKEN_USER, _SidAndAttributes()),
                    (_TOKEN_INTEGRITY_LEVEL, _SidAndAttributes()),
                    (_TOKEN_STATISTICS, _TokenStatistics()),
                    (_TOKEN_IS_APP_CONTAINER, wintypes.DWORD()),
                )
            )
            logon = statistics.AuthenticationId
            return Identity(
                self._text_of(user.Sid),
                (logon.HighPart << 32) + logon.LowPart,
                self._text_of(integrity.Sid),
                bool(contained.value or self._advapi.IsTokenRestricted(token)),
            )
        finally:
            self._api.CloseHandle(token.value)

    def _text_of(self, sid: int | None) -> str:
        text = wintypes.LPVOID()
        self._check(self._advapi.ConvertSidToStringSidW(sid, ctypes.byref(text)))
        try:
            assert text.value is not None
            return ctypes.wstring_at(text.value)
        finally:
            self._kernel.LocalFree(text)

    def _read(self, token: wintypes.HANDLE, kind: int, into: Any) -> Any:
        size = wintypes.DWORD()
        get = self._advapi.GetTokenInformation
        self._check(get(token, kind, ctypes.byref(into), ctypes.sizeof(into), ctypes.byref(size)))
        return into

    def _check(self, succeeded: int) -> None:
        if not succeeded:
            raise self._failure(None)


if sys.platform == "win32":

    def accounts() -> WindowsAccounts:
        """Return the accounts of this system."""
        return WindowsAccounts(
            ctypes.WinDLL("kernel32", use_last_error=True),
            ctypes.WinDLL("advapi32", use_last_error=True),
            import_module("_winapi"),
            lambda code: ctypes.WinError(ctypes.get_last_error() if code is None else code),
        )

    def connect_to(address: str, seconds: float) -> PipeEnd:
        """Open the pipe of an engine, as `connect`."""
        return connect(address, seconds, accounts(), import_module("_winapi"))

    def lock_file(path: str) -> int | None:
        """Open a file as `open_alone`, and return its descriptor."""
        handle = open_alone(path, import_module("_winapi"))
        return None if handle is None else import_module("msvcrt").open_osfhandle(handle, os.O_RDWR | os.O_NOINHERIT)

    def own_beginning() -> str:
        """Return the beginning of the names of the pipes of all engines that this process may use."""
        return name_of(accounts().ours())
