"""No command runs a program that the user has not accepted."""

import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from processes.conftest import Serve, write
from processes.run import Json, Run, server
from search_mcp.files import locked

GOOD = server("well_behaved")
REMEDY = "`search-mcp check --accept evil"


class Unnamed(Run):
    """A `serve` that finds its configuration by itself, in the current folder or in the user's own."""

    def names_file(self) -> Sequence[str]:
        return ()


def evil(run: Run, **more: object) -> Json:
    """Return an entry whose program creates a file when it starts."""
    return server("leaves_a_mark", str(mark(run)), **more)


def mark(run: Run) -> Path:
    return run.folder / "PWNED"


def own(folder: Path) -> Path:
    return folder / "conf" / "search-mcp" / "mcp-servers.json"


def make(folder: Path, path: Path, kind: type[Run] = Run) -> Run:
    """Make a run whose user has a configuration folder of their own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return kind(folder, path, {"XDG_CONFIG_HOME": str(folder / "conf")})


def after(run: Run) -> Run:
    """Make another run with the same configuration; its entries have the mark of the first."""
    again = type(run)(run.folder, run.config, {"XDG_CONFIG_HOME": str(run.folder / "conf")})
    again.mark = run.mark
    return again


def is_held(run: Run, name: str = "evil") -> None:
    """Wait until a server is held, and check that a call does not start it."""
    run.logs(f"{name}: held: ")
    run.waits_until(lambda: run.states().get(name) == "held")
    error = run.is_refused(f"{name}.echo", words="x")
    assert (error["code"], error["data"]["state"]) == (-32000, "held")
    assert error["message"].startswith(f"MCP server '{name}' is not running: its command")
    assert " is new or changed in " in error["message"]
    assert f". Ask the user to run `search-mcp check --accept {name}" in error["message"]
    assert not mark(run).exists()


def test_a_program_that_an_edit_adds_is_held_until_it_is_accepted(serve: Serve) -> None:
    with serve({"one": GOOD}, confirmCommands=None) as run:
        run.opens()
        run.asks("tools/list")
        write(run, {"one": GOOD, "evil": evil(run)}, confirmCommands=None)
        is_held(run)
        assert run.calls("one.echo", words="still") == "still"
        (told,) = (each for each in run.servers() if each["name"] == "evil")
        assert (str(mark(run)) in told["command"], f"Ask the user to run {REMEDY}" in told["remedy"]) == (True, True)
        named = ("--config", str(run.config))
        for words in (["check", *named], ["list", "--refresh", *named], ["call", "evil.echo", *named]):
            assert REMEDY in " ".join((done := run.types(*words)).stdout.split() + done.stderr.split()), words
            assert done.returncode == (0 if words[0] == "list" else 1), done
            assert not mark(run).exists()
        assert "held" in run.types("servers", *named).stdout
        done = run.types("check", "one", "--accept", "evil", "--yes", *named)
        assert done.returncode == 0, done.stderr
        assert str(mark(run)) in done.stdout
        run.waits_until(lambda: run.states()["evil"] == "ready")
        assert run.calls("evil.echo", words="x") == "x"
        assert mark(run).exists()
    assert run.stderr.count(b"evil: held") == 1


def test_config_trust_accepts_all_that_is_held(serve: Serve) -> None:
    with serve({"one": GOOD}, confirmCommands=None) as run:
        run.opens()
        write(run, {"evil": evil(run), "evil2": evil(run)}, confirmCommands=None)
        is_held(run, "evil2")
        assert run.types("config", "trust", "--yes", str(run.config)).returncode == 0
        run.waits_until(lambda: run.states() == {"evil": "ready", "evil2": "ready"})


def test_a_program_that_an_edit_changes_is_held_and_the_old_one_stopped(serve: Serve) -> None:
    with serve({"evil": GOOD}, confirmCommands=None) as run:
        run.opens()
        run.asks("tools/list")
        write(run, {"evil": evil(run)}, confirmCommands=None)
        is_held(run)
        run.logs("evil: stopped, because the configuration changed")
        assert not [tool for tool in run.asks("tools/list")["tools"] if tool["name"].startswith("evil")]
        write(run, {"evil": GOOD}, confirmCommands=None)
        run.waits_until(lambda: run.states()["evil"] != "held")  # the program that ran before needs no new approval
        assert run.calls("evil.echo", words="x") == "x"


@pytest.mark.parametrize("change", [{"env": {"LD_PRELOAD": "x"}}, {"cwd": "."}, {"inheritEnv": True}])
def test_every_key_that_affects_the_process_is_part_of_a_program(serve: Serve, change: Json) -> None:
    with serve({"evil": GOOD}, confirmCommands=None) as run:
        run.opens()
        write(run, {"evil": {**GOOD, **change}}, confirmCommands=None)
        is_held(run)


def test_an_environment_inherited_by_all_servers_changes_every_program(serve: Serve) -> None:
    with serve({"evil": GOOD}, confirmCommands=None) as run:
        run.opens()
        write(run, {"evil": GOOD}, inheritEnv=True, confirmCommands=None)
        is_held(run)


def test_switches_filters_and_settings_take_effect_at_once(serve: Serve) -> None:
    with serve({"one": GOOD, "two": {**GOOD, "enabled": False}}, confirmCommands=None) as run:
        run.opens()
        run.asks("tools/list")
        entries = {"two": {**GOOD, "tools": {"deny": ["big"]}}, "one": {**GOOD, "disabled": True}}
        write(run, entries, confirmCommands=None, descriptionLength=50)
        run.waits_until(lambda: run.states()["one"] == "off" != run.states()["two"])
        assert run.calls("two.echo", words="x") == "x"
        run.is_refused("two.big", size=16)


def test_a_disabled_server_that_an_edit_adds_is_held_when_it_is_switched_on(serve: Serve) -> None:
    with serve({}, confirmCommands=None) as run:
        run.opens()
        write(run, {"evil": evil(run, enabled=False)}, confirmCommands=None)
        run.waits_until(lambda: run.states() == {"evil": "off"})
        assert b"held" not in run.stderr
        assert run.types("enable", "evil", "--config", str(run.config)).returncode == 0
        is_held(run)


def test_the_next_start_runs_all_programs_of_a_named_file(serve: Serve) -> None:
    with serve({}, confirmCommands=None) as run:
        run.opens()
        write(run, {"evil": evil(run)}, confirmCommands=None)
        is_held(run)
    with after(run) as again:
        again.opens()
        again.waits_until(lambda: again.states() == {"evil": "ready"})
        assert mark(run).exists()
        again.waits_until(lambda: "held" not in run.types("servers", "--config", str(run.config)).stdout)


def test_confirm_commands_is_read_at_the_start_only(serve: Serve) -> None:
    with serve({}, confirmCommands=None) as run:
        run.opens()
        write(run, {"evil": evil(run)}, confirmCommands=False)
        run.logs("confirmCommands is read at the start only")
        is_held(run)


def test_one_consent_releases_a_program_in_two_processes(serve: Serve) -> None:
    with serve({}, confirmCommands=None) as run, Run(run.folder, run.config) as other:
        for each in (run, other):
            each.opens()
            each.logs("= configuration")
        # Eager: otherwise the second process may start it only on a call, because the first has cached its
        # tools.
        write(run, {"evil": {**evil(run), "startup": "eager"}}, confirmCommands=None)
        is_held(run)
        is_held(other)
        assert run.types("check", "--accept", "evil", "--yes", "--config", str(run.config)).returncode == 0
        run.waits_until(lambda: run.states() == other.states() == {"evil": "ready"})


def test_an_edit_of_a_link_to_another_file_holds_its_programs(tmp_path: Path) -> None:
    """Its programs are different ones: a relative folder is resolved against the file's folder."""
    for name in ("mine", "theirs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.py").write_text(f"open({str(tmp_path / 'PWNED')!r}, 'w')" if name == "theirs" else "")
        entry = {**server("leaves_a_mark", "ran"), "cwd": "."}
        (tmp_path / name / "mcp-servers.json").write_text(
            json.dumps({"mcpServers": {"evil": entry}, "settings": {"engine": "own"}})
        )
    link = tmp_path / "mcp-servers.json"
    link.symlink_to(tmp_path / "mine" / "mcp-servers.json")
    with Run(tmp_path, link) as run:
        run.logs("= configuration")
        new = tmp_path / "new"
        new.symlink_to(tmp_path / "theirs" / "mcp-servers.json")
        new.replace(link)
        run.opens()
        run.logs("evil: held: ")
    assert not (tmp_path / "theirs" / "ran").exists()


# The user's own file


@pytest.mark.parametrize("kind", [Run, Unnamed])
def test_an_edit_of_the_users_own_file_takes_effect_at_once(tmp_path: Path, kind: type[Run]) -> None:
    run = make(tmp_path, own(tmp_path), kind)
    write(run, {}, confirmCommands=None)
    with run:
        run.opens()
        write(run, {"evil": evil(run)}, confirmCommands=None)
        run.waits_until(lambda: run.states() == {"evil": "ready"})


def test_the_users_own_file_may_be_reached_through_a_link(tmp_path: Path) -> None:
    """But a file that is named by its real path, perhaps in a repository, is not the user's own."""
    run = make(tmp_path, tmp_path / "dotfiles" / "servers.json", Unnamed)
    named = make(tmp_path, tmp_path / "dotfiles" / "servers.json")
    named.mark = run.mark
    write(run, {}, confirmCommands=None)
    own(tmp_path).parent.mkdir(parents=True)
    own(tmp_path).symlink_to(run.config)
    with named:
        named.opens()
        named.logs("= configuration")
        write(run, {"evil": evil(run)}, confirmCommands=None)
        is_held(named)
        write(run, {}, confirmCommands=None)
        with run:
            run.opens()
            write(run, {"evil": evil(run)}, confirmCommands=None)
            run.waits_until(lambda: run.states() == {"evil": "ready"})


def test_with_confirm_commands_it_is_held_in_the_users_own_file_too_and_after_a_start(tmp_path: Path) -> None:
    run = make(tmp_path, own(tmp_path))
    write(run, {"one": GOOD}, confirmCommands=True)
    with run:
        run.opens()
        run.waits_until(lambda: run.states() == {"one": "ready"})  # the first start accepts all programs
        write(run, {"one": GOOD, "evil": evil(run)}, confirmCommands=True)
        is_held(run)
        assert run.types("add", "two", "--", "/bin/true").returncode == 0
        run.waits_until(lambda: run.states().get("two", "held") != "held")  # the user has added it
    with after(run) as again:
        again.opens()
        is_held(again)
        assert again.types("check", "one", "--accept", "evil", "--yes").returncode == 0
        again.waits_until(lambda: again.states()["evil"] == "ready")
        assert mark(again).exists()


# A file of the current folder


def project(folder: Path) -> Path:
    return folder / "config" / "mcp-servers.json"


def test_a_folders_file_is_skipped_until_it_is_trusted(tmp_path: Path) -> None:
    theirs = make(tmp_path, project(tmp_path), Unnamed)
    write(theirs, {"evil": evil(theirs)}, confirmCommands=False)
    mine = make(tmp_path, own(tmp_path))
    write(mine, {"one": GOOD}, confirmCommands=None)
    theirs.mark = mine.mark
    with theirs:
        theirs.opens()
        theirs.waits_until(lambda: theirs.states() == {"one": "ready"})
        theirs.logs(f"{theirs.config} is not used, because you have not trusted it: `search-mcp config trust`")
        assert theirs.types("config", "trust", "--yes").returncode == 0
    assert not mark(theirs).exists()


def test_in_a_trusted_folder_an_added_program_is_held_also_after_a_start(tmp_path: Path) -> None:
    run = make(tmp_path, project(tmp_path), Unnamed)
    write(run, {"one": GOOD})
    assert run.types("config", "trust", "--yes").returncode == 0
    with run:
        run.opens()
        run.waits_until(lambda: run.states() == {"one": "ready"})
        write(run, {"one": GOOD, "evil": evil(run)})  # its own `confirmCommands: false` is ignored
        is_held(run)
    with after(run) as again:
        again.opens()
        is_held(again)
        assert again.calls("one.echo", words="x") == "x"
        assert again.types("list", "--refresh").returncode == 0
        assert not mark(again).exists()
        done = again.types(
            "check", "one", "--accept", "evil", "--yes", "--config", str(again.config)
        )  # as in the remedy
        assert done.returncode == 0, done.stderr
        again.waits_until(lambda: again.states()["evil"] == "ready")


@pytest.mark.skipif(sys.platform == "win32", reason="links of POSIX")
def test_an_edit_to_a_link_does_not_use_the_trust_in_another_folder(tmp_path: Path) -> None:
    """The edit is a link to a trusted file, whose relative programs are different ones here."""
    run = make(tmp_path, project(tmp_path), Unnamed)
    write(run, {})
    trusted = make(tmp_path, project(tmp_path / "trusted"))
    write(trusted, {"evil": evil(run)})
    for path in (run.config, trusted.config):
        assert run.types("config", "trust", "--yes", str(path)).returncode == 0
    with run:
        run.opens()
        run.logs("= configuration")
        new = run.config.with_suffix(".link")
        new.symlink_to(trusted.config)
        new.replace(run.config)
        run.logs("it is now a link to another folder's file; put the file itself there; what ran goes on running")
        assert run.states() == {}
    assert not mark(run).exists()


def test_an_edit_that_removes_confirm_commands_runs_nothing(tmp_path: Path) -> None:
    run = make(tmp_path, own(tmp_path))
    write(run, {}, confirmCommands=True)
    with run:
        run.opens()
        run.logs("= configuration")
        write(run, {"evil": evil(run)}, confirmCommands=None)
        is_held(run)
        assert REMEDY in " ".join(run.types("check").stdout.split())
    with after(run) as again:
        again.opens()
        is_held(again)
        again.logs("confirmCommands was true and still counts, until `search-mcp config trust")
        assert again.types("config", "trust", "--yes", str(run.config)).returncode == 0
        again.waits_until(lambda: again.states()["evil"] == "ready")
    with after(run) as last:
        last.opens()
        write(run, {"evil": evil(run), "two": GOOD}, confirmCommands=None)
        last.waits_until(lambda: last.states().get("two") == "ready")


# Configurations that are no regular files


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes of POSIX")
@pytest.mark.parametrize("kind", ["pipe", "/dev/zero"])
def test_a_configuration_that_becomes_a_pipe_or_endless_blocks_nothing(serve: Serve, kind: str) -> None:
    with serve({"one": GOOD}) as run:
        run.opens()
        run.asks("tools/list")
        os.mkfifo(run.folder / "pipe")
        new = run.config.with_suffix(".new")
        new.symlink_to(run.folder / kind)
        new.replace(run.config)
        run.logs("it is not a regular file; put a file there, or a link to one; what ran goes on running")
        assert run.calls("one.echo", words="still") == "still"


# Records that cannot be written


@pytest.mark.skipif(sys.platform != "linux", reason="file names of bytes")
def test_a_path_that_is_not_unicode_can_be_trusted(tmp_path: Path) -> None:
    run = make(tmp_path, tmp_path / os.fsdecode(b"\xff") / "mcp-servers.json")
    write(run, {}, confirmCommands=None)
    with run:
        run.opens()
        write(run, {"evil": evil(run)}, confirmCommands=None)
        is_held(run)
        assert run.types("config", "trust", "--yes", str(run.config)).returncode == 0
        run.waits_until(lambda: run.states() == {"evil": "ready"})
    assert b"Traceback" not in run.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_signal_waits_for_no_lock(tmp_path: Path) -> None:
    run = make(tmp_path, tmp_path / "mcp-servers.json")
    write(run, {}, confirmCommands=None)
    with run:
        run.opens()
        run.logs("= configuration")
        with locked(tmp_path / "state" / "search-mcp" / "programs.lock", 1):
            write(run, {"evil": evil(run)}, confirmCommands=None)
            run.logs("evil: held: ")
            run.process.send_signal(signal.SIGTERM)
            assert run.ended() == 128 + signal.SIGTERM
    assert b"cannot be remembered" not in run.stderr  # that message would follow a wait for the lock


def test_with_a_home_that_is_a_file_servers_run_and_new_programs_are_held(serve: Serve, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.touch()
    environment = {"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "XDG_CACHE_HOME": str(home / "cache")}
    with serve({"one": GOOD}, environment, confirmCommands=None) as run:
        run.opens()
        run.asks("tools/list")
        run.logs("cannot be made (Not a directory)")
        write(run, {"one": GOOD, "evil": evil(run)}, confirmCommands=None)
        is_held(run)
    assert b"Traceback" not in run.stderr
