"""The shared engine as the default: who gets one, the way back, and the places where there can be none."""

import json
import os
import platform
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from real.processes import VARIABLE, engines, wait_until_gone

import search_mcp
from processes.conftest import write
from processes.run import SECONDS, Run, server
from processes.shared import Home, ends
from search_mcp.engine.joining import ask
from search_mcp.engine.relay import run as relay

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="engines are shared on POSIX; pidfds are of Linux")

ECHO = {"one": server("well_behaved")}
SERVES_ALONE = b"no shared engine"


def is_served(client: Run) -> bool:
    client.opens()
    return client.calls("one.echo", words="up") == "up"


def test_clients_share_an_engine_without_any_setting(tmp_path: Path) -> None:
    with Home(tmp_path, {}) as home:
        marked = {"one": {**ECHO["one"], "env": {VARIABLE: home.mark}}}
        home.config.write_text(json.dumps({"mcpServers": marked}))
        with home.client() as first, home.client() as second:
            assert is_served(first)
            assert is_served(second)
            assert len(home.engine()["clients"]) == 2
            assert SERVES_ALONE not in first.stderr + second.stderr


def test_a_client_has_a_process_of_its_own_if_the_file_says_so(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO, engine="own") as home:
        with home.client() as client:
            assert is_served(client)
            assert not home.meeting_folder.exists()
        assert SERVES_ALONE not in client.stderr


def test_options_in_an_unusual_form_are_served_without_an_engine(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home:
        with home.client(options=("--",)) as client:
            assert is_served(client)
            assert not home.meeting_folder.exists()
        assert SERVES_ALONE not in client.stderr


def test_an_edit_goes_back_for_new_clients_at_once_and_for_others_after_the_end_of_the_engine(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home, home.client() as running:
        assert is_served(running)
        write(running, ECHO, engine="own", firstListSeconds=60)
        with home.client() as new:
            assert is_served(new)
            assert len(home.engine()["clients"]) == 1
        assert running.calls("one.echo", words="still shared") == "still shared"
        assert running.types("engine", "stop").returncode == 0
        assert running.calls("one.echo", words="own") == "own"
        assert home.sockets() == []
        assert SERVES_ALONE not in running.stderr + new.stderr
        write(running, ECHO, engine="shared", firstListSeconds=60)
        with home.client() as newest:
            assert is_served(newest)
            assert len(home.engine()["clients"]) == 1


@pytest.mark.parametrize("place", ["Windows", "the first process of a container"])
def test_a_client_has_a_process_of_its_own_where_an_engine_has_no_use(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    if place == "Windows":
        monkeypatch.setattr(sys, "platform", "win32")
    else:
        monkeypatch.setattr(os, "getpid", lambda: 1)
    assert relay({}, str(tmp_path / "servers.json")) is None
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("fault", ["none", "a folder", "a pipe"])
def test_a_file_that_cannot_be_read_is_reported_in_one_sentence(tmp_path: Path, fault: str) -> None:
    with Home(tmp_path, ECHO) as home:
        home.config.unlink()
        if fault != "none":
            (os.mkfifo if fault == "a pipe" else os.mkdir)(home.config)
        is_reported(home)
        assert not home.meeting_folder.exists()


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b'{"mcpServers": {',
        b'{"settings": {"engine": "own"',
        b'{"mcpServers": {}, "settings": {"engine": "none"}}',
        '{"mcpServers": {}}'.encode("utf-16"),
    ],
)
def test_a_wrong_file_is_reported_in_one_sentence_and_leaves_no_engine(tmp_path: Path, text: bytes) -> None:
    with Home(tmp_path, ECHO) as home:
        home.config.write_bytes(text)
        is_reported(home)
        assert not wait_until_gone(home.mark)


def is_reported(home: Home) -> None:
    with home.client() as client:
        refused = client.answer(client.sends("ping"))["error"]["message"]
        assert refused.startswith("search-mcp cannot start")
        assert str(home.config) in refused
        client.close_stdin()
        assert client.ended() == 2
    assert str(home.config).encode() in client.stderr
    assert client.stderr.count(b"\n") == 1
    assert SERVES_ALONE not in client.stderr


# Places where no engine can be used

CONFINES = """
import ctypes, os, struct, sys

libc = ctypes.CDLL(None)
if "FORBIDDEN" in os.environ:  # this system call fails with EPERM
    steps = [(0x20, 0, 0, 0), (0x15, 0, 1, int(os.environ["FORBIDDEN"])), (6, 0, 0, 0x50001), (6, 0, 0, 0x7FFF0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code))
    assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    assert libc.prctl(22, 2, program, 0, 0) == 0  # PR_SET_SECCOMP with a filter
if "RESTRICTED" in os.environ:
    assert libc.prctl(38, 1, 0, 0, 0) == 0
if "WITHOUT_PROC" in os.environ:
    assert libc.unshare(0x20000) == 0  # CLONE_NEWNS
    assert libc.mount(None, b"/", None, 0x44000, None) == 0  # MS_PRIVATE | MS_REC
    assert libc.mount(b"none", b"/proc", b"tmpfs", 0, None) == 0
if "SESSION" in os.environ and "serve" in sys.orig_argv:  # its folder is where systemd has it
    assert libc.unshare(0x20000) == 0
    assert libc.mount(None, b"/", None, 0x44000, None) == 0
    assert libc.mount(b"none", b"/run", b"tmpfs", 0, None) == 0
    os.makedirs(f"/run/user/{os.getuid()}/bus")
if "GROUP" in os.environ and "serve" in sys.orig_argv:
    os.setpgid(0, 0)
"""
"""Changes what the processes of a client may do, by their variables."""
CALLS = {"x86_64": {"socket": 41, "connect": 42, "bind": 49}, "aarch64": {"socket": 198, "bind": 200, "connect": 203}}
root = pytest.mark.skipif(sys.platform == "win32" or os.getuid() != 0, reason="only root may mount")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with Home(tmp_path, ECHO) as home:
        with (tmp_path / "delays" / "sitecustomize.py").open("a") as file:
            file.write(CONFINES)
        yield home


@pytest.mark.parametrize("call", ["socket", "connect", "bind"])
def test_a_client_is_served_where_sockets_are_forbidden(home: Home, call: str) -> None:
    if (numbers := CALLS.get(platform.machine())) is None:
        pytest.skip("the numbers of system calls are not known here")
    with home.client({"FORBIDDEN": str(numbers[call])}) as client:
        assert is_served(client)
    assert client.stderr.count(SERVES_ALONE) == 1
    assert b"Operation not permitted" in client.stderr


def test_a_client_is_served_where_the_runtime_folder_is_read_only(home: Home) -> None:
    with home.client({"XDG_RUNTIME_DIR": "/sys", "TMPDIR": "/sys"}) as client:  # nobody can make a folder there
        assert is_served(client)
    assert client.stderr.count(SERVES_ALONE) == 1
    assert b"/sys/search-mcp" in client.stderr


@root
def test_clients_without_proc_share_an_engine(home: Home) -> None:
    with home.client({"WITHOUT_PROC": "1"}) as first, home.client({"WITHOUT_PROC": "1"}) as second:
        assert is_served(first)
        assert is_served(second)
        assert len(home.engine()["clients"]) == 2


@root
def test_a_client_that_passes_on_few_variables_has_an_engine_with_the_session_of_its_user(home: Home) -> None:
    with home.client({"SESSION": "1", "XDG_RUNTIME_DIR": ""}) as client:
        assert is_served(client)
        (engine,) = engines(home.mark)
        process, session = Path(f"/proc/{engine}"), f"run/user/{os.getuid()}"
        assert len([*(process / "root" / session / "search-mcp").glob("*.sock")]) == 1
        assert f"DBUS_SESSION_BUS_ADDRESS=unix:path=/{session}/bus".encode() in (process / "environ").read_bytes()
    ends(engine, signal.SIGTERM)


def test_a_client_with_fewer_rights_has_an_engine_with_these(home: Home) -> None:
    with home.client() as free, home.client({"RESTRICTED": "1"}) as restricted:
        assert is_served(free)
        assert is_served(restricted)
        assert [len(each["clients"]) for each in home.engines()] == [1, 1]


def test_a_client_that_ends_all_its_processes_ends_no_engine(home: Home) -> None:
    with home.client({"GROUP": "1"}) as first, home.client() as second:
        assert is_served(first)
        engine = home.engine()["pid"]
        assert is_served(second)
        os.killpg(first.process.pid, signal.SIGKILL)
        first.process.wait()
        assert second.calls("one.echo", words="still up") == "still up"
        assert home.engine()["pid"] == engine


def test_a_logout_that_removes_the_runtime_folder_ends_no_client(home: Home) -> None:
    with tempfile.TemporaryDirectory(prefix="search-mcp-") as temporary, home.client() as client:
        assert is_served(client)
        engine = home.engine()["pid"]
        shutil.rmtree(home.runtime)
        assert client.calls("one.echo", words="still up") == "still up"
        with home.client({"TMPDIR": temporary}) as new:  # without a session of the system
            assert is_served(new)
        (path,) = Path(temporary).rglob("*.sock")
        assert ask(str(path), {"wants": "stop"}, SECONDS)
        ends(engine, signal.SIGKILL)
        assert client.calls("one.echo", words="alone") == "alone"
        assert client.stderr.count(SERVES_ALONE) == 1
        home.runtime.mkdir(0o700)  # by the next login


def test_an_update_that_removes_our_files_is_reported_once_an_engine_is_needed(home: Home) -> None:
    package = home.folder / "delays" / "search_mcp"
    shutil.copytree(Path(search_mcp.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    with home.client() as first:
        assert is_served(first)
        with home.client() as client:
            assert is_served(client)  # it has started no engine, so it has not loaded what that takes
            shutil.rmtree(package)
            assert client.calls("one.echo", words="still up") == "still up"
            home.kills_engine()
            error = client.is_refused("one.echo", words="no")
            assert "no other engine could be started" in error["message"]
            assert error["data"] == {"mayHaveRun": False}
