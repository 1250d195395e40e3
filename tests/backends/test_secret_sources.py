"""Sources of secrets, with real files and processes, and a keyring of the test."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import keyring
import keyring.backend
import keyring.errors
import pytest

from search_mcp.backends import secret_sources, system_keyring
from search_mcp.backends.channel import CannotOpenChannelError
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.process.commands import CommandRunner
from search_mcp.backends.secret_sources import SourceError
from search_mcp.backends.system_keyring import KeyringError
from search_mcp.config import parsing
from search_mcp.config.schema import ServerConfig
from search_mcp.config.sources import MOST_BYTES
from search_mcp.wire.structs import replace

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX")


def entry(text: str, folder: Path, *, named: str = "") -> ServerConfig:
    """Return a server with a text in a variable; `folder` is that of its configuration."""
    written = json.dumps({"mcpServers": {"s": {"command": "a", "env": {"KEY": text}}}})
    config = parsing.parse(
        written, source="f", variables={}, home=str(folder / "home"), config_dir=str(folder), python="p", named=named
    )
    (server,) = config.servers
    assert server.problem is None, server.problem
    return server


def world(folder: Path, **variables: str) -> Dependencies:
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    return Dependencies(variables={**kept, **variables}, home=str(folder / "home"), folder=str(folder))


def read(server: ServerConfig, dependencies: Dependencies) -> str:
    async def main() -> ServerConfig:
        return await secret_sources.filled(server, dependencies)

    return anyio.run(main).env["KEY"]


def fails(server: ServerConfig, dependencies: Dependencies) -> str:
    with pytest.raises(SourceError) as failed:
        read(server, dependencies)
    return str(failed.value)


# Secrets of clients over HTTP


def of_anna(server: ServerConfig) -> ServerConfig:
    return replace(server, principal="anna")


@pytest.fixture
def secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of Anna's secrets."""
    monkeypatch.setattr(secret_sources, "secrets_folder", lambda principal: tmp_path / principal)
    folder = tmp_path / "anna"
    folder.mkdir()
    return folder


def test_a_secret_of_the_client_for_which_the_server_runs(tmp_path: Path, secrets: Path) -> None:
    (secrets / "TOKEN").write_text("of-anna\n")
    assert read(of_anna(entry("<${user:TOKEN}>", tmp_path)), world(tmp_path)) == "<of-anna>"


def test_a_missing_secret_of_a_client_names_its_command(tmp_path: Path, secrets: Path) -> None:
    with pytest.raises(SourceError) as failed:
        read(of_anna(entry("${user:TOKEN}", tmp_path)), world(tmp_path))
    assert str(failed.value) == "env.KEY: the secret TOKEN of anna does not exist"
    missing = failed.value.missing
    assert missing is not None
    assert missing.remedy == "search-mcp token secret anna TOKEN"
    assert not missing.is_replaced()
    (secrets / "TOKEN").touch()
    assert missing.is_replaced()


def test_only_clients_over_http_have_secrets(tmp_path: Path) -> None:
    assert "is one of each client over HTTP" in fails(entry("${user:TOKEN}", tmp_path), world(tmp_path))


# Files


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (b"token", "token"),
        (b"token\n", "token"),
        (b"token\r\n", "token"),
        (b"token\n\n", "token\n"),
        (b"token\r", "token\r"),
        (b" a \nb\n", " a \nb"),
        ("\ufeffé".encode(), "é"),
    ],
)
def test_the_content_of_a_file(tmp_path: Path, content: bytes, value: str) -> None:
    (tmp_path / "token").write_bytes(content)
    assert read(entry("<${file:token}>", tmp_path), world(tmp_path)) == f"<{value}>"


def test_where_a_file_is(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "a b").write_text("home")
    (tmp_path / "other").write_text("whole")
    assert read(entry("${file:~/a b}", tmp_path), world(tmp_path)) == "home"
    assert read(entry(f"${{file:{tmp_path / 'other'}}}", tmp_path / "home"), world(tmp_path)) == "whole"
    assert read(entry("${file:../other}", tmp_path / "home"), world(tmp_path)) == "whole"


@pytest.mark.parametrize(
    ("make", "clause"),
    [
        (lambda path: None, "does not exist"),
        (lambda path: path.mkdir(), "cannot be read"),
        (lambda path: path.write_bytes(b""), "gives an empty value"),
        (lambda path: path.write_bytes(b"\n"), "gives an empty value"),
        (lambda path: path.write_bytes(b"\xff\xfea"), "gives no UTF-8 text"),
        (lambda path: path.write_bytes(b"a\0b"), "gives a value with the character NUL"),
        (lambda path: path.write_bytes(b"a" * (MOST_BYTES + 1)), "is larger than 64 KiB"),
    ],
    ids=["absent", "folder", "empty", "line", "bytes", "nul", "large"],
)
def test_files_that_give_no_secret(tmp_path: Path, make: Callable[[Path], None], clause: str) -> None:
    make(tmp_path / "token")
    failure = fails(entry("${file:token}", tmp_path), world(tmp_path))
    assert failure.startswith(f"env.KEY: the file token {clause}")


@posix
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "token")
    assert "is not a regular file" in fails(entry("${file:token}", tmp_path), world(tmp_path))


@posix
@pytest.mark.parametrize("path", ["token", "linked/token", "../x/token"])
def test_a_link_beside_the_configuration_of_another_person_is_not_followed(tmp_path: Path, path: str) -> None:
    """A later state of a project could make a file that was accepted another file of the user."""
    folder = (tmp_path / "x").resolve()
    folder.mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "token").write_text("id_rsa")
    (folder / "linked").symlink_to(tmp_path / "secret")
    (folder / "token").symlink_to(tmp_path / "secret" / "token")
    config = str(folder / "mcp-servers.json")
    assert "is reached through a link" in fails(entry(f"${{file:{path}}}", folder, named=config), world(folder))
    assert read(entry(f"${{file:{path}}}", folder), world(folder)) == "id_rsa"
    whole = f"${{file:{folder / 'token'}}}"
    assert read(entry(whole, folder, named=config), world(folder)) == "id_rsa"
    (folder / "plain").write_text("plain")
    assert read(entry("${file:../x/./plain}", folder, named=config), world(folder)) == "plain"


@posix
def test_a_link_that_is_replaced_after_it_was_opened_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that swaps links in the folder must not choose the moment of the check."""
    folder = tmp_path.resolve()
    (folder / "secret").write_text("id_rsa")
    token = folder / "token"
    token.symlink_to(folder / "secret")
    look = os.path.realpath

    def swapped(path: str) -> str:
        token.unlink()
        token.write_text("harmless")
        return look(path)

    monkeypatch.setattr(os.path, "realpath", swapped)
    config = str(folder / "mcp-servers.json")
    assert "is reached through a link" in fails(entry("${file:token}", folder, named=config), world(folder))


# Commands


def python(program: str, *args: str) -> str:
    """Write a source that runs a Python program."""
    quoted = " ".join(f'"{word}"' for word in ("-S", "-E", "-c", program, *args))
    return f'${{command:"{sys.executable}" {quoted}}}'.replace("\\", "\\\\" if os.name == "posix" else "\\")


def test_the_output_of_a_command(tmp_path: Path) -> None:
    show = "import os, sys; print(*sys.argv[1:], os.environ['WHO'], os.getcwd(), sys.stdin.read(), sep='|')"
    text = python(show, "a b", "$WHO; x")
    given = world(tmp_path, WHO="the client")
    assert read(entry(text, tmp_path), given) == f"a b|$WHO; x|the client|{tmp_path.resolve()}|"


def test_a_command_starts_in_the_folder_of_its_server(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    server = replace(entry(python("import os; print(os.getcwd())"), tmp_path), cwd=str(tmp_path / "work"))
    assert read(server, world(tmp_path)) == str((tmp_path / "work").resolve())


@posix
def test_the_program_of_a_command_is_not_looked_for_in_the_folder_of_the_client(tmp_path: Path) -> None:
    config, client = tmp_path / "config", tmp_path / "client"
    for folder, text in ((config, "mine"), (client, "theirs")):
        folder.mkdir()
        (folder / "get").write_text(f"#!/bin/sh\necho {text}\n")
        (folder / "get").chmod(0o700)
    given = replace(world(config), folder=str(client))
    assert read(entry("${command:./get}", config), given) == "mine"
    assert "program 'get' was not found on PATH" in fails(entry("${command:get}", config), given)


@posix
def test_a_home_folder_in_a_command(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "token").write_text("x y")
    assert read(entry("${command:cat ~/token}", tmp_path), world(tmp_path)) == "x y"


SECRET = "s3cret-on-stderr"


@pytest.mark.parametrize(
    ("program", "clause"),
    [
        (f"import sys; sys.exit('{SECRET}')", "exited with code 1"),
        ("pass", "gives an empty value"),
        ("import sys; sys.stdout.buffer.write(bytes([255]))", "gives no UTF-8 text"),
        ("while True: print('x' * 1000)", "prints more than 64 KiB"),
        pytest.param("import os; os.kill(os.getpid(), 9)", "ended by signal 9", marks=posix),
    ],
    ids=["fails", "empty", "bytes", "floods", "killed"],
)
def test_commands_that_give_no_secret(tmp_path: Path, program: str, clause: str) -> None:
    failure = fails(entry(python(program), tmp_path), world(tmp_path))
    assert failure.startswith("env.KEY: the command `")
    assert failure.endswith(clause)
    assert failure.count(SECRET) == program.count(SECRET)  # as a part of the command, not of its output


def test_a_command_that_does_not_exist(tmp_path: Path) -> None:
    failure = fails(entry("${command:no-such-program read --token s3cret-s3cret}", tmp_path), world(tmp_path))
    assert failure.startswith("env.KEY: the command `no-such-program read --token '***'` cannot be run: ")


def test_a_command_runs_once_for_the_same_variables_and_folder(tmp_path: Path) -> None:
    log = tmp_path / "log"
    count = f"import os; open({str(log)!r}, 'a').write('x'); print(os.environ.get('A', 'none'))".replace("\\\\", "/")
    server, given = entry(python(count), tmp_path), world(tmp_path, A="1")
    other = replace(given, variables={**given.variables, "A": "2"})

    async def main() -> list[str]:
        worlds = (given, given, other, other, replace(given, folder=None))
        return [(await secret_sources.filled(server, each)).env["KEY"] for each in worlds]

    assert anyio.run(main) == ["1", "1", "2", "2", "1"]
    assert log.read_text() == "xxx"


def test_a_failed_command_runs_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    program = f"import sys; open({str(log)!r}, 'a').write('x'); sys.exit(1)".replace("\\\\", "/")
    server, given = entry(python(program), tmp_path), world(tmp_path)
    for _ in range(2):
        fails(server, given)
    assert log.read_text() == "xx"


def test_few_outputs_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret_sources, "MOST_OUTPUTS", 1)

    async def run(*_given: object) -> bytes:
        return b"x"

    given = replace(world(tmp_path), run_command=run)
    for each in "abc":
        assert read(entry(f"${{command:{each}}}", tmp_path), given) == "x"
    assert len(given.outputs) == 1


GRANDCHILD = """
import subprocess, sys, time
pipe = open(sys.argv[1], "w")
subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"], pass_fds=[pipe.fileno()])
pipe.write("both run\\n")
pipe.flush()
time.sleep(600)
"""


@posix
def test_a_command_that_is_given_up_ends_with_all_that_it_started(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    async def main() -> str:
        run = CommandRunner()
        words = [sys.executable, "-S", "-c", GRANDCHILD, str(tmp_path / "pipe")]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, words, dict(os.environ), str(tmp_path), None, MOST_BYTES)
            with anyio.fail_after(60):
                pipe = await anyio.to_thread.run_sync((tmp_path / "pipe").open, abandon_on_cancel=True)
                line = await anyio.to_thread.run_sync(pipe.readline, abandon_on_cancel=True)
            tasks.cancel_scope.cancel()
        with anyio.fail_after(60), pipe:  # it has an end once no process has it open
            return line + await anyio.to_thread.run_sync(pipe.read, abandon_on_cancel=True)

    assert anyio.run(main) == "both run\n"


@posix
def test_a_process_that_stays_does_not_hold_the_output_open(tmp_path: Path) -> None:
    text = "${command:sh -c 'sleep 600 & echo token'}"
    assert read(entry(text, tmp_path), world(tmp_path)) == "token"


# The keyring


class Keyring(keyring.backend.KeyringBackend):
    """A keyring in memory, which fails on demand."""

    priority = 1.0

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.passwords: dict[tuple[str, str], str] = {}
        self.error: Exception | None = None

    def get_password(self, service: str, username: str) -> str | None:
        if self.error is not None:
            raise self.error
        return self.passwords.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.error is not None:
            raise self.error
        self.passwords[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.passwords[service, username]


@pytest.fixture
def ring() -> Iterator[Keyring]:
    before = keyring.get_keyring()
    ring = Keyring()
    keyring.set_keyring(ring)
    yield ring
    keyring.set_keyring(before)


def test_a_password_of_the_keyring(tmp_path: Path, ring: Keyring) -> None:
    ring.passwords["search-mcp", "github/TOKEN"] = "s3cret\n"
    assert read(entry("Bearer ${keyring:search-mcp/github/TOKEN}", tmp_path), world(tmp_path)) == "Bearer s3cret\n"


@pytest.mark.parametrize(
    ("error", "clause"),
    [
        (None, "does not exist"),
        (
            keyring.errors.NoKeyringError(SECRET),
            "cannot be read, because this system has no keyring that can be used: ",
        ),
        (keyring.errors.KeyringLocked(SECRET), "cannot be read, because the keyring of the system is locked"),
        (
            RuntimeError(SECRET),
            "cannot be read, because the keyring of the system gave an error of the kind RuntimeErr",
        ),
    ],
    ids=["absent", "none", "locked", "other"],
)
def test_a_keyring_that_gives_no_password(tmp_path: Path, ring: Keyring, error: Exception | None, clause: str) -> None:
    ring.error = error
    failure = fails(entry("${keyring:a/b}", tmp_path), world(tmp_path))
    assert failure.startswith(f"env.KEY: the keyring entry a/b {clause}")
    assert SECRET not in failure


def test_without_the_library_the_error_names_the_command_that_adds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    failure = fails(entry("${keyring:a/b}", tmp_path), world(tmp_path))
    _, _, command = failure.partition("because the library keyring is not installed; this installs what is missing: ")
    assert "install" in command or "inject" in command
    assert "keyring" in command


def test_storing_and_deleting(ring: Keyring) -> None:
    system_keyring.store("a", "b", "c")
    assert system_keyring.read("a", "b") == "c"
    system_keyring.delete("a", "b")
    system_keyring.delete("a", "b")
    assert system_keyring.read("a", "b") is None
    ring.error = RuntimeError()
    with pytest.raises(KeyringError):
        system_keyring.store("a", "b", "c")
    with pytest.raises(KeyringError):
        system_keyring.delete("a", "b")


def test_sources_of_one_server_are_read_once_and_in_turn(tmp_path: Path) -> None:
    asked: list[list[str]] = []

    async def run(words: list[str], *_given: object) -> bytes:
        asked.append(words)
        if words == ["fails"]:
            raise CannotOpenChannelError("exited with code 3")
        return words[0].encode()

    given = replace(world(tmp_path), run_command=run)
    assert read(entry("${command:a} ${command:b} ${command:a}", tmp_path), given) == "a b a"
    assert "exited with code 3" in fails(entry("${command:fails} ${command:never}", tmp_path), given)
    assert asked == [["a"], ["b"], ["fails"]]


def test_a_server_without_sources_is_left_as_it_is(tmp_path: Path) -> None:
    server: Any = replace(entry("${file:a}", tmp_path), unfilled=None)

    async def main() -> ServerConfig:
        return await secret_sources.filled(server, world(tmp_path))

    assert anyio.run(main) is server
