"""Where relays and engines meet: the folder and its checks, the name, and the user of the other side."""

import os
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from search_mcp import __version__
from search_mcp.engine import meeting
from search_mcp.engine.meeting import (
    MOST_BYTES,
    UnsafeFolderError,
    folder_name,
    is_own,
    is_same_user,
    make_safe,
    name,
    of_engine,
)

posix = pytest.mark.skipif(sys.platform == "win32", reason="the sockets of POSIX")
NAME_BYTES = len("/") + meeting.NAME_LENGTH + len(".sock")


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"XDG_RUNTIME_DIR": "/run/user/7", "TMPDIR": "/t"}, "/run/user/7/search-mcp"),
        ({"XDG_RUNTIME_DIR": "/run/user/7/"}, "/run/user/7/search-mcp"),
        ({}, "/run/user/7/search-mcp"),
        ({"TMPDIR": "/t"}, "/run/user/7/search-mcp"),
        ({"XDG_RUNTIME_DIR": ""}, "/run/user/7/search-mcp"),
        ({"XDG_RUNTIME_DIR": "run"}, "/run/user/7/search-mcp"),
        ({"XDG_RUNTIME_DIR": "/" + "x" * 80}, "/tmp/search-mcp-7"),
    ],
)
def test_the_folder_is_the_users_and_short_enough(variables: dict[str, str], folder: str) -> None:
    assert folder_name(variables, 7, lambda _: True) == folder
    assert len(folder) + NAME_BYTES <= MOST_BYTES


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"TMPDIR": "/var/folders/ab/T/"}, "/var/folders/ab/T/search-mcp-7"),
        pytest.param(
            {}, "/tmp/search-mcp-7", marks=pytest.mark.skipif("sys.platform == 'darwin'", reason="it has another one")
        ),
        ({"TMPDIR": "."}, "/tmp/search-mcp-7"),
    ],
)
def test_without_a_runtime_folder_it_is_in_a_temporary_one(variables: dict[str, str], folder: str) -> None:
    assert folder_name(variables, 7, lambda _: False) == folder


@posix
def test_clients_that_pass_on_few_variables_meet_the_others() -> None:
    bus = f"/run/user/{os.getuid()}/bus"
    shell = {"HOME": "/h", "XDG_RUNTIME_DIR": "/run/user/7", "DBUS_SESSION_BUS_ADDRESS": f"unix:path={bus}"}
    few = {"HOME": "/h"}
    names = {name("/a.json", "build", of_engine(each, bus.__eq__)) for each in (shell, few)}
    assert len(names) == 1
    assert of_engine(few, lambda _: False) == few
    assert of_engine({**few, "DBUS_SESSION_BUS_ADDRESS": "unix:path=/b"}, bus.__eq__) != of_engine(few, bus.__eq__)


@posix
def test_a_runtime_folder_that_is_missing_or_of_another_user_is_not_used(tmp_path: Path) -> None:
    assert is_own(str(tmp_path))
    assert not is_own(str(tmp_path / "missing"))
    if os.getuid() == 0:
        os.chown(tmp_path, 12345, -1)
    assert not is_own(str(tmp_path) if os.getuid() == 0 else "/")
    assert folder_name({"XDG_RUNTIME_DIR": "/run/user/8", "TMPDIR": "/t"}, 7, lambda _: False) == "/t/search-mcp-7"


@posix
def test_a_folder_is_made_for_the_user_only(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    for _ in range(2):
        make_safe(str(folder))
        assert folder.stat().st_mode & 0o777 == 0o700


@posix
def test_a_folder_that_others_may_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o701)
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "file").touch(0o700)
    for each in ("open", "link", "file"):
        with pytest.raises(UnsafeFolderError, match=each):
            make_safe(str(tmp_path / each))


def test_a_name_stands_for_one_configuration_build_and_environment_of_the_engine() -> None:
    variables = {"HOME": "/h", "XDG_CACHE_HOME": "/c", "https_proxy": "p", "TOKEN": "1"}
    same = name("/a.json", "build", {**variables, "TOKEN": "2", "PWD": "/x", "XDG_ACTIVATION_TOKEN": "t"})
    assert name("/a.json", "build", variables) == same
    others = {
        name("/b.json", "build", variables),
        name("/a.json", "another build", variables),
        name("/a.json", "build", {**variables, "XDG_CACHE_HOME": "/d"}),
        name("/a.json", "build", {**variables, "https_proxy": "q"}),
        name("/a.json", "build", {**variables, "DBUS_SESSION_BUS_ADDRESS": "unix:path=/b"}),
        name("/a.json", "build", {**variables, "HOME": "/\udc80"}),
    }
    assert len(others - {same}) == 6
    assert all(len(each) == meeting.NAME_LENGTH for each in (same, *others))


@posix
def test_clients_with_another_umask_have_another_engine(tmp_path: Path) -> None:
    """Servers inherit it from the engine."""
    variables = {"XDG_RUNTIME_DIR": str(tmp_path)}
    (tmp_path / "search-mcp").mkdir(mode=0o700)
    before = os.umask(0o022)
    try:
        usual = meeting.meeting("a.json", variables).socket
        assert meeting.meeting("a.json", variables).socket == usual
        os.umask(0o027)
        assert meeting.meeting("a.json", variables).socket != usual
        assert os.umask(before) == 0o027
    finally:
        os.umask(before)


@posix
def test_clients_that_encode_names_of_files_in_another_way_have_another_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first line has names as text, and the engine encodes them again."""
    variables = {"XDG_RUNTIME_DIR": str(tmp_path)}
    usual = meeting.meeting("a.json", variables).socket
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: "iso8859-1")
    assert meeting.meeting("a.json", variables).socket != usual


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not tell it")
def test_a_process_in_a_container_has_another_name() -> None:
    before = meeting.confinement()
    assert [each.partition(":")[0] for each in before[:2]] == ["mnt", "pid"]
    inside = subprocess.run(
        [
            "unshare",
            "--user",
            "--mount",
            sys.executable,
            "-c",
            "from search_mcp.engine import meeting as m; print(m.confinement())",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if inside.returncode != 0:
        pytest.skip("this user may make no namespaces")
    assert inside.stdout.strip() != str(before)


def test_a_build_is_that_of_the_files(tmp_path: Path) -> None:
    assert meeting.build() == meeting.build()
    before = meeting.build_of(str(tmp_path))
    (tmp_path / "a.py").write_text("1")
    after = meeting.build_of(str(tmp_path))
    assert before != after
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "b.py").write_text("1")
    assert meeting.build_of(str(tmp_path)) == after
    os.utime(tmp_path / "a.py", (0, 0))
    assert meeting.build_of(str(tmp_path)) != after


def test_a_build_of_a_wheel_is_that_of_its_record(tmp_path: Path) -> None:
    package = tmp_path / "search_mcp"
    package.mkdir()
    record = tmp_path / f"search_mcp-{__version__}.dist-info" / "RECORD"
    record.parent.mkdir()
    record.write_text("one")
    before = meeting.build_of(str(package))
    (package / "a.py").write_text("1")
    assert meeting.build_of(str(package)) == before
    record.write_text("two")
    assert meeting.build_of(str(package)) != before


@posix
def test_the_other_side_of_a_connection_is_this_user() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert is_same_user(ours)


class Other:
    """A connection to a process of another user, as each system tells it."""

    def __init__(self, uid: int) -> None:
        self._uid = uid

    def getsockopt(self, level: int, option: int, size: int) -> bytes:
        if level == socket.SOL_SOCKET:
            return struct.pack("3i", 1, self._uid, 1)
        return struct.pack("2I", 0, self._uid).ljust(size, b"\0")


@posix
@pytest.mark.parametrize("platform", ["linux", "darwin", "freebsd14"])
def test_another_user_is_recognized(platform: str) -> None:
    assert is_same_user(Other(os.getuid()), platform)  # type: ignore[arg-type]
    assert not is_same_user(Other(os.getuid() + 1), platform)  # type: ignore[arg-type]


@posix
def test_the_sockets_of_the_user_are_those_in_the_folder() -> None:
    with tempfile.TemporaryDirectory() as short:
        variables = {"XDG_RUNTIME_DIR": short}
        assert meeting.sockets(variables) == []
        place = meeting.meeting("a.json", variables)
        Path(place.socket).touch()
        Path(place.lock).touch()
        assert meeting.sockets(variables) == [place.socket]


def test_the_platforms_where_engines_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    assert meeting.is_supported("linux") is hasattr(socket, "AF_UNIX")
    assert not meeting.is_supported("win32")
    monkeypatch.delattr(socket, "AF_UNIX", raising=False)
    assert not meeting.is_supported("another")
