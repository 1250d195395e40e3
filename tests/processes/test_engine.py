"""A shared engine: clients that join it, its faults, and what a client notices of them."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real.processes import wait_until_gone

import search_mcp
from processes.conftest import write
from processes.run import SECONDS, Run, server
from processes.shared import Home, connection, ends
from search_mcp.engine import hello
from search_mcp.engine.relay import ENGINE_LOST

pty: Any = pytest.importorskip("pty")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="engines are shared on POSIX; pidfds are of Linux")

ECHO = {"one": server("well_behaved")}
TOLD = {"told": server("does_as_told")}


def is_told_that_lists_changed(client: Run) -> bool:
    """Return whether the client was told this, and nothing else; of prompts and resources only if there may be some."""
    told = {each["method"].removesuffix("/list_changed") for each in client.others}
    return "notifications/tools" in told <= {f"notifications/{each}" for each in ("tools", "prompts", "resources")}


def test_two_clients_share_an_engine_that_serves_each_in_its_folder(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home, home.client() as first, home.client({"EXTRA": "2"}) as second:
        first.opens()
        second.opens()
        assert first.calls("one.echo", words="a") == "a"
        assert second.calls("one.echo", words="b") == "b"
        assert first.calls("one.folder") == str(tmp_path)
        assert len(home.engine()["clients"]) == 2


def test_fifty_clients_at_once_elect_one_engine(tmp_path: Path) -> None:
    with Home(tmp_path, {}) as home, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(home.client()) for _ in range(50)]
        asked = [each.sends("ping") for each in clients]
        for client, identifier in zip(clients, asked, strict=True):
            assert client.answer(identifier)["result"] == {}
        assert len(home.engine()["clients"]) == 50
        assert [path.suffix for path in sorted(home.meeting_folder.iterdir())] == [".lock", ".sock"]


def test_an_engine_that_is_killed_costs_an_error_for_each_open_call_and_nothing_else(tmp_path: Path) -> None:
    with Home(tmp_path, TOLD) as home, home.client() as client:
        client.opens()
        assert client.calls("told.echo", words="up") == "up"
        hanging = client.sends("tools/call", name="told.echo", arguments={"words": "hang"})
        assert client.calls("told.echo", words="up") == "up"
        home.kills_engine()
        error = client.answer(hanging)["error"]
        assert error == {"code": -32000, "message": ENGINE_LOST, "data": {"mayHaveRun": True}}
        assert client.calls("told.echo", words="again") == "again"
        assert is_told_that_lists_changed(client)


def test_the_next_message_after_the_end_of_an_idle_engine_works(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home, home.client() as client:
        client.opens()
        home.kills_engine()
        assert client.calls("one.echo", words="again") == "again"
        home.kills_engine()
        assert client.calls("one.echo", words="and again") == "and again"


def test_an_engine_that_is_stopped_is_replaced_for_the_next_message(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home, home.client() as client:
        client.opens()
        before = home.engine()["pid"]
        os.kill(before, signal.SIGTERM)
        client.waits_until(lambda: not home.sockets())
        assert client.calls("one.echo", words="again") == "again"
        assert home.engine()["pid"] != before


def test_an_engine_logs_at_the_level_of_the_configuration(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO, logLevel="debug") as home, home.client() as client:
        client.opens()
        assert client.calls("one.echo", words="up") == "up"
        client.waits_until(lambda: " DEBUG " in home.log.read_text())


def test_the_log_of_an_engine_is_limited_while_it_runs(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO, logLevel="debug") as home, home.client({"LOG_BYTES": "20000"}) as client:
        client.opens()
        for number in range(200):  # each causes several lines
            assert client.calls("one.echo", words=str(number)) == str(number)
    files = sorted(home.log.parent.iterdir())
    assert [file.name for file in files] == ["engine.log", "engine.old.log"]
    assert all(file.stat().st_size < 22_000 for file in files)


def test_a_stale_socket_is_replaced(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home:
        with home.client() as client:
            client.opens()
            home.kills_engine()
        (left,) = home.sockets()
        with socket.socket(socket.AF_UNIX) as nobody, pytest.raises(ConnectionRefusedError):
            nobody.connect(str(left))
        with home.client() as client:
            client.opens()
            assert client.calls("one.echo", words="up") == "up"
            assert home.sockets() == [left]


@pytest.mark.parametrize("fault", ["others may use it", "another user's", "a link", "a file"])
def test_a_folder_that_is_not_safe_is_not_used(tmp_path: Path, fault: str) -> None:
    with Home(tmp_path, ECHO) as home:
        folder = home.meeting_folder
        if fault == "a file":
            folder.touch(0o700)
        elif fault == "a link":
            (tmp_path / "elsewhere").mkdir(mode=0o700)
            folder.symlink_to(tmp_path / "elsewhere")
        else:
            folder.mkdir(mode=0o700)
        if fault == "others may use it":
            folder.chmod(0o770)
        if fault == "another user's":
            if os.getuid() != 0:
                pytest.skip("only root can make a folder of another user")
            os.chown(folder, 12345, -1)
        with home.client() as client:
            client.opens()
            assert client.calls("one.echo", words="alone") == "alone"
        assert client.stderr.count(b"no shared engine") == 1
        if folder.is_dir():
            assert list(folder.iterdir()) == []


def test_a_client_is_served_alone_while_the_engine_is_suspended(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home, home.client() as first:
        first.opens()
        pid = home.engine()["pid"]
        os.kill(pid, signal.SIGSTOP)
        try:
            with home.client({"PATIENCE": "0.5"}) as second:
                second.opens()
                assert second.calls("one.echo", words="alone") == "alone"
            assert second.stderr.count(b"no shared engine") == 1
            asked = first.sends("tools/call", name="one.echo", arguments={"words": "late"})
        finally:
            os.kill(pid, signal.SIGCONT)
        assert first.answer(asked)["result"]["content"][0]["text"] == "late"


def test_ten_megabytes_go_through_in_both_directions(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home, home.client() as client:
        client.opens()
        text = "x" * 10_000_000
        assert client.calls("one.echo", words=text) == text
        before = client.peak()
        assert len(client.calls("one.big", size=10_000_000)) == 10_000_000
        assert client.peak() < before + (4 << 20)


def test_a_client_that_does_not_read_takes_no_memory_and_delays_no_other(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home, home.client() as slow, home.client() as other:
        slow.opens()
        other.opens()
        slow.stops_reading()
        asked = [slow.sends("tools/call", name="one.big", arguments={"size": 1_600_000}) for _ in range(20)]
        assert other.calls("one.echo", words="up") == "up"
        slow.reads_on()
        for identifier in asked:
            assert len(slow.answer(identifier)["result"]["content"][0]["text"]) == 1_600_000
        assert slow.peak() < 48 << 20


def test_a_relay_that_is_killed_in_the_middle_of_a_line_ends_its_session_only(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home, home.client() as other:
        other.opens()
        with home.client() as client:
            client.opens()
            assert len(home.engine()["clients"]) == 2
            client._put(
                b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"arguments":{"words":"' + b"x" * 2_000_000
            )
            client.process.kill()
            assert client.process.wait(SECONDS) == -signal.SIGKILL
            other.waits_until(lambda: len(home.engine()["clients"]) == 1)
        assert other.calls("one.echo", words="up") == "up"


def test_an_engine_ends_when_its_last_client_has_been_gone_for_a_while(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home:
        with home.client({"IDLE": "1"}) as client:  # a client joins a new engine within that time
            client.opens()
            assert client.calls("one.echo", words="up") == "up"
        client.waits_until(lambda: not home.sockets())
        assert not wait_until_gone(home.mark)


def test_a_client_that_comes_while_the_engine_ends_gets_another_one(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home:
        for _ in range(4):
            with home.client({"IDLE": "0.5"}) as client:  # if no client joins a new engine in time, it ends, too
                client.opens()
                assert client.calls("one.echo", words="up") == "up"
            client.waits_until(lambda: not home.sockets())  # it takes no more clients, and its process goes on


def test_an_own_engine_goes_on_where_no_shared_one_can_be_started(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home, home.client() as client:
        (tmp_path / "msgspec.py").write_text("raise SystemExit('a module of the project was run')")
        client.opens()
        assert client.calls("one.echo", words="up") == "up"
        home.kills_engine()
        shutil.rmtree(home.meeting_folder)
        home.meeting_folder.touch()
        assert client.calls("one.echo", words="alone") == "alone"
        assert client.stderr.count(b"no shared engine") == 1
        client.close_stdin()
        assert client.ended() == 0
        assert is_told_that_lists_changed(client)
        home.meeting_folder.unlink()


def test_a_long_message_that_an_engine_is_lost_in_is_answered_and_the_next_one_works(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home, home.client() as client:
        client.opens()
        client.log.sent(b'{"jsonrpc":"2.0","id":"long","method":"tools/call","params":{"name":"one.echo"}}')
        client._put(b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"one.echo","arguments":{"words":"')
        client._put(b"x" * 3_000_000)
        home.kills_engine()
        client._put(b'"}},"id":"long"}\n')
        error = client.answer("long")["error"]
        assert error == {"code": -32000, "message": ENGINE_LOST, "data": {"mayHaveRun": True}}
        assert client.calls("one.echo", words="up") == "up"


def test_an_opening_that_is_nested_too_deeply_is_answered_as_without_an_engine(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home, home.client() as client:
        client.log.sent(b'{"jsonrpc":"2.0","id":"deep","method":"initialize","params":{}}')
        deep = b"[" * 70_000 + b"]" * 70_000
        client._put(b'{"jsonrpc":"2.0","id":"deep","method":"initialize","params":' + deep + b"}\n")
        assert "nested too deeply" in client.answer("deep")["error"]["message"]
        client.opens()


def test_a_wrong_configuration_at_a_loss_is_reported_until_it_is_repaired(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home, home.client() as client:
        client.opens()
        right = home.config.read_text()
        home.kills_engine()
        home.config.write_text("{")
        error = client.is_refused("one.echo", words="no")
        assert "not valid JSON" in error["message"]
        assert error["data"] == {"mayHaveRun": False}
        home.config.write_text(right)
        assert client.calls("one.echo", words="repaired") == "repaired"
        assert len(home.engine()["clients"]) == 1


def test_an_engine_that_is_killed_while_it_applies_an_edit_is_replaced_by_one_that_has_it(tmp_path: Path) -> None:
    with Home(tmp_path, TOLD) as home, home.client() as client:
        client.opens()
        assert client.calls("told.echo", words="up") == "up"
        hanging = client.sends("tools/call", name="told.echo", arguments={"words": "hang"})
        assert client.calls("told.echo", words="up") == "up"
        gate = tmp_path / "gate"
        os.mkfifo(gate)
        command = {"command": "sh", "args": ["-c", 'read _ < "$0"', str(gate)]}  # it starts, and is never ready
        write(client, {**TOLD, "slow": command}, engine="shared", firstListSeconds=60)
        with gate.open("w"):  # returns once the new server is there
            home.kills_engine()
            assert client.answer(hanging)["error"]["data"] == {"mayHaveRun": True}
            write(client, {**TOLD, "two": server("well_behaved")}, engine="shared", firstListSeconds=60)
            assert client.calls("two.echo", words="new") == "new"
            assert client.calls("told.echo", words="old") == "old"


@pytest.mark.parametrize("place", ["bind", "detach", "_say_ready"])
def test_a_client_is_served_alone_if_the_engine_is_killed_while_it_starts(tmp_path: Path, place: str) -> None:
    with Home(tmp_path, ECHO) as home:
        with home.client({"KILLED_BEFORE": place}) as client:
            client.opens()
            assert client.calls("one.echo", words="alone") == "alone"
        assert client.stderr.count(b"no shared engine") == 1
        with home.client() as client:
            client.opens()
            assert client.calls("one.echo", words="shared") == "shared"
            assert len(home.engine()["clients"]) == 1


def test_a_second_engine_whose_files_replaced_those_of_the_first_disturbs_none_of_its_clients(tmp_path: Path) -> None:
    """Programs that clean up /tmp remove the lock and the socket of a running engine."""
    with Home(tmp_path, ECHO) as home, home.client() as first:
        first.opens()
        before = home.engine()["pid"]
        shutil.rmtree(home.meeting_folder)
        with home.client() as second:
            second.opens()
            assert home.engine()["pid"] != before
            assert first.calls("one.echo", words="first") == "first"
            ends(before, signal.SIGTERM)
            assert first.calls("one.echo", words="joins the second") == "joins the second"
            assert second.calls("one.echo", words="second") == "second"
            assert len(home.engine()["clients"]) == 2


def test_an_engine_works_while_no_file_can_be_written(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home, home.client({"FULL": "1"}) as client:
        client.opens()
        assert client.calls("one.echo", words="up") == "up"
        home.kills_engine()
        assert client.calls("one.echo", words="again") == "again"
        assert len(home.engine()["clients"]) == 1


def test_clients_of_two_builds_have_an_engine_each(tmp_path: Path) -> None:
    package = tmp_path / "delays" / "search_mcp"
    with Home(tmp_path, ECHO) as home:
        shutil.copytree(Path(search_mcp.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
        with home.client() as old:
            old.opens()
            os.utime(package / "collector.py", (0, 0))
            with home.client() as new:
                new.opens()
                assert len({each["build"] for each in home.engines()}) == 2
                for each in home.engines():
                    ends(each["pid"], signal.SIGKILL)
                assert old.calls("one.echo", words="old") == "old"
                assert new.calls("one.echo", words="new") == "new"
                assert [len(each["clients"]) for each in home.engines()] == [1, 1]


AS_ANOTHER_USER = "import os, socket, sys; there = socket.socket(fileno=int(sys.argv[1])); os.setuid(12345); "
root = pytest.mark.skipif(sys.platform == "win32" or os.getuid() != 0, reason="only root has processes of other users")


@root
def test_the_socket_of_another_user_is_not_used(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home:
        with home.client() as client:
            client.opens()
            home.kills_engine()
        (path,) = home.sockets()
        path.unlink()
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
            code = AS_ANOTHER_USER + "there.listen(); print(flush=True); sys.stdin.read()"
            with another_users(code, listening) as process, home.client() as client:
                client.opens()
                assert client.calls("one.echo", words="alone") == "alone"
                assert b"another user" in client.stderr
                assert process.poll() is None


@root
def test_a_process_of_another_user_is_not_served(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home, home.client() as client:
        client.opens()
        (path,) = home.sockets()
        home.runtime.chmod(0o755)
        home.meeting_folder.chmod(0o755)
        path.chmod(0o777)
        code = AS_ANOTHER_USER + f"there.connect({str(path)!r}); print(there.recv(1), flush=True)"
        with socket.socket(socket.AF_UNIX) as connecting, another_users(code, connecting) as process:
            assert process.wait(SECONDS) == 0
        home.meeting_folder.chmod(0o700)
        assert client.calls("one.echo", words="up") == "up"


@contextlib.contextmanager
def another_users(code: str, kept: socket.socket) -> Iterator["subprocess.Popen[bytes]"]:
    """Run code as another user until its stdin ends; entered once it has printed a line."""
    command = [sys.executable, "-c", code, str(kept.fileno())]
    descriptors = (kept.fileno(),)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=descriptors) as process:
        assert process.stdout is not None
        assert process.stdout.readline() in (b"\n", b"b''\n")
        yield process


def test_a_first_line_that_comes_slowly_delays_no_other_client(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home, home.client() as client:
        client.opens()
        line = hello.encode({"wants": "status"})
        with connection(home, line[:10]) as slow:
            assert client.calls("one.echo", words="up") == "up"
            slow.sendall(line[10:])
            with slow.makefile("rb") as lines:
                assert len(hello.decode(lines.readline())["clients"]) == 1


def test_a_first_line_that_does_not_come_is_not_waited_for(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home, home.client({"HELLO": "0.5"}) as client:
        client.opens()
        with connection(home, b"{") as silent:
            assert silent.recv(1) == b""
        assert client.calls("one.echo", words="up") == "up"


def test_a_first_line_that_lacks_a_member_is_refused_and_costs_one_line_of_the_log(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home, home.client() as client:
        client.opens()
        line = hello.encode({"wants": "serve", "config": None})
        with connection(home, line) as wrong, wrong.makefile("rb") as answers:
            refused = json.loads(answers.read())["alone"]
        assert refused == "the engine cannot read the first line: its member client is missing or has a wrong type"
        log = client.types("engine", "logs").stdout
        assert log.count("its member client is missing") == 1
        assert "Traceback" not in log
        assert client.calls("one.echo", words="up") == "up"


def test_names_of_files_and_variables_need_not_be_utf_8(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"\xff")
    folder.mkdir()
    with Home(folder, ECHO) as home, home.client({"NAME": os.fsdecode(b"\xfe")}) as client:
        client.opens()
        assert client.calls("one.echo", words="up") == "up"
        home.kills_engine()
        assert client.calls("one.echo", words="again") == "again"
        assert len(home.engine()["clients"]) == 1


def test_a_client_may_be_a_terminal(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home:
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "search_mcp", "serve", "--config", str(home.config)]
        pipe = subprocess.PIPE
        run = subprocess.Popen(
            command, stdin=theirs, stdout=pipe, stderr=pipe, env=home.client().environment, cwd=tmp_path
        )
        with run:
            assert run.stdout is not None
            os.write(ours, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
            assert json.loads(run.stdout.readline()) == {"jsonrpc": "2.0", "id": 1, "result": {}}
            assert os.get_blocking(theirs)
            os.write(ours, b"\x04")  # the end of the input
            assert run.wait(SECONDS) == 0
        os.close(ours)
        os.close(theirs)


def test_messages_may_come_from_a_file_and_answers_go_to_one(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home:
        questions, answers = tmp_path / "questions", tmp_path / "answers"
        lines = [
            b'{"jsonrpc":"2.0","id":%d,"method":"ping","params":{"x":"%b"}}' % (n, b"x" * 1000) for n in range(500)
        ]
        questions.write_bytes(b"\n".join(lines))
        command = [sys.executable, "-m", "search_mcp", "serve", "--config", str(home.config)]
        with questions.open("rb") as stdin, answers.open("wb") as stdout:
            subprocess.run(
                command,
                stdin=stdin,
                stdout=stdout,
                env=home.client().environment,
                cwd=tmp_path,
                check=True,
                timeout=SECONDS,
            )
        assert [json.loads(line)["id"] for line in answers.read_bytes().splitlines()] == list(range(500))


def test_a_client_that_leaves_the_relay_many_open_files_is_served(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home, home.client({"FILES": "1100"}) as client:
        client.opens()
        assert client.calls("one.echo", words="up") == "up"
        assert len(home.engine()["clients"]) == 1


MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "a client", "version": "1"},
}


def test_a_modern_client_that_listens_is_told_to_listen_again(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home, home.client() as client:
        for _ in range(2):
            listening = client.sends("subscriptions/listen", notifications={"toolsListChanged": True}, _meta=MODERN)
            while client.next().get("method") != "notifications/subscriptions/acknowledged":
                pass
            home.kills_engine()
            assert client.answer(listening)["result"]["resultType"] == "complete"


def test_a_call_that_waits_for_the_user_is_refused_by_the_next_engine(tmp_path: Path) -> None:
    """It is parked in the lost one; the next knows nothing of it, and must not run it again."""
    able = {**MODERN, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
    with Home(tmp_path, TOLD) as home, home.client() as client:
        call = {"name": "told.echo", "arguments": {"words": "ask"}}
        asked = client.asks("tools/call", **call, _meta=able)
        assert asked["resultType"] == "input_required"
        (key,) = asked["inputRequests"]
        home.kills_engine()
        given = {"inputResponses": {key: {"action": "accept", "content": {}}}, "requestState": asked["requestState"]}
        error = client.answer(client.sends("tools/call", **call, **given, _meta=able))["error"]
        assert (error["code"], "requestState is unknown" in error["message"]) == (-32602, True)
        again = client.asks("tools/call", name="told.echo", arguments={"words": "up"}, _meta=able)
        assert again["content"][0]["text"] == "up"


def test_a_late_answer_to_a_question_of_a_lost_engine_answers_no_other(tmp_path: Path) -> None:
    with Home(tmp_path, {"keeps": server("keeps_state")}) as home, home.client() as client:
        hello = {"protocolVersion": "2025-11-25", "clientInfo": {"name": "a client", "version": "1"}}
        client.asks("initialize", capabilities={"roots": {}}, **hello)
        client.sends("tools/call", name="keeps.state", arguments={})
        lost = asked_for_roots(client)
        home.kills_engine()
        call = client.sends("tools/call", name="keeps.state", arguments={})
        asked = asked_for_roots(client)
        for identifier in (lost, asked):
            client.says({"id": identifier, "result": {"roots": [{"uri": f"file:///{identifier}"}]}})
        client.answer(call)
        assert client.calls("keeps.roots") == json.dumps([{"uri": f"file:///{asked}"}])


def asked_for_roots(client: Run) -> Any:
    while (message := client.next()).get("method") != "roots/list":
        pass
    return message["id"]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [({"XDG_RUNTIME_DIR": "/nowhere", "TMPDIR": "/nowhere"}, b"No such file"), ({"BROKEN": "1"}, b"it is broken")],
    ids=["no runtime folder", "an engine that does not start"],
)
def test_a_client_is_served_alone_where_no_engine_can_be_started(
    tmp_path: Path, fault: dict[str, str], reason: bytes
) -> None:
    with Home(tmp_path, ECHO) as home:
        with home.client(fault) as client:
            client.opens()
            assert client.calls("one.echo", words="alone") == "alone"
        assert client.stderr.count(b"no shared engine") == 1
        assert reason in client.stderr


@pytest.mark.parametrize(
    ("fault", "reason", "logged"),
    [
        ("UNREAD", "the engine could not read the configuration within 0 s", ""),
        (
            "NO_PIPES",
            "the engine cannot open pipes for this client: [Errno 24] Too many open files",
            "! client 1 cannot be given pipes, and runs its own servers: [Errno 24]",
        ),
    ],
)
def test_a_client_that_an_engine_cannot_take_is_served_alone(
    tmp_path: Path, fault: str, reason: str, logged: str
) -> None:
    with Home(tmp_path, ECHO) as home:
        with home.client({fault: "1"}) as client:
            client.opens()
            assert client.calls("one.echo", words="alone") == "alone"
            assert home.engine()["clients"] == []
        assert client.stderr.decode().count(f"no shared engine ({reason}); this client has its own") == 1
        assert logged in home.log.read_text()


def test_an_engine_with_too_many_open_files_takes_no_further_client(tmp_path: Path) -> None:
    resource: Any = pytest.importorskip("resource")
    with Home(tmp_path, ECHO) as home, home.client() as first:
        first.opens()
        assert first.calls("one.echo", words="up") == "up"
        engine = home.engine()["pid"]
        limits = resource.prlimit(engine, resource.RLIMIT_NOFILE)
        highest = max(int(each.name) for each in Path(f"/proc/{engine}/fd").iterdir())
        resource.prlimit(engine, resource.RLIMIT_NOFILE, (highest + 30, limits[1]))
        with home.client() as client:
            client.opens()
            assert client.calls("one.echo", words="alone") == "alone"
        assert client.stderr.count(b"no shared engine (the engine has too many open files)") == 1
        assert first.calls("one.echo", words="still up") == "still up"
        resource.prlimit(engine, resource.RLIMIT_NOFILE, limits)
        with home.client() as third:
            third.opens()
            assert len(home.engine()["clients"]) == 2


@pytest.mark.parametrize("error", ["MemoryError()", 'RuntimeError("can\'t start new thread")'])
def test_an_engine_without_memory_or_threads_ends_and_its_clients_go_on(tmp_path: Path, error: str) -> None:
    once = tmp_path / "once"
    environment = {"EXHAUSTED_ONCE": str(once), "EXHAUSTED_BY": error}
    with Home(tmp_path, ECHO) as home, home.client(environment) as first:
        first.opens()
        assert first.calls("one.echo", words="up") == "up"
        engine = home.engine()["pid"]
        once.touch()
        with home.client(environment) as second:
            second.opens()
            assert second.calls("one.echo", words="served") == "served"
            assert first.calls("one.echo", words="again") == "again"
            assert home.engine()["pid"] != engine
        assert home.log.read_text().count("! no memory or no thread is left: this engine ends") == 1


def test_the_status_says_how_much_memory_sharing_saves(tmp_path: Path) -> None:
    with Home(tmp_path, {"one": {**ECHO["one"], "share": True}}) as home, contextlib.ExitStack() as stack:
        for environment in ({"TERM": "xterm"}, {"TERM": "dumb"}, {}):
            client = stack.enter_context(home.client(environment))
            client.opens()
            assert client.calls("one.echo", words="up") == "up"
        (engine,) = json.loads(client.types("engine", "status", "--json").stdout)["engines"]
        (process,) = engine["servers"]
        assert process["sharing"] == 'shared by 3 clients: "share" is true'
        assert engine["saved"] == 2 * process["memory"] > 1 << 20


def test_the_commands_show_and_stop_the_engine(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home, contextlib.ExitStack() as stack:
        assert home.client().types("engine", "status").stdout == "No shared engine is running.\n"
        client = stack.enter_context(home.client())
        client.opens()
        assert client.calls("one.echo", words="up") == "up"
        (engine,) = json.loads(client.types("engine", "status", "--json").stdout)["engines"]
        (shown,) = engine["clients"]
        (server,) = shown["servers"]
        why = 'it is not known to keep nothing between calls; "share": true changes that'
        assert isinstance(server.pop("since"), float)
        sharing = f"one for each client: {why}"
        assert server == {"name": "one", "state": "ready", "word": "ready", "sharing": sharing}
        assert (shown["name"], shown["pid"]) == ("a client", os.getpid())
        assert shown["config"] == engine["config"] == str(home.config)
        (process,) = engine["servers"]
        assert {**server, "clients": 1} == {key: process[key] for key in (*server, "clients")}
        assert process["memory"] > 1 << 20
        assert engine["memory"] > 8 << 20
        assert "a client" in client.types("engine", "status").stdout
        assert client.types("engine", "stop", "1").returncode == 1
        assert client.types("engine", "stop", str(engine["pid"])).stdout == (
            f"Stopped the engine with pid {engine['pid']} and 1 client's servers.\n"
        )
        assert home.sockets() == []
        assert client.calls("one.echo", words="again") == "again"


def test_a_configuration_that_cannot_be_read_is_reported_as_without_an_engine(tmp_path: Path) -> None:
    with Home(tmp_path, ECHO) as home:
        home.config.write_text('{"mcpServers": {"one": {"command": 7}}, "settings": {"engine": "shared"}}')
        with home.client() as client:
            refused = client.answer(client.sends("ping"))
            assert "search-mcp cannot start" in refused["error"]["message"]
            client.close_stdin()
            assert client.ended() == 2
