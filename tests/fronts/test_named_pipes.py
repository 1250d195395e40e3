"""Named pipes of Windows, on a fake of its API: who may connect, and what a connection does."""

import ctypes
import errno
import sys
import threading
from collections.abc import Callable, Iterator
from ctypes import wintypes
from typing import Any

import pytest
from windows_pipes import ADA, Kernel, Users, refusal

from search_mcp.fronts import named_pipes
from search_mcp.fronts.hello import END
from search_mcp.fronts.named_pipes import (
    Identity,
    PipeEnd,
    WindowsAccounts,
    connect,
    make_instance,
    name_of,
    open_alone,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the fake needs sockets of POSIX")
ADDRESS = r"\\.\pipe\one"
SECONDS = 30.0


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    made = Kernel()
    yield made
    made.close()


def both_ends(kernel: Kernel) -> tuple[PipeEnd, PipeEnd]:
    server = make_instance(ADDRESS, Users(), kernel, is_first=True)
    return connect(ADDRESS, SECONDS, Users(), kernel), PipeEnd(server, kernel)


def test_a_pipe_is_of_bytes_for_this_user_of_this_computer_and_has_one_first_instance(kernel: Kernel) -> None:
    users = Users()
    make_instance(ADDRESS, users, kernel, is_first=True)
    with pytest.raises(PermissionError):
        make_instance(ADDRESS, Users(), kernel, is_first=True)
    make_instance(ADDRESS, Users(), kernel, is_first=False)
    duplex, overlapped, first, reject_remote, unlimited, attributes = 3, 1 << 30, 0x80000, 8, 255, 77
    size = named_pipes.BUFFER_BYTES
    options = (duplex | overlapped | first, reject_remote, unlimited, size, size, 0, attributes)
    assert kernel.asked[0] == (ADDRESS, *options)
    assert users.protected == [ADA]
    assert kernel.asked[2][1] == duplex | overlapped


def test_bytes_pass_in_both_directions_until_one_end_is_closed(kernel: Kernel) -> None:
    client, server = both_ends(kernel)
    client.sendall(b"one")
    server.sendall(b"two")
    assert (server.recv(100), client.recv(2), client.recv(100)) == (b"one", b"tw", b"o")
    client.shutdown(1)
    assert server.recv(100) == END
    server.sendall(b"the last word")
    server.close()
    assert (client.recv(100), client.recv(100)) == (b"the last word", b"")
    with pytest.raises(BrokenPipeError):
        client.sendall(b"three")
    client.close()
    client.close()
    with pytest.raises(BrokenPipeError):
        client.recv(100)
    assert kernel.handles == 0


def test_much_is_written_while_the_other_end_reads_in_its_own_time(kernel: Kernel) -> None:
    client, server = both_ends(kernel)
    text = bytes(range(256)) * 20_000
    writer = threading.Thread(target=client.sendall, args=(text,))
    writer.start()
    read = b""
    while len(read) < len(text):
        read += server.recv(1 << 16)
    writer.join(SECONDS)
    assert read == text


def test_an_end_that_is_closed_frees_the_threads_that_wait_at_it(kernel: Kernel) -> None:
    client, _ = both_ends(kernel)
    failures: list[OSError] = []

    def fails(operation: object, *arguments: object) -> None:
        try:
            operation(*arguments)  # type: ignore[operator]
        except OSError as exc:
            failures.append(exc)

    threads = [
        threading.Thread(target=fails, args=(client.recv, 1)),
        threading.Thread(target=fails, args=(client.sendall, bytes(10_000_000))),
    ]
    for each in threads:
        each.start()
    for _ in threads:
        assert kernel.is_waited_for.acquire(timeout=SECONDS)
    client.close()
    for each in threads:
        each.join(SECONDS)
    assert [type(each) for each in failures] == [BrokenPipeError, BrokenPipeError]
    assert kernel.handles == 1  # the other end


def test_an_operation_takes_no_longer_than_it_may(kernel: Kernel) -> None:
    client, server = both_ends(kernel)
    client.settimeout(0.01)
    with pytest.raises(TimeoutError):
        client.recv(1)
    with pytest.raises(TimeoutError):
        client.sendall(bytes(10_000_000))
    client.settimeout(None)
    server.sendall(b"late")
    assert client.recv(100) == b"late"


def test_without_an_engine_there_is_no_pipe(kernel: Kernel) -> None:
    with pytest.raises(FileNotFoundError):
        connect(ADDRESS, SECONDS, Users(), kernel)


def test_a_client_waits_for_the_next_instance_for_a_time(kernel: Kernel) -> None:
    both_ends(kernel)
    with pytest.raises(TimeoutError):
        connect(ADDRESS, 0.01, Users(), kernel)
    kernel.on_busy = lambda: make_instance(ADDRESS, Users(), kernel, is_first=False)
    connect(ADDRESS, SECONDS, Users(), kernel)


@pytest.mark.parametrize(
    "server",
    [
        ADA._replace(user="S-1-5-21-2"),
        ADA._replace(logon=2),
        ADA._replace(integrity="S-1-16-4096"),
        ADA._replace(is_confined=True),
    ],
)
def test_a_pipe_of_another_user_or_of_one_with_other_privileges_is_not_used(
    kernel: Kernel, server: named_pipes.Identity
) -> None:
    make_instance(ADDRESS, Users(), kernel, is_first=True)
    with pytest.raises(PermissionError, match="another user"):
        connect(ADDRESS, SECONDS, Users(server), kernel)
    assert kernel.handles == 1
    assert name_of(server) != name_of(ADA)


def test_a_pipe_that_another_user_owns_is_not_used_whatever_the_number_of_its_process_says(kernel: Kernel) -> None:
    make_instance(ADDRESS, Users(), kernel, is_first=True)
    with pytest.raises(PermissionError, match="another user"):
        connect(ADDRESS, SECONDS, Users(owner="S-1-5-21-2"), kernel)
    assert kernel.handles == 1


def test_a_client_lets_the_maker_of_a_pipe_identify_it_but_not_act_in_its_name(kernel: Kernel) -> None:
    make_instance(ADDRESS, Users(), kernel, is_first=True)
    connect(ADDRESS, SECONDS, Users(), kernel)
    read_write, existing, overlapped, identification = 0xC0000000, 3, 0x40000000, 0x00110000
    assert kernel.opened == [(ADDRESS, read_write, 0, 0, existing, overlapped | identification, 0)]


def test_a_handle_that_was_passed_on_is_not_closed(kernel: Kernel) -> None:
    client, _ = both_ends(kernel)
    handle = client.detach()
    client.close()
    assert kernel.handles == 2
    kernel.CloseHandle(handle)


class Files:
    """The part of `_winapi` that opens files, of which each is open once."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []

    def CreateFile(self, *arguments: object) -> int:  # noqa: N802
        if self.asked:
            raise refusal(32 if self.asked[0][0] == arguments[0] else 5)
        self.asked.append(arguments)
        return 9


def test_a_file_is_locked_by_opening_it_for_no_other() -> None:
    files = Files()
    assert open_alone("one", files) == 9
    read_write, nothing_shared, always = 0xC0000000, 0, 4
    assert files.asked == [("one", read_write, nothing_shared, 0, always, 0, 0)]
    assert open_alone("one", files) is None
    with pytest.raises(PermissionError):  # not one that is open, but one that may not be opened
        open_alone("two", files)


@pytest.mark.parametrize("code", [109, 232, 233])
def test_what_is_written_to_an_end_that_was_closed_fails_as_at_a_socket(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise refusal(code)

    client, _ = both_ends(kernel)
    monkeypatch.setattr(kernel, "WriteFile", fails)
    monkeypatch.setattr(kernel, "ReadFile", fails)
    with pytest.raises(BrokenPipeError) as caught:
        client.sendall(b"one")
    assert caught.value.errno == errno.EPIPE
    assert client.recv(1) == b""


def test_an_unknown_error_is_reported(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise refusal(31)

    client, _ = both_ends(kernel)
    monkeypatch.setattr(kernel, "ReadFile", fails)
    with pytest.raises(OSError, match="31"):
        client.recv(1)


def function(*arguments: Any) -> Callable[[Callable[..., int]], Any]:
    """Make a C function that ctypes calls, as it calls one of a library."""
    return lambda python: ctypes.CFUNCTYPE(ctypes.c_ssize_t, *arguments)(python)


class Libraries:
    """Kernel32, advapi32 and `_winapi` for three processes; the handle of a token is that of its process plus 1000."""

    def __init__(self) -> None:
        self.identities = {
            7: Identity("S-1-5-21-7", 999, "S-1-16-8192", is_confined=False),
            8: Identity("S-1-5-21-8", (3 << 32) + 1, "S-1-16-12288", is_confined=False),
            9: Identity("S-1-5-21-7", 999, "S-1-16-8192", is_confined=True),
            10: Identity("S-1-5-21-7", 999, "S-1-16-4096", is_confined=True),
        }
        self.open: list[int] = []
        self.descriptors: list[str] = []
        self.freed: list[int] = []
        self._texts: dict[int, Any] = {}
        self._kept: list[Any] = []
        address = ctypes.c_void_p
        handles = ctypes.POINTER(wintypes.HANDLE)
        self.GetNamedPipeServerProcessId = function(address, ctypes.POINTER(wintypes.ULONG))(self._server)
        self.LocalFree = function(address)(self._free)
        self.OpenProcessToken = function(address, wintypes.DWORD, handles)(self._open_token)
        self.GetTokenInformation = function(
            address, ctypes.c_int, address, wintypes.DWORD, ctypes.POINTER(wintypes.DWORD)
        )(self._information)
        self.IsTokenRestricted = function(address)(lambda token: int(token == 1009))
        self.GetSecurityInfo = function(
            *(address, ctypes.c_int, wintypes.DWORD, ctypes.POINTER(address), address, address, address),
            ctypes.POINTER(address),
        )(self._security)
        self.ConvertSidToStringSidW = function(address, ctypes.POINTER(address))(self._text_of)
        self.ConvertStringSecurityDescriptorToSecurityDescriptorW = function(
            wintypes.LPCWSTR, wintypes.DWORD, ctypes.POINTER(address), address
        )(self._descriptor)

    # Of `_winapi`

    def GetCurrentProcess(self) -> int:  # noqa: N802
        return 7

    def OpenProcess(self, access: int, inherit: bool, pid: int) -> int:  # noqa: N802
        assert (access, inherit) == (0x1000, False)
        self.open.append(pid)
        return pid

    def CloseHandle(self, handle: int) -> None:  # noqa: N802
        self.open.remove(handle)

    # Of the libraries

    def _server(self, pipe: int, pid: Any) -> int:
        pid[0] = pipe - 100  # the handle of a pipe is the process that has made it plus 100
        return 1

    def _open_token(self, process: int, access: int, token: Any) -> int:
        if process not in self.identities:
            return 0
        assert access == 8
        token[0] = process + 1000
        self.open.append(process + 1000)
        return 1

    def _information(self, token: int, kind: int, buffer: int, size: int, _needed: Any) -> int:
        identity = self.identities[token - 1000]
        if kind in (1, 25):
            assert size >= ctypes.sizeof(ctypes.c_void_p) + 4 + 68  # the longest SID
            ctypes.c_void_p.from_address(buffer).value = self._sid(identity.user if kind == 1 else identity.integrity)
        elif kind == 10:
            statistics = named_pipes._TokenStatistics.from_address(buffer)
            assert size == ctypes.sizeof(statistics)
            logon = statistics.AuthenticationId
            logon.LowPart, logon.HighPart = identity.logon & 0xFFFFFFFF, identity.logon >> 32
        else:
            assert (kind, size) == (29, ctypes.sizeof(wintypes.DWORD))
            wintypes.DWORD.from_address(buffer).value = int(token == 1010)
        return 1

    def _sid(self, text: str) -> int:
        sid = ctypes.create_unicode_buffer(text)
        self._kept.append(sid)
        return ctypes.addressof(sid)

    def _security(self, pipe: int, kind: int, wanted: int, owner: Any, _1: Any, _2: Any, _3: Any, found: Any) -> int:
        assert (kind, wanted) == (6, 1)
        if pipe < 100:
            return 6  # ERROR_INVALID_HANDLE
        owner[0] = self._sid(self.identities[pipe - 100].user)
        return self._new("the descriptor", found) - 1

    def _text_of(self, sid: int, text: Any) -> int:
        return self._new(ctypes.wstring_at(sid), text)

    def _descriptor(self, text: str, revision: int, descriptor: Any, _size: Any) -> int:
        assert revision == 1
        self.descriptors.append(text)
        return self._new(text, descriptor)

    def _new(self, text: str, result: Any) -> int:
        buffer = ctypes.create_unicode_buffer(text)
        self._texts[ctypes.addressof(buffer)] = buffer
        result[0] = ctypes.addressof(buffer)
        return 1

    def _free(self, address: int) -> int:
        del self._texts[address]
        return 0

    @property
    def is_everything_freed(self) -> bool:
        return not self._texts and not self.open


@pytest.fixture
def libraries() -> Libraries:
    return Libraries()


@pytest.fixture
def accounts(libraries: Libraries) -> WindowsAccounts:
    return WindowsAccounts(libraries, libraries, libraries, lambda code: PermissionError(f"refused {code}"))


def test_the_identity_of_a_process_is_read_from_its_token(libraries: Libraries, accounts: WindowsAccounts) -> None:
    assert accounts.ours() == libraries.identities[7]
    for pid, identity in libraries.identities.items():
        assert accounts.of_server(100 + pid) == identity
    assert libraries.is_everything_freed


def test_a_process_that_may_not_be_asked_is_refused(libraries: Libraries, accounts: WindowsAccounts) -> None:
    with pytest.raises(PermissionError, match="refused"):
        accounts.of_server(100 + 11)
    assert libraries.is_everything_freed


def test_the_owner_of_a_pipe_is_read_from_its_security(libraries: Libraries, accounts: WindowsAccounts) -> None:
    assert accounts.owner(108) == "S-1-5-21-8"
    with pytest.raises(PermissionError, match="refused 6"):
        accounts.owner(1)
    assert libraries.is_everything_freed


def test_an_object_is_made_for_one_user_only(libraries: Libraries, accounts: WindowsAccounts) -> None:
    with accounts.only_for(libraries.identities[7]) as address:
        attributes = named_pipes._SecurityAttributes.from_address(address)
        assert attributes.nLength == ctypes.sizeof(attributes)
        assert ctypes.wstring_at(attributes.lpSecurityDescriptor) == (
            "O:S-1-5-21-7D:P(A;;GA;;;S-1-5-21-7)S:(ML;;NW;;;S-1-16-8192)"
        )
        assert not attributes.bInheritHandle
    assert libraries.is_everything_freed
