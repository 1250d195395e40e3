"""`auth`: logins at a real authorization server, with the real command and a browser that agrees at once."""

import base64
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from auth.authorization import Authorization, authorization
from auth.browser import Browser

from cli.conftest import COMMAND, SECONDS, Ended, Place
from cli.test_commands import is_one_sentence

if sys.platform != "win32":
    from cli.screen import Screen

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="there is no terminal to attach to")
FOLLOW = """\
#!{python}
import sys, urllib.request
urllib.request.urlopen(sys.argv[1])
"""


@pytest.fixture
def server() -> Iterator[Authorization]:
    with authorization() as server:
        yield server


@pytest.fixture
def there(place: Place, server: Authorization) -> Place:
    """A place with one protected server, and a browser whose user agrees at once."""
    browser = place.folder / "browser"
    browser.write_text(FOLLOW.format(python=sys.executable), "utf-8")
    browser.chmod(0o700)
    place.variables["BROWSER"] = str(browser)
    place.configure({"files": {"url": f"{server.url}/mcp"}})
    return place


@pytest.fixture
def by_hand(there: Place) -> "ByHand":
    return ByHand(there)


class ByHand:
    """`auth login --no-browser`, with pipes."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.address = ""

    def runs(self, browser: Browser, *words: str) -> Ended:
        """Run it, open its address in a browser, and pass the address that the browser is sent to."""
        command = [*COMMAND, "auth", "login", "files", "--no-browser", *words]
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.place.folder,
            env=self.place.variables,
            text=True,
        ) as run:
            assert run.stdout is not None
            self.address = run.stdout.readline().strip()
            out, err = run.communicate(f"{browser.redirected(self.address)}\n", timeout=SECONDS)
            return Ended(run.returncode, out, err)


def logins(place: Place) -> list[Path]:
    return list(place.folder.rglob("logins/*.json"))


def states(place: Place) -> dict[str, str]:
    found = place.run("auth", "status", "--json").json
    return {each["name"]: each["state"] for each in found["servers"]}


def test_from_an_empty_home_to_a_call(there: Place, server: Authorization) -> None:
    ended = there.run("check")
    assert ended.code == 1
    assert "files   needs a login  run `search-mcp auth login files`" in ended.out
    ended = there.run("auth", "status")
    assert ended.out == "Server  Login          Details\nfiles   needs a login\n"
    assert ended.err == "`search-mcp auth login files` logs in.\n"
    ended = there.run("auth", "login")
    assert (ended.code, ended.out.splitlines()[-1]) == (0, "Logged in to files: 1 tool."), ended.err
    assert f"Log in to files in the browser, at {urlsplit(server.url).netloc}." in ended.err
    assert "Waiting up to 5 minutes." in ended.err
    assert there.run("call", "files.say", "text=done").out == "done\n"
    assert there.run("auth", "status").out == (
        f"Server  Login      Details\nfiles   logged in  renewed automatically; at {server.url}\n"
    )
    (login,) = logins(there)
    if os.name == "posix":
        assert [stat.S_IMODE(path.stat().st_mode) for path in (login, login.parent)] == [0o600, 0o700]


def test_adding_and_importing_tell_how_to_log_in(place: Place, server: Authorization) -> None:
    address = f"{server.url}/mcp"
    ended = place.run("add", "files", address)
    assert (ended.code, ended.err) == (
        0,
        "Needs a login: files: run `search-mcp auth login files`.\n",
    )
    other = place.folder / "other.json"
    ended = place.run("add", "files", address, "--config", str(other))
    assert f"run `search-mcp auth login files --config {other}`." in ended.err
    assert place.run("add", "another", address, "--dry-run").err == ""
    cursor = place.folder / ".cursor" / "mcp.json"
    cursor.parent.mkdir()
    cursor.write_text(json.dumps({"mcpServers": {"notes": {"url": f"{address}?notes"}}}), "utf-8")
    ended = place.run("import", "cursor")
    assert ended.code == 0
    assert "Needs a login: notes: run `search-mcp auth login notes`.\n" in ended.err


def test_the_address_is_passed_by_hand(by_hand: ByHand) -> None:
    ended = by_hand.runs(Browser())
    assert (ended.code, ended.out) == (0, "Logged in to files: 1 tool.\n"), ended.err
    assert "paste it here, within 5 minutes" in ended.err
    assert states(by_hand.place) == {"files": "logged in"}


@pytest.mark.parametrize(
    ("pasted", "why"),
    [
        ("", "stdin ended without an address"),
        ("hello\n", "the text is not the address to which the browser was sent"),
        ("http://127.0.0.1:1/callback?code=a&state=b\n", "not of this login: its state differs"),
    ],
)
def test_a_wrong_answer(there: Place, pasted: str, why: str) -> None:
    ended = there.run("auth", "login", "files", "--no-browser", stdin=pasted)
    assert ended.code == 1
    error = ended.err.splitlines()[-1]
    assert error.startswith("error: no login to files: ")
    assert why in error
    assert error.endswith("; `search-mcp auth login --no-browser files` starts again")
    assert logins(there) == []


def test_a_login_that_the_user_refuses(by_hand: ByHand) -> None:
    ended = by_hand.runs(Browser({"error": "access_denied", "error_description": "No, thanks"}))
    assert ended.code == 1
    assert ended.err.splitlines()[-1] == (
        "error: no login to files: the authorization server refused the login (access_denied): No, thanks; "
        "`search-mcp auth login --no-browser files` starts again; agree in the browser"
    )


@pytest.fixture
def mixed(there: Place, server: Authorization) -> Iterator[Authorization]:
    """A server whose metadata names the login page of an honest one, which is returned."""
    with authorization() as honest:
        server.login_page = honest.login_page
        server.names_issuer = honest.names_issuer = False
        yield honest


HOSTS = "login page: {honest}\n  token endpoint: {server}\n  issuer: {server}"


@POSIX
@pytest.mark.parametrize(("answer", "code", "sent"), [("n", 1, []), ("y", 1, ["code-0"])])
def test_a_code_goes_to_another_host_than_that_of_the_login_only_if_the_user_agrees(
    there: Place, server: Authorization, mixed: Authorization, answer: str, code: int, sent: list[str]
) -> None:
    screen = Screen(there, "auth", "login")
    screen.wait_for("[y/N]")
    assert HOSTS.format(honest=urlsplit(mixed.url).netloc, server=urlsplit(server.url).netloc) in screen.shown
    screen.press(f"{answer}\n")
    assert screen.end() == code
    assert server.sent == sent
    assert len(mixed.codes) == len(sent)


def test_several_hosts_are_accepted_with_yes(there: Place, server: Authorization, mixed: Authorization) -> None:
    server.codes["code-0"] = {"scope": ""}  # which the honest one gives
    ended = there.run("auth", "login", "--yes")
    assert (ended.code, ended.out.splitlines()[-1]) == (0, "Logged in to files: 1 tool."), ended.err
    assert HOSTS.format(honest=urlsplit(mixed.url).netloc, server=urlsplit(server.url).netloc) in ended.err


def test_several_hosts_are_not_accepted_without_a_terminal(
    there: Place, server: Authorization, mixed: Authorization
) -> None:
    ended = there.run("auth", "login", stdin="y\n")
    assert ended.code == 2
    assert (server.sent, mixed.codes) == ([], {})


def test_a_logout_revokes_and_deletes(there: Place, server: Authorization) -> None:
    assert there.run("auth", "login").code == 0
    ended = there.run("auth", "logout")
    assert (ended.code, ended.out) == (0, "Logged out of files: its tokens are revoked and deleted.\n")
    assert server.logged_out == ["refresh-1"]
    assert logins(there) == []
    assert states(there) == {"files": "needs a login"}
    assert "needs a login" in there.run("check").out
    assert states(there) == {"files": "needs a login"}
    assert there.run("list").out == "files: 1 tool\nfiles.say  Say it\n\n1 tool of 1 server\n"
    assert there.run("auth", "logout", "files").out == "files was not logged in.\n"
    ended = there.run("auth", "logout")
    assert (ended.code, ended.err) == (
        1,
        "error: no server has a login; `search-mcp auth status` shows all remote servers\n",
    )


def test_a_logout_proves_who_the_client_is_with_the_secret_of_the_file(there: Place, server: Authorization) -> None:
    secret = there.folder / "secret"
    secret.write_text("s3cret-of-a-file", "utf-8")
    login = {"clientId": "me", "clientSecret": f"${{file:{secret}}}"}
    there.configure({"files": {"url": f"{server.url}/mcp", "oauth": login}})
    for is_there, shown in ((True, "its tokens are revoked and deleted"), (False, "its tokens are deleted here")):
        assert there.run("auth", "login").code == 0
        (path,) = logins(there)
        assert "s3cret" not in path.read_text("utf-8")
        if not is_there:
            secret.unlink()
        assert shown in there.run("auth", "logout").out
    (proof,) = server.proofs
    assert b"me:s3cret-of-a-file" in base64.b64decode(proof.removeprefix("Basic "))


def test_a_logout_without_the_authorization_server(there: Place, server: Authorization) -> None:
    assert there.run("auth", "login").code == 0
    server.revokes = False
    ended = there.run("auth", "logout")
    assert (ended.code, ended.out) == (0, "Logged out of files: its tokens are deleted here.\n")
    assert "They could not be revoked at 127.0.0.1:" in ended.err
    assert logins(there) == []


def test_the_login_of_a_removed_server(there: Place, server: Authorization) -> None:
    assert there.run("auth", "login").code == 0
    assert there.run("remove", "files").code == 0
    ended = there.run("auth", "status")
    assert ended.code == 0
    assert "not in this file: files. `search-mcp auth logout files` deletes them." in ended.err
    assert there.run("auth", "status", "--json").json["otherLogins"] == ["files"]
    assert there.run("auth", "logout", "files").out == "Logged out of files: its tokens are revoked and deleted.\n"
    assert there.run("auth", "logout", "files").code == 2
    assert server.logged_out == ["refresh-1"]


def test_the_status_of_a_login_that_is_over(there: Place, server: Authorization) -> None:
    assert there.run("auth", "login").code == 0
    (path,) = logins(there)
    login = json.loads(path.read_bytes())
    login["tokens"] |= {"expires_at": 1_800_000_000, "refresh_token": None}
    path.write_text(json.dumps(login), "utf-8")
    assert there.run("auth", "status", TZ="UTC").out.splitlines()[1] == (
        f"files   logged in  until 2027-01-15 08:00; at {server.url}"
    )
    login["tokens"]["expires_at"] = 1_000_000_000
    path.write_text(json.dumps(login), "utf-8")
    ended = there.run("auth", "status", TZ="UTC")
    assert ended.out.splitlines()[1] == "files   needs a login  expired on 2001-09-09 01:46"
    assert ended.err == "`search-mcp auth login files` logs in.\n"
    path.write_text(json.dumps({**login, "tokens": None, "ended": "the refresh token was used before"}), "utf-8")
    assert there.run("auth", "status").out.splitlines()[1] == (
        "files   needs a login  the refresh token was used before"
    )


def test_the_status_of_a_server_that_needs_no_login_does_not_send_to_check_again(
    there: Place, server: Authorization
) -> None:
    server.open_methods = {"initialize", "notifications/initialized", "server/discover", "tools/list"}
    assert there.run("auth", "status").err == "`search-mcp check files` shows whether it needs a login.\n"
    assert there.run("check").code == 0
    ended = there.run("auth", "status")
    assert ended.out.splitlines()[1:] == ["files   none   its tools were listed without one"]
    assert ended.err == ""


def test_the_status_of_servers_without_a_login(place: Place) -> None:
    place.configure(
        {
            "open": {"url": "https://open.example/mcp"},
            "header": {"url": "https://a.example/mcp", "headers": {"authorization": "Bearer s3cret-token"}},
            "user": {"url": "https://me:s3cret-word@b.example/mcp"},
            "without": {"url": "https://c.example/mcp", "oauth": False},
            "machine": {
                "url": "https://d.example/mcp",
                "oauth": {"clientId": "x", "clientSecret": "s3cret-client", "grant": "client_credentials"},
            },
            "broken": {"url": "wss://e.example/mcp"},
            "local": {"command": "x"},
        }
    )
    ended = place.run("auth", "status")
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "Server   Login      Details",
        "open     none       not known whether it needs one",
        "header   not used   its entry has an Authorization header",
        "user     not used   its address has a user and a password",
        'without  not used   its entry has "oauth": false',
        "machine  automatic  by its client id and secret",
        "broken   failed     WebSocket servers are not supported; use its https address",
    ]
    assert ended.err == "`search-mcp check open` shows whether it needs a login.\n"
    assert "s3cret" not in ended.out


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (["login", "header"], 2, "takes no login, because its entry has an Authorization header; remove that"),
        (["login", "local"], 2, "local is not a remote server; only servers with a `url` in their entry have logins"),
        (["status", "local"], 2, "local is not a remote server"),
        (["login", "opne"], 2, "there is no server 'opne' in the configuration; did you mean open?"),
        (["logout", "opne"], 2, "there is no server 'opne' in the configuration; did you mean open?"),
        (["login"], 2, "open and other may need a login; name one: search-mcp auth login NAME"),
        (["logout"], 1, "no server has a login"),
        (["login", "gone"], 1, "no login to gone: no connection to 127.0.0.1:9: Connection refused; check its"),
        (["login", "broken"], 1, "broken cannot be reached: WebSocket servers are not supported"),
    ],
)
def test_a_login_that_is_not_possible(place: Place, words: list[str], code: int, why: str) -> None:
    place.configure(
        {
            "open": {"url": "https://open.example/mcp"},
            "other": {"url": "https://other.example/mcp"},
            "gone": {"url": "http://127.0.0.1:9/mcp", "enabled": False},
            "header": {"url": "https://a.example/mcp", "headers": {"Authorization": "Bearer x"}},
            "broken": {"url": "wss://e.example/mcp"},
            "local": {"command": "x"},
        }
    )
    ended = place.run("auth", *words)
    assert is_one_sentence(ended, code)
    assert why in ended.err


def test_a_held_server_is_not_contacted(there: Place, server: Authorization) -> None:
    project = there.folder / "project.json"
    project.write_text(there.config.read_text("utf-8"), "utf-8")
    assert there.run("config", "trust", str(project), "--yes").code == 0
    project.write_text(json.dumps({"mcpServers": {"other": {"url": f"{server.url}/mcp"}}}), "utf-8")
    ended = there.run("auth", "login", "other", "--config", str(project))
    assert is_one_sentence(ended, 1, "other is held")
    assert server.calls == []


def test_the_remedy_names_the_config_file(there: Place) -> None:
    other = there.folder / "other file.json"
    other.write_text(there.config.read_text("utf-8"), "utf-8")
    ended = there.run("call", "files.say", "text=x", "--config", str(other))
    assert ended.code == 1
    assert f"run `search-mcp auth login files --config '{other}'`" in ended.err
    ended = there.run("auth", "login", "files", "--config", str(other))
    assert (ended.code, ended.out.splitlines()[-1]) == (0, "Logged in to files: 1 tool.")


def test_no_output_has_a_secret(by_hand: ByHand, server: Authorization) -> None:
    place = by_hand.place
    seen = set[str]()
    watched = threading.Event()

    def watch() -> None:
        while not watched.wait(0.01):
            seen.update(_command_lines(place))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        ended = by_hand.runs(Browser(), "--debug")
        shown = ended.out + ended.err
        server.expire()  # so that the next call renews
        for words in (["call", "files.say", "text=x"], ["auth", "status"], ["auth", "status", "--json"], ["check"]):
            ended = place.run(*words, "--debug")
            assert ended.code == 0, ended.err
            shown += ended.out + ended.err
        ended = place.run("auth", "logout", "--debug")
    finally:
        watched.set()
        watcher.join()
    shown += ended.out + ended.err
    assert server.redeemed == 1
    assert "logged in" in shown
    (state,) = parse_qs(urlsplit(by_hand.address).query)["state"]
    secrets = [state, "code-0", "access-", "refresh-1", "refresh-2"]
    assert [each for each in secrets if each in shown or any(each in line for line in seen)] == []


def _command_lines(place: Place) -> Iterator[str]:
    for number in place.processes():
        try:
            yield Path(f"/proc/{number}/cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue


@pytest.mark.parametrize(
    ("words", "unneeded"),
    [
        (["servers"], ["search_mcp.cli.logins.logins", "search_mcp.auth", "httpx2"]),
        (["auth", "status"], ["search_mcp.cli.logins.logging_in", "httpx2"]),
        (["auth", "login", "--help"], ["search_mcp.cli.logins.logging_in", "httpx2"]),
    ],
)
def test_only_a_login_loads_what_a_login_needs(there: Place, words: list[str], unneeded: list[str]) -> None:
    ended = there.run(*words, command=(sys.executable, "-X", "importtime", "-m", "search_mcp"))
    assert ended.code == 0
    loaded = {line.rpartition("|")[2].strip() for line in ended.err.splitlines()}
    assert "search_mcp.cli.app" in loaded
    assert loaded & {*unneeded} == set()


@POSIX
def test_a_wrong_paste_at_a_terminal_is_asked_again(there: Place) -> None:
    screen = Screen(there, "auth", "login", "--no-browser")
    screen.wait_for("Address: ")
    screen.press("hello\n")
    screen.wait_for("warning: that is not the address")
    (address,) = [line for line in screen.shown.splitlines() if "response_type=code" in line]
    screen.press(f"{Browser().redirected(address)}\n")
    assert screen.end() == 0
    assert screen.lines[-1] == "Logged in to files: 1 tool."


@POSIX
def test_a_long_paste_at_a_terminal(there: Place) -> None:
    screen = Screen(there, "auth", "login", "--no-browser")
    screen.wait_for("Address: ")
    (address,) = [line for line in screen.shown.splitlines() if "response_type=code" in line]
    # Longer than a line that a terminal hands over.
    screen.press(f"x\x7f{Browser({'session': 'x' * 5000}).redirected(address)}\n")
    assert screen.end() == 0
    assert screen.lines[-1] == "Logged in to files: 1 tool."


@POSIX
def test_the_end_of_the_input_at_a_terminal(there: Place) -> None:
    screen = Screen(there, "auth", "login", "--no-browser")
    screen.wait_for("Address: ")
    screen.press("\x04")
    assert screen.end() == 1
    assert "stdin ended without an address" in " ".join(screen.shown.split())


@POSIX
def test_ctrl_c_ends_the_wait(there: Place) -> None:
    there.variables["BROWSER"] = "true"
    for words in (["auth", "login"], ["auth", "login", "--no-browser"]):
        screen = Screen(there, *words)
        screen.wait_for("5 minutes")
        screen.press("\x03")
        assert screen.end() == 130
        assert "Traceback" not in screen.shown
    assert logins(there) == []


@POSIX
def test_a_browser_here_needs_no_paste(there: Place) -> None:
    screen = Screen(there, "auth", "login", "--no-browser")
    screen.wait_for("Address: ")
    (address,) = [line for line in screen.shown.splitlines() if "response_type=code" in line]
    there.run(command=(str(there.folder / "browser"), address))
    assert screen.end() == 0
    assert screen.lines[-1] == "Logged in to files: 1 tool."
    assert screen.fits() or max(map(len, screen.lines)) == len(address)
