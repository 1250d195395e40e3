"""`add`, `remove`, `enable`, `disable`: edits of a person's file, also while search-mcp runs."""

import json
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from processes.run import SERVERS, Run
from real.processes import VARIABLE

from cli.conftest import COMMAND, SECONDS, Place, server
from cli.test_commands import is_one_sentence
from search_mcp.cli.files import own_file
from search_mcp.cli.files.own_file import in_turn
from search_mcp.cli.problem import Problem
from search_mcp.clients import mcp_remote
from search_mcp.config import jsonc
from search_mcp.files import locked

OURS = """\
{
  // my servers
  "mcpServers": {
    "files": {"command": "npx", "args": ["-y", "pkg"]}, // keep me
    /* "old": {}, */
    "git": {
      "command": "uvx",
      "disabled": true,
    },
  },
  "settings": {"listing": "light"},
}
"""


@pytest.fixture
def config(place: Place) -> Path:
    path = place.config
    path.parent.mkdir(parents=True)
    path.write_bytes(OURS.encode())
    return path


EDITS = [
    (["enable", "git"], '"disabled": true', '"disabled": false'),
    (["enable", "files"], "", ""),
    (["disable", "git"], "", ""),
    (["disable", "files"], '["-y", "pkg"]}', '["-y", "pkg"], "enabled": false}'),
    (["disable", "files.read"], '"pkg"]}', '"pkg"], "tools": {"deny": ["read"]}}'),
    (["enable", "files.read"], "", ""),
    (["remove", "files"], '    "files": {"command": "npx", "args": ["-y", "pkg"]}, // keep me\n', ""),
    (
        ["add", "new", "--env", "A=b=c", "--cwd", "/c", "--", "npx", "-y", "x"],
        "    },\n  },",
        (
            "    },\n"
            '    "new": {\n      "command": "npx",\n      "args": ["-y", "x"],\n'
            '      "env": {\n        "A": "b=c"\n      },\n      "cwd": "/c"\n    },\n  },'
        ),
    ),
    (
        ["add", "--json", '{"mcpServers": {"new": {"command": "x", "autoApprove": []}}}'],
        "    },\n  },",
        '    },\n    "new": {\n      "command": "x"\n    },\n  },',
    ),
    (["add", "files", "--", "npx", "-y", "pkg"], "", ""),
    (["add", "--json", '{"again": {"command": "npx", "args": ["-y", "pkg"]}}'], "", ""),
    (
        ["add", "again", "--", "npx", "-y", "pkg"],  # a server of another name is the same, but this name was requested
        "    },\n  },",
        ('    },\n    "again": {\n      "command": "npx",\n      "args": ["-y", "pkg"]\n    },\n  },'),
    ),
    (
        ["add", "again", "--json", '"mcpServers": {"pkg": {"command": "npx", "args": ["-y", "pkg"], "cwd": "/c"}},'],
        "    },\n  },",
        (
            '    },\n    "again": {\n      "command": "npx",\n      "args": ["-y", "pkg"],\n'
            '      "cwd": "/c"\n    },\n  },'
        ),
    ),
]


@pytest.mark.parametrize(("words", "old", "new"), EDITS, ids=[" ".join(row[0][:3]) for row in EDITS])
def test_edits(place: Place, config: Path, words: list[str], old: str, new: str) -> None:
    is_added = words[0] == "add" and old != new
    name = "again" if "again" in words else "new"
    ended = place.run(words[0], *(["--no-start"] if words[0] == "add" else []), *words[1:])
    assert (ended.code, ended.err) == (0, f"Next: search-mcp check {name}\n" if is_added else "")
    *shown, told = ended.out.splitlines()
    assert told.endswith(".")
    assert bool(shown) == is_added
    assert config.read_bytes().decode() == OURS.replace(old, new)
    backup = config.with_name("mcp-servers.json.search-mcp.bak")
    assert backup.exists() == (old != new)
    assert old == new or backup.read_bytes().decode() == OURS


LAYOUTS = [
    ('{"command": "x"}', '{"command": "x", "enabled": false}'),
    ('{"command": "x", }', '{"command": "x", "enabled": false, }'),
    ('{ "command": "x" /* the best */ }', '{ "command": "x", "enabled": false /* the best */ }'),
    ('{"enabled": true, "command": "x"}', '{"enabled": false, "command": "x"}'),
    ('{"command": "x", "disabled": false}', '{"command": "x", "disabled": true}'),
    ('{"command": "x", "enabled": true /* until May */}', '{"command": "x", "enabled": false /* until May */}'),
]


@pytest.mark.parametrize(("entry", "disabled"), LAYOUTS)
def test_disable_and_enable_change_one_key(place: Place, config: Path, entry: str, disabled: str) -> None:
    text = OURS.replace('{"command": "npx", "args": ["-y", "pkg"]}', entry)
    config.write_bytes(text.encode())
    assert place.run("disable", "files").code == 0
    off = config.read_bytes().decode()
    assert off == text.replace(entry, disabled)
    assert place.run("enable", "files").code == 0
    was, becomes = ('"disabled": true', '"disabled": false') if '"disabled"' in entry else ("false", "true")
    assert config.read_bytes().decode() == off.replace(disabled, disabled.replace(was, becomes))


def test_an_existing_disabled_server_is_enabled(place: Place, config: Path) -> None:
    ended = place.run("add", "git", "--", "uvx")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == "warning: git: it was in the config file but disabled; it is now enabled\n"
    assert config.read_bytes().decode() == OURS.replace('"disabled": true', '"disabled": false')


def test_several_at_once(place: Place, config: Path) -> None:
    assert place.run("disable", "files", "git", "files").out == f"Disabled files, git in {config}.\n"
    assert place.run("disable", "files", "git").out == "files, git are already disabled.\n"
    assert place.run("enable", "files", "--dry-run").out.endswith(f"Would enable files in {config}.\n")
    assert place.run("remove", "git", "files").code == 0
    assert '// my servers\n  "mcpServers": {\n    /* "old": {}, */\n  },' in config.read_text()


def test_without_a_configuration_the_users_own_is_begun(place: Place) -> None:
    path = Path(place.variables["XDG_CONFIG_HOME"], "search-mcp", "mcp-servers.json")
    assert place.run("add", "one", "--", "x").out == f"one\n  x\nAdded one to {path}.\n"
    assert json.loads(path.read_text()) == {"mcpServers": {"one": {"command": "x"}}}
    other = place.folder / "other.json"
    assert place.run("add", "two", "--config", str(other), "--", "x").code == 0
    assert json.loads(other.read_text()) == {"mcpServers": {"two": {"command": "x"}}}


def test_from_stdin_with_notes(place: Place, config: Path) -> None:
    ended = place.run(
        "add", "--no-start", "--json", "-", stdin='"a": {"url": "wss://x"}, "b": {"command": "x", "args": ["${A_B}"]}'
    )
    assert (ended.code, ended.out) == (
        0,
        f"a\n  url: wss://x\nb\n  x '${{A_B}}'\nAdded a, disabled, to {config}.\nAdded b to {config}.\n",
    )
    warning = "warning: a: it uses a WebSocket, which search-mcp does not support; use its https address\n"
    assert ended.err == f"{warning}Next: search-mcp check b\n"
    ended = place.run("enable", "a", "b")
    assert ended.code == 0
    assert "warning: a: WebSocket servers are not supported" in ended.err
    assert "warning: b: environment variable A_B, used in args, is not set" in ended.err


# Remote servers

LINEAR = {"url": "https://mcp.linear.app/mcp"}
ADDRESSES: list[tuple[list[str], dict[str, Any]]] = [
    (["https://mcp.linear.app/mcp"], LINEAR),
    (["--", "https://mcp.linear.app/mcp"], LINEAR),
    (["--json", '{"url": "https://mcp.linear.app/mcp"}'], LINEAR),
    (["--json", '{"type": "http", "url": "https://mcp.linear.app/mcp"}'], LINEAR),
    (["--json", '{"command": "https://mcp.linear.app/mcp"}'], LINEAR),
    (["https://x", "--transport", "http"], {"url": "https://x", "type": "http"}),
    (
        ["https://x", "--transport", "sse", "-H", "Authorization: Bearer ${T}"],
        {"url": "https://x", "type": "sse", "headers": {"Authorization": "Bearer ${T}"}},
    ),
]
NEXT = "Next: search-mcp check web\n"


@pytest.mark.parametrize(("words", "entry"), ADDRESSES)
def test_a_remote_server_is_added(place: Place, words: list[str], entry: dict[str, Any]) -> None:
    ended = place.run("add", "--no-start", "web", *words)
    assert (ended.code, ended.err) == (0, NEXT)
    assert ended.out.startswith(f"web\n  url: {entry['url']}\n")
    assert ended.out.endswith(f"\nAdded web to {place.config}.\n")
    assert json.loads(place.config.read_text()) == {"mcpServers": {"web": entry}}


def test_a_command_line_of_mcp_remote_is_added_as_a_remote_server(place: Place) -> None:
    ended = place.run("add", "--no-start", "web", "--", "npx", "-y", "mcp-remote", "https://mcp.linear.app/mcp")
    assert (ended.code, ended.err) == (0, f"warning: web: {mcp_remote.LOG_IN_ONCE}\n{NEXT}")
    assert json.loads(place.config.read_text()) == {"mcpServers": {"web": LINEAR}}


def test_a_command_line_of_mcp_remote_without_counterpart_is_kept(place: Place) -> None:
    words = ["npx", "-y", "mcp-remote", "https://mcp.linear.app/mcp", "--device-code"]
    ended = place.run("add", "--no-start", "web", "--", *words)
    assert ended.code == 0
    assert ended.err.endswith(f"web: runs through {mcp_remote.ABOUT}.\n{NEXT}")
    assert json.loads(place.config.read_text()) == {"mcpServers": {"web": {"command": words[0], "args": words[1:]}}}


def test_enable_leaves_an_address_as_it_is(place: Place, config: Path) -> None:
    text = '{"mcpServers": {"linear": {\n  // mine\n  "type": "http", "url": "https://x/mcp", "enabled": false}}}'
    config.write_text(text)
    ended = place.run("enable", "linear")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == f"Enabled linear in {config}.\n"
    assert config.read_text() == text.replace("false", "true")
    assert place.run("config", "validate").code == 0


def test_enable_turns_an_address_as_the_command_into_the_url(place: Place, config: Path) -> None:
    config.write_text('{"mcpServers": {"linear": {"tags": ["work"], "command": "https://x/mcp"}}}')
    assert "`search-mcp enable linear` writes it as its url" in place.run("config", "validate").err
    ended = place.run("enable", "linear")
    assert (ended.code, ended.out) == (
        0,
        f"linear\n  url: https://x/mcp\n  tags: work\n\nEnabled linear in {config}.\n",
    )
    assert json.loads(config.read_text()) == {"mcpServers": {"linear": {"tags": ["work"], "url": "https://x/mcp"}}}
    assert place.run("config", "validate").code == 0


# The configuration of the folder


def test_a_file_in_the_current_folder_is_neither_read_nor_changed(place: Place) -> None:
    theirs = place.folder / "config" / "mcp-servers.json"
    theirs.parent.mkdir()
    theirs.write_text('{"mcpServers": {"git": {"command": "theirs"}}}')
    assert is_one_sentence(place.run("list"), 2, str(place.config), f"{theirs} is used only if --config names it")
    ended = place.run("add", "--no-start", "one", "--", "x", "--env")
    assert (ended.code, ended.out) == (0, f"one\n  x --env\nAdded one to {place.config}.\n")
    assert ended.err.startswith(
        f"This edits your own file. To edit {theirs}, name it with --config.\nNext: search-mcp check"
    )
    assert theirs.read_text() == '{"mcpServers": {"git": {"command": "theirs"}}}'
    ended = place.run("disable", "git", "--config", str(theirs))
    assert (ended.code, ended.err) == (0, "")
    assert "enabled" in theirs.read_text()


def test_commands_in_the_checkout_edit_the_users_own_file(place: Place) -> None:
    shipped = Path(__file__).parents[3] / "config" / "mcp-servers.json"
    before = shipped.read_bytes()
    checkout = replace(place, folder=shipped.parents[1])
    for words in (["add", "one", "--", "x"], ["disable", "one"], ["remove", "one"]):
        ended = checkout.run(*words)
        assert ended.code == 0
        assert ended.err.startswith(f"This edits your own file. To edit {shipped}, name it with --config.\n")
    assert checkout.run("config", "path").out == f"{shipped}\n"
    (place.folder / "mcp.json").write_text('{"mcpServers": {"two": {"command": "x"}}}')
    ended = checkout.run("import", str(place.folder / "mcp.json"))
    assert ended.err.endswith(f"Next: search-mcp check --config {place.config}\n")
    assert shipped.read_bytes() == before


def test_dry_run_shows_what_would_change_without_secrets(place: Place, config: Path) -> None:
    ended = place.run("add", "new", "--env", "TOKEN=s3cret", "--dry-run", "--", "x")
    assert (ended.code, ended.err) == (0, "")
    assert f"Would add new to {config}.\n" in ended.out
    assert '+      "command": "x",\n' in ended.out
    assert '+        "TOKEN": "***"\n' in ended.out
    assert "s3cret" not in ended.out
    assert config.read_bytes().decode() == OURS


MISUSES = [
    (["remove", "flies"], ["there is no server 'flies'", "did you mean files?"]),
    (["disable", "files__write"], ["there is no server 'files__write'", "write the tool as files.write"]),
    (["enable", "zzz"], ["there is no server 'zzz'", "the servers are files, git"]),
    (["add", "files", "--", "other"], ["the config file already has a server files", "remove it first"]),
    (["add", "new"], ["needs a name and a command", "search-mcp add NAME -- COMMAND ARGS"]),
    (["add", "new", "mcp.example.com/mcp"], ["mcp.example.com/mcp is no program", "write https://mcp.example.com/mcp"]),
    (["add", "https://x"], ["needs a name and a command or a URL", "search-mcp add NAME URL"]),
    (["add", "new", "https://x", "y"], ["takes no arguments", "--header NAME:VALUE"]),
    (["add", "new", "https://x", "--env", "A=b"], ["--env and --cwd are for programs only", "--header NAME:VALUE"]),
    (["add", "new", "https://x", "--header", "A"], ["--header must be NAME:VALUE"]),
    (["add", "new", "https://x", "--transport", "ws"], ["unknown transport 'ws'", "http or sse"]),
    (["add", "new", "--header", "A:b", "--", "x"], ["--header and --transport are for remote servers only"]),
    (["add", "new", "--env", "A", "--", "x"], ["--env must be KEY=VALUE"]),
    (["add", "new", "--json", "{}", "--", "x"], ["--json cannot be combined"]),
    (["add", "--json", '{"command": "x"}'], ["the server has no name"]),
    (["add", "--json", '{"a": {"command": 3}}'], ["a is not a server: it has neither a command nor a url"]),
    (["add", "--json", '{"a": {"command": "x", "tags": 3}}'], ['a is not a server: "tags" must be a list of strings']),
    (
        ["add", "--json", '{"a": {"command": "uvx", "args": "x"}}'],
        ['a is not a server: "args" must be a list of strings'],
    ),
    (["add", "--json", '{"a": '], ["--json:1: not valid JSON"]),
    (["add", "--json", "{}"], ["there is no server to add"]),
    (["add", "me", "--", "search-mcp"], ["there is no server to add besides search-mcp itself"]),
]


@pytest.mark.parametrize(("words", "complaint"), MISUSES)
def test_misuse(place: Place, config: Path, words: list[str], complaint: list[str]) -> None:
    assert is_one_sentence(place.run(*words), 2, *complaint)
    assert config.read_bytes().decode() == OURS


def test_an_invalid_configuration_is_not_changed(place: Place, config: Path) -> None:
    config.write_text('{"mcpServers": {\n"a": {}')
    assert is_one_sentence(place.run("add", "b", "--", "x"), 2, f"{config}:2: not valid JSON")
    assert config.read_text() == '{"mcpServers": {\n"a": {}'


def test_a_configuration_with_another_fault_can_be_edited(place: Place, config: Path) -> None:
    config.write_text('{"mcpServers": {"a": {"command": 3}, "b": {"command": "x"}}}')
    ended = place.run("disable", "b")
    assert ended.code == 0
    assert '"command" must be a string' in ended.err
    assert place.run("remove", "a").err == ""


def test_a_running_search_mcp_notices_the_edit(place: Place) -> None:
    path = place.folder / "mcp-servers.json"
    path.write_text('{"mcpServers": {}, "settings": {"engine": "own"}}')
    with Run(place.folder, path, {"XDG_STATE_HOME": place.variables["XDG_STATE_HOME"]}) as run:
        run.opens()
        run.asks("tools/list")
        mark = f"{VARIABLE}={run.mark}"
        script = str(SERVERS / "well_behaved.py")
        added = place.run("add", "one", "--env", mark, "--config", str(path), "--", sys.executable, script)
        assert added.code == 0, added.err
        waits_for(run, ["one.echo"])
        assert run.calls("one.echo", words="x") == "x"
        assert place.run("disable", "one", "--config", str(path)).code == 0
        waits_for(run, [])
        assert run.is_refused("one.echo")["code"] == -32000
        assert place.run("enable", "one", "--config", str(path)).code == 0
        waits_for(run, ["one.echo"])
        assert run.calls("one.echo", words="y") == "y"
        assert place.run("remove", "one", "--config", str(path)).code == 0
        waits_for(run, [])
        assert run.is_refused("one.echo")["code"] == -32602


def waits_for(run: Run, echoes: list[str]) -> None:
    """Ask for the list after each change, like a client, until it is the expected one."""
    while [tool["name"] for tool in run.asks("tools/list")["tools"] if tool["name"].endswith(".echo")] != echoes:
        assert run.next()["method"] == "notifications/tools/list_changed"


# Several commands at the same time

PATIENT_AND_SAYS_WHEN_IT_ASKS = f"""
import os, sys
from search_mcp.cli.files import own_file

own_file.PATIENCE_SECONDS = {SECONDS}

def listen(event, args):
    if event == "import" and args[0].startswith("filelock"):  # which nothing but a lock needs
        os.close(os.open("asks " + str(os.getpid()), os.O_CREAT))

sys.addaudithook(listen)
"""


def test_commands_edit_one_after_the_other(place: Place, config: Path) -> None:
    """Every command starts before the first one may read or write the file."""
    (place.folder / "sitecustomize.py").write_text(PATIENT_AND_SAYS_WHEN_IT_ASKS)
    environment = {**place.variables, "PYTHONPATH": str(place.folder)}
    edits = [["add", "one", "--", "x"], ["disable", "files"], ["remove", "git"]]
    where = "from search_mcp.folders import state_folder; print(state_folder())"
    lock = Path(place.run(command=(sys.executable, "-c", where)).out.strip(), "edits.lock")
    with ExitStack() as running:
        with locked(lock, 0):
            commands = [
                running.enter_context(
                    subprocess.Popen([*COMMAND, *words], stdout=subprocess.PIPE, cwd=place.folder, env=environment)
                )
                for words in edits
            ]
            deadline = time.monotonic() + SECONDS
            while len([*place.folder.glob("asks *")]) < len(edits):
                assert time.monotonic() < deadline
                assert all(command.poll() is None for command in commands)
                time.sleep(0.01)
        assert [command.wait(SECONDS) for command in commands] == [0, 0, 0]
    assert jsonc.parse(config.read_bytes(), source="").value == {
        "mcpServers": {"files": {"command": "npx", "args": ["-y", "pkg"], "enabled": False}, "one": {"command": "x"}},
        "settings": {"listing": "light"},
    }


def test_the_wait_for_another_edit_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_file, "PATIENCE_SECONDS", 0.0)
    with in_turn(), pytest.raises(Problem, match="another search-mcp is editing the config file; wait"), in_turn():
        pass


def test_a_tool_is_switched_by_its_own_name_or_the_new_one(place: Place) -> None:
    place.configure({"my.box": server("toolbox", rename={"echo": "say"}), "my": server("toolbox", enabled=False)})
    assert place.run("check", "my.box").code == 0
    ended = place.run("disable", "my.box.say", "my.box.add")
    assert (ended.code, ended.out) == (0, f"Disabled my.box.say, my.box.add in {place.config}.\n")
    assert json.loads(place.config.read_text())["mcpServers"]["my.box"]["tools"] == {"deny": ["echo", "add"]}
    assert "already disabled" in place.run("disable", "my.box.echo").out
    assert not {"my.box.say", "my.box.add"} & {each["name"] for each in place.run("list", "--json").json["tools"]}
    assert is_one_sentence(
        place.run("enable", "my.box.ech"), 2, "my.box has no tool 'ech'", "did you mean my.box.echo?"
    )
    assert place.run("enable", "my.box.echo").code == 0
    assert json.loads(place.config.read_text())["mcpServers"]["my.box"]["tools"] == {"deny": ["add"]}


def test_a_tool_without_its_server_is_never_taken_for_a_server(place: Place) -> None:
    place.configure({"ech": server("toolbox"), "box": server("toolbox"), "new": server("toolbox", enabled=False)})
    assert place.run("check", "ech", "box").code == 0
    for word, remedy in {
        "echo": "write the tool as ech.echo or box.echo",
        "ehco": "the servers are ech, box, new",
        "bx.echo": "did you mean box.echo?",
        "nw.echo": "did you mean new.echo?",
        "box.qqqq": "`search-mcp list box` shows its tools",
    }.items():
        assert is_one_sentence(place.run("disable", word), 2, remedy)
