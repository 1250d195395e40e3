"""Secrets in the keyring: `add --secret`, `remove`, and what `check` says of a source that fails."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Place, server

pytest.importorskip("termios", reason="only Unix has pseudo-terminals")

from cli.screen import Screen  # only on systems with terminals

VALUE = "s3cret-of-the-ring"
KEYRINGS = Path(__file__).parent / "keyrings"


@pytest.fixture(autouse=True)
def ring(place: Place) -> Path:
    """A keyring in a file, which the configuration of the library names."""
    _uses(place, "in_a_file.Keyring")
    return place.folder / "ring.json"


def _uses(place: Place, backend: str) -> None:
    folder = Path(place.variables["XDG_CONFIG_HOME"]) / "python_keyring"
    folder.mkdir(parents=True, exist_ok=True)
    written = f"[backend]\ndefault-keyring={backend}\nkeyring-path={KEYRINGS}\n"
    (folder / "keyringrc.cfg").write_text(written)


def _entry(place: Place, name: str) -> Any:
    return json.loads(place.config.read_text())["mcpServers"][name]


def _passwords(ring: Path) -> Any:
    return json.loads(ring.read_text()) if ring.exists() else {}


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the library looks for its configuration elsewhere")


def test_a_secret_is_stored_and_its_placeholder_is_written(place: Place, ring: Path) -> None:
    ended = place.run("add", "git hub", "--secret", "TOKEN", "-e", "A=b", "--", "npx", "x", stdin=f"{VALUE}\n")
    assert ended.code == 0, ended
    placeholder = "${keyring:search-mcp/git_hub/TOKEN}"
    assert _entry(place, "git hub") == {"command": "npx", "args": ["x"], "env": {"A": "b", "TOKEN": placeholder}}
    assert _passwords(ring) == {"search-mcp|git_hub/TOKEN": VALUE}
    assert "reads from the keyring for env.TOKEN: search-mcp/git_hub/TOKEN" in " ".join(ended.out.split())
    assert VALUE not in ended.out + ended.err + place.config.read_text()


@pytest.mark.parametrize(
    ("name", "value", "written"),
    [
        ("X-Key", "k e y", "${keyring:search-mcp/api/X-Key}"),
        ("Authorization", "token", "Bearer ${keyring:search-mcp/api/Authorization}"),
        ("authorization", "Basic dXNlcg==", "${keyring:search-mcp/api/authorization}"),
    ],
)
def test_a_secret_of_a_remote_server_is_a_header(place: Place, ring: Path, name: str, value: str, written: str) -> None:
    ended = place.run("add", "api", "https://example.com/mcp", "-H", "A: b", "--secret", name, stdin=value)
    assert ended.code == 0, ended
    assert _entry(place, "api")["headers"] == {"A": "b", name: written}
    assert _passwords(ring) == {f"search-mcp|api/{name}": value}


def test_several_secrets_are_read_line_by_line_and_one_may_have_several_lines(place: Place, ring: Path) -> None:
    ended = place.run("add", "a", "--secret", "A", "--secret", "B", "--", "x", stdin="one\ntwo\n")
    assert ended.code == 0, ended
    assert place.run("add", "b", "--secret", "A", "--", "x", stdin="one\ntwo\n").code == 0
    assert _passwords(ring) == {"search-mcp|a/A": "one", "search-mcp|a/B": "two", "search-mcp|b/A": "one\ntwo"}


def test_no_secret_is_replaced(place: Place, ring: Path) -> None:
    """Another configuration file may have a server of this name."""
    ring.write_text(json.dumps({"search-mcp|a/TOKEN": "of another file"}))
    assert place.run("add", "a", "--secret", "TOKEN", "--", "x", stdin=VALUE).code == 0
    assert _entry(place, "a")["env"]["TOKEN"] == "${keyring:search-mcp/a-2/TOKEN}"
    ended = place.run("remove", "a")
    assert "a: its secret a-2/TOKEN is deleted from the keyring." in ended.err
    assert _passwords(ring) == {"search-mcp|a/TOKEN": "of another file"}


def test_remove_keeps_the_secrets_of_other_servers(place: Place, ring: Path) -> None:
    ring.write_text(json.dumps({"search-mcp|a/A": "1", "search-mcp|a/B": "2", "search-mcp|b/A": "3", "x|a/A": "4"}))
    mine = {"A": "${keyring:search-mcp/a/A}", "B": "${keyring:search-mcp/a/B}", "C": "${keyring:search-mcp/b/A}"}
    place.configure({"a": {"command": "x", "env": {**mine, "D": "${keyring:x/a/A}"}}})
    other = {"command": "y", "env": {"A": "${keyring:search-mcp/a/A}"}}
    place.configure({"a": {"command": "x", "env": {**mine, "D": "${keyring:x/a/A}"}}, "other": other})
    assert place.run("remove", "a", "--dry-run").code == 0
    assert len(_passwords(ring)) == 4
    assert place.run("remove", "a").code == 0
    assert _passwords(ring) == {"search-mcp|a/A": "1", "search-mcp|b/A": "3", "x|a/A": "4"}


def test_at_a_terminal_the_secret_is_not_shown(place: Place, ring: Path) -> None:
    screen = Screen(place, "add", "a", "--secret", "TOKEN", "--", "x")
    screen.wait_for("TOKEN: ")
    screen.press(f"{VALUE}\r")
    assert screen.end() == 0, screen.shown
    assert "Added a to" in screen.shown
    assert VALUE not in screen.shown
    assert _passwords(ring) == {"search-mcp|a/TOKEN": VALUE}


BLANK = json.dumps({"mcpServers": {"a": {"command": "x", "env": {"TOKEN": "<YOUR_TOKEN>", "TEAM": "your-team"}}}})
SETS = "search-mcp secret a TOKEN"


@pytest.mark.parametrize("leaves", ["\r", "\x04"], ids=["Enter", "Ctrl-D"])
def test_add_asks_for_what_an_example_left_open(place: Place, ring: Path, leaves: str) -> None:
    screen = Screen(place, "add", "--no-start", "--json", BLANK)
    screen.wait_for("TOKEN (Enter leaves it): ")
    screen.press(f"{VALUE}\r")
    screen.wait_for("TEAM (Enter leaves it): ")
    screen.press(leaves)
    assert screen.end() == 0, screen.shown
    assert "search-mcp secret a TEAM" in " ".join(screen.shown.split())
    assert SETS not in screen.shown and VALUE not in screen.shown
    assert _entry(place, "a")["env"] == {"TOKEN": "${keyring:search-mcp/a/TOKEN}", "TEAM": "your-team"}
    assert _passwords(ring) == {"search-mcp|a/TOKEN": VALUE}


def test_the_scheme_of_an_example_stays(place: Place, ring: Path) -> None:
    entry = {"url": "https://a.example/mcp", "headers": {"Authorization": "Token <YOUR TOKEN>"}}
    screen = Screen(place, "add", "a", "--no-start", "--json", json.dumps(entry))
    screen.wait_for("Authorization (Enter leaves it): ")
    screen.press(f"Token {VALUE}\r")
    assert screen.end() == 0, screen.shown
    assert _entry(place, "a")["headers"] == {"Authorization": "Token ${keyring:search-mcp/a/Authorization}"}
    assert _passwords(ring) == {"search-mcp|a/Authorization": VALUE}


def test_without_a_terminal_add_and_check_name_the_command_that_asks(place: Place, ring: Path) -> None:
    added = place.run("add", "--no-start", "--json", BLANK)
    for told in (added.err, place.run("check").out):
        assert SETS in " ".join(told.split()) and "<YOUR_TOKEN>" not in told
    ended = place.run("secret", "a", "TOKEN", stdin=VALUE)
    assert ended.code == 0, ended
    assert "backups" not in ended.err
    assert _entry(place, "a")["env"]["TOKEN"] == "${keyring:search-mcp/a/TOKEN}"
    assert _passwords(ring) == {"search-mcp|a/TOKEN": VALUE}
    assert SETS not in " ".join(place.run("check").out.split())


def test_an_input_of_vs_code_that_was_copied_is_asked_for(place: Place, ring: Path) -> None:
    place.configure({"a": {"command": "x", "env": {"TOKEN": "${input:token}"}}})
    assert SETS in " ".join(place.run("check").out.split())
    ended = place.run("secret", "a", "TOKEN", stdin=VALUE)
    assert ended.code == 0, ended
    assert _entry(place, "a")["env"] == {"TOKEN": "${keyring:search-mcp/a/TOKEN}"}
    assert _passwords(ring) == {"search-mcp|a/TOKEN": VALUE}


@pytest.mark.parametrize("variable", ["${TOKEN}", "${env:TOKEN}"])
def test_a_secret_takes_the_place_of_a_variable(place: Place, ring: Path, variable: str) -> None:
    place.configure({"a": {"url": "https://a.example/mcp", "headers": {"Authorization": f"Bearer {variable}"}}})
    assert "search-mcp secret a Authorization" in " ".join(place.run("check").out.split())
    ended = place.run("secret", "a", "Authorization", stdin=VALUE)
    assert ended.code == 0, ended
    assert _entry(place, "a")["headers"] == {"Authorization": "Bearer ${keyring:search-mcp/a/Authorization}"}
    assert _passwords(ring) == {"search-mcp|a/Authorization": VALUE}


def test_a_rehearsal_asks_for_nothing_and_stores_nothing(place: Place, ring: Path) -> None:
    ended = place.run("add", "a", "--secret", "TOKEN", "--dry-run", "--", "x")
    assert ended.code == 0, ended
    assert "${keyring:search-mcp/a/TOKEN}" in ended.out
    assert (place.config.exists(), ring.exists()) == (False, False)


def _kept(place: Place) -> dict[str, str]:
    """Return the secrets in files of search-mcp, which only the user can read."""
    folder = place.config.parent / "secrets"
    found = [each for each in folder.rglob("*") if each.is_file()]
    assert all(each.stat().st_mode & 0o777 == 0o600 for each in found)
    return {each.relative_to(folder).as_posix(): each.read_text() for each in found}


def test_without_a_keyring_a_secret_is_stored_in_a_private_file(place: Place) -> None:
    _uses(place, "keyring.backends.fail.Keyring")
    rehearsed = place.run("add", "a", "--secret", "TOKEN", "--dry-run", "--", "x")
    assert "/secrets/a/TOKEN}" in rehearsed.out
    ended = place.run("add", "a", "--no-start", "--secret", "TOKEN", "--", "x", stdin=VALUE)
    assert ended.code == 0, ended
    assert "which only you can read: this system has no keyring that can be used." in " ".join(ended.err.split())
    assert _kept(place) == {"a/TOKEN": f"{VALUE}\n"}
    assert _entry(place, "a")["env"]["TOKEN"].endswith("/secrets/a/TOKEN}")
    assert place.run("remove", "a").code == 0
    assert _kept(place) == {}


def test_no_name_leads_out_of_the_folder_of_secrets(place: Place) -> None:
    _uses(place, "keyring.backends.fail.Keyring")
    elsewhere = {"command": "x", "env": {"A": "${file:~no-such-user/a}"}}
    place.configure({"..": {"command": "x", "env": {"TOKEN": VALUE}}, "other": elsewhere})
    assert place.run("secret", "..", "TOKEN").code == 0
    assert _kept(place) == {"_/TOKEN": f"{VALUE}\n"}
    ended = place.run("remove", "..")
    assert ended.code == 0, ended
    assert _kept(place) == {}


MOVES = [
    ({"command": "x", "env": {"A": "b", "TOKEN": VALUE}}, "TOKEN", "env", "${keyring:search-mcp/one/TOKEN}"),
    (
        {"url": "https://x", "headers": {"Authorization": f"Bearer {VALUE}"}},
        "authorization",
        "headers",
        "Bearer ${keyring:search-mcp/one/Authorization}",
    ),
]


@pytest.mark.parametrize(("entry", "name", "key", "written"), MOVES)
def test_a_secret_moves_out_of_the_file(
    place: Place, ring: Path, entry: dict[str, Any], name: str, key: str, written: str
) -> None:
    place.configure({"one": entry})
    rehearsed = place.run("secret", "one", name, "--dry-run")
    assert (rehearsed.code, ring.exists(), VALUE in rehearsed.out) == (0, False, False)
    assert key == "headers" or written in rehearsed.out
    ended = place.run("secret", "one", name)
    assert ended.code == 0, ended
    assert written in _entry(place, "one")[key].values()
    assert [*_passwords(ring).values()] == [VALUE]
    assert VALUE not in ended.out + ended.err + place.config.read_text()
    assert f"warning: the value is still in {place.config}.search-mcp.bak; delete the backups " in ended.err
    again = place.run("secret", "one", name)
    assert (again.code, "is a placeholder already" in again.err) == (2, True)


def test_every_copy_of_a_moved_secret_is_named(place: Place, ring: Path) -> None:
    place.configure({})
    odd = f'{VALUE}"\\ä'
    cursor, claude = place.folder / ".cursor" / "mcp.json", place.folder / ".claude.json"
    cursor.parent.mkdir()
    for path in (cursor, claude):
        path.write_text(json.dumps({"mcpServers": {"one": {"command": "x", "env": {"TOKEN": odd}}}}))
    assert place.run("install", "cursor", "--replace", "--no-start").code == 0
    ended = place.run("secret", "one", "TOKEN")
    assert (ended.code, VALUE in ended.out + ended.err) == (0, False)
    own, *clients, state = ended.err.partition("still in ")[2].partition("; ")[0].split(", ")
    assert clients == [str(claude), f"{cursor}.search-mcp.bak"]
    assert (Path(own).parent, Path(state).name) == (place.config.parent, "moved.json")


def test_a_moved_secret_reaches_its_server(place: Place) -> None:
    _uses(place, "keyring.backends.fail.Keyring")
    script = f"import os, sys; sys.exit('right' if os.environ['TOKEN'][::-1] == {VALUE[::-1]!r} else 'wrong')"
    place.configure({"one": {"command": sys.executable, "args": ["-c", script], "env": {"TOKEN": VALUE}}})
    assert place.run("secret", "one", "TOKEN").code == 0
    assert "end of its stderr: right" in place.run("check", "one").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["two", "A"], "there is no server 'two'"),
        (["one", "TOKE"], "one has no variable or header 'TOKE'; did you mean TOKEN?"),
        (["one", "EMPTY"], "EMPTY of one is empty, or not a string"),
    ],
)
def test_what_cannot_move_is_said(place: Place, ring: Path, words: list[str], said: str) -> None:
    place.configure({"one": {"command": "x", "env": {"TOKEN": VALUE, "EMPTY": ""}}})
    before = place.config.read_text()
    ended = place.run("secret", *words)
    assert (ended.code, said in " ".join(ended.err.split())) == (2, True)
    assert (place.config.read_text(), ring.exists()) == (before, False)


MISUSES = [
    (["a", "--secret", "A=b", "--", "x"], VALUE, "--secret must be the name"),
    (["a", "--secret", "A", "-e", "A=b", "--", "x"], VALUE, "A is given twice"),
    (["a", "--secret", "A", "--secret", "A", "--", "x"], VALUE, "A is given twice"),
    (["a", "--secret", "A", "--", "x"], "\n", "the secret A is empty"),
    (["a", "--secret", "A", "--secret", "B", "--", "x"], "one\n", "stdin has 1 lines for 2 secrets"),
    (["--json", "{}", "--secret", "A"], "", "--json cannot be combined"),
    (["taken", "--secret", "A", "--", "x"], VALUE, "already has a server taken"),
]


@pytest.mark.parametrize(("words", "stdin", "problem"), MISUSES, ids=lambda each: str(each)[:40])
def test_misuse_stores_nothing(place: Place, ring: Path, words: list[str], stdin: str, problem: str) -> None:
    place.configure({"taken": {"command": "y"}})
    before = place.config.read_text()
    ended = place.run("add", *words, stdin=stdin)
    assert ended.code == 2, ended
    assert problem in " ".join(ended.err.split())
    assert (place.config.read_text(), ring.exists()) == (before, False)


def test_check_names_the_source_that_failed_and_shows_no_value(place: Place, ring: Path) -> None:
    ring.write_text(json.dumps({"search-mcp|good/TOKEN": VALUE}))
    good = {"TOKEN": "${keyring:search-mcp/good/TOKEN}"}
    bad = {"TOKEN": "${keyring:search-mcp/bad/TOKEN}"}
    place.configure({"good": server("toolbox", env=good), "bad": server("toolbox", env=bad)})
    ended = place.run("check", "--json")
    found = {each["name"]: each for each in ended.json["servers"]}
    assert (found["good"]["state"], found["bad"]["state"]) == ("ready", "failed")
    assert found["bad"]["reason"] == "env.TOKEN: the keyring entry search-mcp/bad/TOKEN does not exist"
    assert found["bad"]["remedy"] is None
    shown = place.run("check", "bad")
    assert "the keyring entry search-mcp/bad/TOKEN does not exist" in " ".join(shown.out.split())
    for each in (ended, shown, place.run("list", "--debug", "--refresh")):
        assert VALUE not in each.out + each.err


def test_a_login_names_the_source_that_failed(place: Place) -> None:
    credentials = {"grant": "client_credentials", "clientId": "me", "clientSecret": "${keyring:a/b}"}
    place.configure(
        {
            "api": {"url": "http://127.0.0.1:9/mcp", "oauth": credentials},
            "secret": {"url": "http://127.0.0.1:9/mcp?key=${file:key}"},
        }
    )
    ended = place.run("auth", "login", "api")
    shown = "no login to api: oauth.clientSecret: the keyring entry a/b does not exist"
    assert (ended.code, shown in " ".join(ended.err.split())) == (1, True)
    ended = place.run("auth", "login", "secret")
    assert (ended.code, "because its address holds a secret" in " ".join(ended.err.split())) == (2, True)
