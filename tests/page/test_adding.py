"""Servers that are added on the page: shown, tried, and kept as they were shown."""

import html
import json
import re
import shlex
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from auth.authorization import authorization
from playwright.sync_api import expect
from processes.run import SERVERS, Json, server
from real.processes import VARIABLE, command_line, living

from page.conftest import NewHome, NewVisitor
from page.running import Guest, PageHome, waits_until

TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
HIDDEN = re.compile(r"<input type=\"hidden\"[^>]*>")


def with_a_comment(new_home: NewHome) -> PageHome:
    """Return a home whose configuration has a comment, and holds commands that the user has not accepted."""
    home = new_home({"one": server("well_behaved")}, confirmCommands=True)
    home.edits(lambda text: text.replace("{", "{ // mine\n", 1))
    return home


@pytest.fixture
def home(new_home: NewHome) -> PageHome:
    return with_a_comment(new_home)


@pytest.fixture
def guest(home: PageHome) -> Iterator[Guest]:
    with home.visit() as guest:
        yield guest


@pytest.fixture(scope="module")
def lasting_home(new_lasting_home: NewHome) -> PageHome:
    """Such a home, for tests that keep nothing in it."""
    return with_a_comment(new_lasting_home)


@pytest.fixture(scope="module")
def reader(lasting_home: PageHome) -> Iterator[Guest]:
    """A guest of it."""
    with lasting_home.visit() as guest:
        yield guest


@pytest.fixture
def restored_home(lasting_home: PageHome) -> Iterator[PageHome]:
    """The same home; its file is restored after the test."""
    before = lasting_home.config.read_text()
    yield lasting_home
    lasting_home.edits(lambda text: before)


def line(name: str, *arguments: str) -> str:
    """Return the command of one of tests/servers."""
    return shlex.join([sys.executable, str(SERVERS / f"{name}.py"), *arguments])


def snippet(home: PageHome, **servers: Json) -> str:
    """Return the snippet of servers whose processes are found by the mark of the home."""
    mark = {VARIABLE: home.mark}
    marked = {name: {**entry, "env": {**mark, **entry.get("env", {})}} for name, entry in servers.items()}
    return json.dumps({"mcpServers": marked}, indent=2, ensure_ascii=False)


def text_of(answer: httpx2.Response) -> str:
    """Return what a person reads, with long commands on one line."""
    return html.unescape(re.sub(r"<[^>]*>", "", answer.text)).replace(" \\\n  ", " ")


def fields(answer: httpx2.Response) -> dict[str, str]:
    """Return the hidden fields of the first form of a step."""
    form = answer.text.partition("<main")[2].partition("</form>")[0]
    pairs = re.findall(r'name="([a-z_]+)" value="([^"]*)"', form)
    return {name: html.unescape(value) for name, value in pairs if name != "form_token"}


def shows(guest: Guest, text: str, name: str = "") -> httpx2.Response:
    """Take the first step."""
    return guest.sends("add", text=text, name=name)


def kept(guest: Guest, shown: httpx2.Response) -> str:
    """Keep what was shown; return the text of the view of the servers."""
    answer = guest.sends("add/keep", **fields(shown))
    assert answer.headers["location"] == f"{guest.root}servers", text_of(answer)
    return text_of(guest.get(answer.headers["location"]))


def entries(home: PageHome) -> Json:
    """Return the configured servers."""
    found: Json = json.loads(home.config.read_text().replace("// mine\n", ""))["mcpServers"]
    return found


def states(home: PageHome) -> dict[str, str]:
    return {each["name"]: each["state"] for each in json.loads(home.types("servers", "--json").stdout)["servers"]}


def runs(home: PageHome, script: str) -> bool:
    """Return whether a process of this home runs a script of tests/servers."""
    return any(f"{script}.py" in command_line(pid) for pid in living(home.mark))


# From step to step


def test_a_command_is_shown_then_tried_then_kept(home: PageHome, guest: Guest, tmp_path: Path) -> None:
    mark, before = tmp_path / "started it's", home.config.read_text()
    shown = shows(guest, line("leaves_a_mark", str(mark)), "marks")
    assert shown.status_code == 200
    assert f"leaves_a_mark.py '{tmp_path}/started it'\"'\"'s'" in text_of(shown)
    assert str(home.config) in text_of(shown)
    assert not mark.exists()
    tried = guest.sends("add/try", **fields(shown))
    assert mark.exists()
    assert re.search(r"marks\s+It works: 4 tools\. It was stopped again\.", text_of(tried))
    assert all(tool in text_of(tried) for tool in ("echo", "environment", "folder", "big"))
    assert home.config.read_text() == before
    assert f"Added marks to {home.config}." in kept(guest, tried)
    assert entries(home)["marks"] == {"command": sys.executable, "args": [str(SERVERS / "leaves_a_mark.py"), str(mark)]}
    assert home.config.read_text().startswith("{ // mine\n")
    assert states(home)["marks"] == "known"  # neither held nor to be started for its list


def test_a_snippet_is_shown_without_its_secrets(home: PageHome, guest: Guest) -> None:
    pasted = snippet(home, noisy=server("has_tools", "go=Go there.", env={"API_TOKEN": TOKEN, "MODE": "1"}))
    shown = shows(guest, pasted)
    assert "API_TOKEN" in text_of(shown)
    assert "MODE=1" in text_of(shown)
    tried = guest.sends("add/try", **fields(shown))
    assert "Go there." in text_of(tried)
    waits_until(lambda: not runs(home, "has_tools"))
    for step in (shown, tried):
        assert TOKEN not in HIDDEN.sub("", step.text)
        assert step.headers["cache-control"] == "no-store"
    assert TOKEN not in kept(guest, tried)
    assert entries(home)["noisy"]["env"]["API_TOKEN"] == TOKEN


@pytest.mark.parametrize(
    "pasted",
    [
        '{"mcp": {"servers": {"x": {"type": "stdio", "command": "npx", "args": ["-y", "files"]}}}}',  # VS Code
        '{"mcp": {"x": {"type": "local", "command": ["npx", "-y", "files"]}}}',  # opencode
        '"x": {"command": "npx", "args": ["-y", "files"],},',
        '// a comment\n{"x": {"command": "npx", "args": ["-y", "files"]}}',
        '{"command": "npx", "args": ["-y", "files"]}',
    ],
)
def test_the_snippet_of_any_client_is_taken(restored_home: PageHome, reader: Guest, pasted: str) -> None:
    kept(reader, shows(reader, pasted, "x"))
    assert entries(restored_home)["x"] == {"command": "npx", "args": ["-y", "files"]}


FILES: Json = {"command": "npx", "args": ["-y", "files"]}
FAR = "https://far.example.com/mcp"


@pytest.mark.parametrize(
    ("pasted", "name", "entry"),
    [
        (
            'Write this:\n```json\n{"mcpServers": {"x": {"command": "npx", "args": ["-y", "files"]}}}\n```\nand',
            "x",
            FILES,
        ),
        ("```sh\nnpx -y files\n```", "files", FILES),
        ("claude mcp add x -e A=1 --scope user -- npx -y files", "x", {**FILES, "env": {"A": "1"}}),
        ("claude mcp add --transport stdio x npx -- -y files", "x", FILES),
        (
            f"claude mcp add --transport sse x {FAR} --header 'A: b'",
            "x",
            {"url": FAR, "type": "sse", "headers": {"A": "b"}},
        ),
        ("""claude mcp add-json x '{"command": "npx", "args": ["-y", "files"]}'""", "x", FILES),
        (f"codex mcp add x --url {FAR}", "x", {"url": FAR}),
        ("gemini mcp add -s user --env=A=1 x npx -y files", "x", {**FILES, "env": {"A": "1"}}),
    ],
)
def test_blocks_and_lines_for_other_clients_are_taken(
    restored_home: PageHome, reader: Guest, pasted: str, name: str, entry: Json
) -> None:
    kept(reader, shows(reader, pasted))
    assert entries(restored_home)[name] == entry


def test_a_program_that_is_not_there_is_told_and_can_be_kept(home: PageHome, guest: Guest) -> None:
    shown = shows(guest, "hello-no-program there", "x")
    assert "`hello-no-program` is not a program on this computer." in text_of(shown)
    assert "is not a program" not in text_of(shows(guest, line("has_tools"), "y"))
    kept(guest, shown)
    assert entries(home)["x"]["command"] == "hello-no-program"


@pytest.mark.parametrize("part", ["env", "headers"])
def test_a_value_that_is_still_to_be_filled_in_is_told(reader: Guest, part: str) -> None:
    entry = {part: {"W": "<YOUR_TOKEN>", "F": "ghp_abc"}, **({"command": "npx"} if part == "env" else {"url": FAR})}
    seen = text_of(shows(reader, json.dumps({"mcpServers": {"x": entry}})))
    told = re.findall(r"(\w+) still has the text of an example; replace it", seen)
    assert told == ["W"]


def test_several_servers_are_added_together(home: PageHome, guest: Guest) -> None:
    off = {**server("has_tools", "x=X."), "disabled": True}
    shown = shows(guest, snippet(home, a=server("has_tools", "go=Go."), b=server("exits_in_start"), c=off))
    assert "It is switched off in the snippet" in text_of(shown)
    tried = text_of(guest.sends("add/try", **fields(shown)))
    assert re.search(r"a\s+It works.*b\s+failed.*c\s+It works", tried, re.DOTALL)
    assert "Keep it all the same" in tried
    said = kept(guest, shown)
    assert f"Added c, disabled, to {home.config}." in said
    assert entries(home)["c"]["enabled"] is False


# Addresses


def test_an_address_that_nobody_answers_can_be_kept(home: PageHome, guest: Guest) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
    shown = shows(guest, url, "far")
    assert f"url: {url}" in text_of(shown)
    tried = guest.sends("add/try", **fields(shown))
    assert re.search(r"far\s+failed", text_of(tried))
    kept(guest, tried)
    assert entries(home)["far"] == {"url": url}


def test_a_server_that_needs_a_login_is_kept_and_logged_in_later(home: PageHome, guest: Guest) -> None:
    with authorization() as running:
        tried = guest.sends("add/try", **fields(shows(guest, f"{running.url}/mcp", "files")))
        assert re.search(r"files\s+needs a login\.\s+Keep it, then log in under Waiting for you", text_of(tried))
        kept(guest, tried)
        assert "It needs a login" in text_of(guest.get(f"{guest.root}waiting"))


# Failures


def test_a_failed_trial_tells_the_reason_and_the_end_of_stderr(home: PageHome, guest: Guest) -> None:
    shown = shows(guest, snippet(home, broken=server("exits_in_start", env={"TOKEN": TOKEN})))
    tried = guest.sends("add/try", **fields(shown))
    assert re.search(r"broken\s+failed", text_of(tried))
    assert "it exited with code 3" in text_of(tried)
    assert "fatal: the token *** was refused" in text_of(tried)
    assert TOKEN not in HIDDEN.sub("", tried.text)
    assert "broken" not in entries(home)


def test_a_trial_ends_when_the_browser_goes_away(home: PageHome, guest: Guest) -> None:
    shown = shows(guest, snippet(home, slow=server("hangs_in_start")))
    with home.visit() as other:
        later = fields(shown) | {"form_token": other.form_token}
        with pytest.raises(httpx2.ReadTimeout):
            other.post(f"{other.root}add/try", data=later, timeout=httpx2.Timeout(10, read=0.5))
    waits_until(lambda: not runs(home, "hangs_in_start"))
    assert "slow" not in entries(home)


def test_a_trial_ends_with_the_engine(home: PageHome, guest: Guest) -> None:
    shown = shows(guest, snippet(home, slow=server("hangs_in_start")))
    with ThreadPoolExecutor() as threads:
        trying = threads.submit(guest.sends, "add/try", **fields(shown))
        waits_until(lambda: runs(home, "hangs_in_start"))
        assert home.client().types("engine", "stop").returncode == 0
        assert trying.exception() is not None or trying.result().status_code == 500
    waits_until(lambda: not living(home.mark))


@pytest.mark.parametrize(
    ("text", "name", "problem"),
    [
        ("", "x", "there is nothing to add"),
        ("npx 'x", "x", "the command has a quote without its end"),
        ('see {"x": {"command": "y"}', "x", "what you pasted:1: not valid JSON"),
        ('```json\n{"x":\n  {"command": y}\n}\n```', "", "what you pasted:2: not valid JSON"),
        ("claude mcp list", "", "mcp list is not understood here; paste the part after --, or the address"),
        ("claude mcp add --odd x -- y", "", "the option --odd is not understood here; paste the part after --"),
        ("codex mcp add x", "", "this line has no command and no address; paste the part after --"),
        ("{", "x", "what you pasted:1: not valid JSON"),
        ("[mcp_servers.x]", "x", "what you pasted:1: not valid JSON"),
        ('{"x": 1}', "x", "x is not a server: it has neither a command nor a url"),
        ('{"a": {"command": "x"}, "b": {"command": "y"}}', "x", "it holds 2 servers, which cannot all be x"),
        ("mcp.example.com/mcp", "x", "for a remote server, write https://mcp.example.com/mcp"),
        ("https://mcp.example.com/mcp --x", "x", "is the URL of a remote server, which takes no arguments"),
        ("search-mcp serve", "x", "there is no server to add besides search-mcp itself"),
        ("uvx other", "one", "the config file already has a server one"),
    ],
)
def test_a_wrong_text_is_told_above_what_was_written(reader: Guest, text: str, name: str, problem: str) -> None:
    answer = shows(reader, text, name)
    assert answer.status_code == 400
    assert problem in text_of(answer)
    assert f"\n{html.escape(text, quote=True).replace('&#x27;', '&#39;').replace('&quot;', '&#34;')}</textarea>" in (
        answer.text
    )
    assert f'value="{name}"' in answer.text


def test_a_server_that_is_there_already_is_not_added(home: PageHome, guest: Guest) -> None:
    shown = shows(guest, "npx -y files", "x")
    kept(guest, shown)
    assert "x is in the configuration already" in text_of(shows(guest, "npx -y files"))
    assert shows(guest, "npx -y files", "again").status_code == 200


# Names


def test_a_name_is_suggested_and_numbered(home: PageHome, guest: Guest) -> None:
    kept(guest, shows(guest, "npx -y @modelcontextprotocol/server-memory"))
    kept(guest, shows(guest, '{"command": "uvx", "args": ["mcp-server-memory"]}'))
    kept(guest, shows(guest, "https://mcp.linear.app/mcp"))
    assert [*entries(home)] == ["one", "memory", "memory-2", "linear"]


def test_a_name_that_is_taken_meanwhile_is_not_overwritten(home: PageHome, guest: Guest) -> None:
    shown = shows(guest, "uvx mine", "x")
    home.edits(lambda text: text.replace('"one"', '"x"'))
    before = home.config.read_text()
    for path in ("add/try", "add/keep"):
        answer = guest.sends(path, **fields(shown))
        assert answer.status_code == 400
        assert "the config file already has a server x" in text_of(answer)
    assert home.config.read_text() == before


def test_a_text_that_means_something_else_now_is_shown_again(home: PageHome, guest: Guest, tmp_path: Path) -> None:
    mark = tmp_path / "started"
    shown = shows(guest, line("leaves_a_mark", str(mark)))
    assert fields(shown)["name"] == ""
    home.edits(lambda text: text.replace('"one"', '"leaves-a-mark"'))
    for path in ("add/try", "add/keep"):
        answer = guest.sends(path, **fields(shown))
        assert answer.status_code == 409
        assert "It is different from what was shown here" in text_of(answer)
        assert "leaves-a-mark-2" in text_of(answer)
    assert not mark.exists()
    assert "leaves-a-mark-2" not in entries(home)
    kept(guest, answer)
    assert "leaves-a-mark-2" in entries(home)


# Changed and removed


def changing(guest: Guest, name: str) -> str:
    """Return the text that the form of a server begins with."""
    (text,) = re.findall(r"<textarea[^>]*>(.*?)</textarea>", guest.view(f"add?change={name}"), re.DOTALL)
    return html.unescape(text)


def test_a_broken_server_is_changed(home: PageHome, guest: Guest) -> None:
    broken = {"command": sys.executable, "args": ["gone.py"], "tags": ["a"], "env": {"API_TOKEN": TOKEN}}
    home.edits(
        lambda text: text.replace('"mcpServers": {', f'"mcpServers": {{ // theirs\n"bad": {json.dumps(broken)},', 1)
    )
    waits_until(lambda: guest.get(f"{guest.root}server?name=bad").status_code == 200)
    assert 'add?change=bad">Change</a>' in guest.view("server?name=bad")
    text = changing(guest, "bad")
    assert json.loads(text) == {"mcpServers": {"bad": broken}}
    good = {**broken, **server("has_tools", "go=Go there."), "tags": ["a"]}
    shown = guest.sends("add", text=json.dumps({"mcpServers": {"bad": good}}), changed="bad")
    tried = guest.sends("add/try", **fields(shown))
    assert "It works: 1 tool. It was stopped again." in text_of(tried)
    assert f"Changed bad in {home.config}." in kept(guest, tried)
    assert "// theirs" in home.config.read_text()
    assert json.loads(changing(guest, "bad")) == {"mcpServers": {"bad": good}}
    assert [*json.loads(changing(guest, "one"))["mcpServers"]] == ["one"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"mcpServers": {"two": {"command": "x"}}}', "this is not one server called one"),
        ('{"one": {"command": "x"}, "two": {"command": "y"}}', "this is not one server called one"),
        ('{"one": {"x": 1}}', "one is not a server"),
        ("", "there is nothing to add"),
    ],
)
def test_only_the_entry_of_this_server_is_changed(
    lasting_home: PageHome, reader: Guest, text: str, problem: str
) -> None:
    before = lasting_home.config.read_text()
    answer = reader.sends("add", text=text, changed="one")
    assert (answer.status_code, problem in text_of(answer)) == (400, True)
    assert "one is the same as before" in text_of(reader.sends("add", text=changing(reader, "one"), changed="one"))
    assert lasting_home.config.read_text() == before


def test_an_entry_that_was_edited_meanwhile_is_not_replaced(home: PageHome, guest: Guest) -> None:
    shown = guest.sends("add", text="npx -y files", changed="one")
    home.edits(lambda text: text.replace("well_behaved", "has_tools"))
    before = home.config.read_text()
    answer = guest.sends("add/keep", **fields(shown))
    assert answer.status_code == 409
    assert home.config.read_text() == before
    kept(guest, answer)
    assert entries(home)["one"] == FILES


def test_a_server_is_removed_after_it_was_shown(home: PageHome, guest: Guest) -> None:
    assert 'remove?server=one">Remove</a>' in guest.view("server?name=one")
    seen = guest.get(f"{guest.root}remove?server=one")
    assert "well_behaved.py" in text_of(seen)
    digest = fields(seen)["digest"]
    home.edits(lambda text: text.replace("well_behaved", "has_tools"))
    guest.sends("remove", server="one", digest=digest, back="servers")
    assert "so nothing was removed" in text_of(guest.get(f"{guest.root}servers"))
    assert "one" in entries(home)
    guest.sends("remove", **fields(guest.get(f"{guest.root}remove?server=one")))
    assert f"Removed one from {home.config}." in text_of(guest.get(f"{guest.root}servers"))
    assert entries(home) == {}


@pytest.mark.parametrize("path", ["remove?server=gone", "add?change=gone"])
def test_a_server_that_is_gone_is_told(reader: Guest, path: str) -> None:
    assert reader.get(reader.root + path).status_code == 303
    assert "there is no server 'gone'" in text_of(reader.get(f"{reader.root}servers"))


# Hostile texts


def test_texts_of_servers_and_snippets_are_text(home: PageHome, guest: Guest) -> None:
    evil = "</pre><script>alert(1)</script>\u202e"
    shown = shows(guest, snippet(home, **{"<b>": server("has_tools", f"go={evil}")}))
    tried = guest.sends("add/try", **fields(shown))
    for step in (shown, tried):
        assert "<script>" not in step.text
        assert "<b>" not in step.text
        assert "\u202e" not in HIDDEN.sub("", step.text)
    assert "&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;\\u{202e}" in tried.text
    kept(guest, tried)
    assert entries(home)["<b>"]["args"][1] == f"go={evil}"


def test_a_form_without_the_token_of_the_page_starts_nothing(reader: Guest, tmp_path: Path) -> None:
    mark = tmp_path / "started"
    shown = shows(reader, line("leaves_a_mark", str(mark)))
    assert reader.sends("add/try", **{**fields(shown), "form_token": "x"}).status_code == 403
    assert not mark.exists()


@pytest.mark.parametrize("path", ["add/try", "add/keep", "add/change"])
def test_a_step_that_is_loaded_again_begins_anew(reader: Guest, path: str) -> None:
    answer = reader.get(reader.root + path)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{reader.root}add")


# In a browser


@pytest.mark.parametrize("has_script", [True, False], ids=["script", "plain"])
def test_a_person_adds_a_server(home: PageHome, new_visitor: NewVisitor, has_script: bool) -> None:
    page = new_visitor(java_script_enabled=has_script).enters(home, "add")
    page.get_by_label("A JSON snippet for any client").fill(snippet(home, first=server("has_tools", "go=Go there.")))
    page.get_by_role("button", name="Show what it runs").click()
    expect(page.get_by_role("region", name="first")).to_contain_text("'go=Go there.'")
    page.get_by_role("button", name="Change it").click()
    page.get_by_label("Name").fill("second")
    page.get_by_role("button", name="Show what it runs").click()
    page.get_by_role("button", name="Start and try it").click()
    item = page.get_by_role("region", name="second")
    expect(item).to_contain_text("It works: 1 tool. It was stopped again.")
    expect(item.get_by_role("heading", name="go")).to_be_visible()
    page.get_by_role("button", name="Keep it").click()
    expect(page.get_by_text(f"Added second to {home.config}.")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text="second")).to_contain_text("known (a call starts it), 1 tool")
    waits_until(lambda: not runs(home, "has_tools"))


def test_a_person_stops_a_trial(home: PageHome, new_visitor: NewVisitor) -> None:
    page = new_visitor().enters(home, "add")
    page.get_by_label("A JSON snippet for any client").fill(snippet(home, slow=server("hangs_in_start")))
    page.get_by_role("button", name="Show what it runs").click()
    expect(page.get_by_text("It may take a minute if a package is downloaded first.")).to_be_visible()
    page.get_by_role("button", name="Start and try it").click()
    waits_until(lambda: runs(home, "hangs_in_start"))
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("You stopped the trial. Nothing was written.")).to_be_visible()
    waits_until(lambda: not runs(home, "hangs_in_start"))
