"""AI clients on the page: connected, found, connected and disconnected by an edit that is shown first."""

import html
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect
from processes.run import Json, server
from processes.shared import connection

from page.conftest import NewHome
from page.running import Guest, PageHome, Visitor
from search_mcp.engine import hello

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the clients' files are where Linux has them")
CLAUDE = """\
{
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "files", "/a"],
      "env": {"TOKEN": "s3cret-value"}
    }
  },
  "theme": "dark"
}
"""
CURSOR = """\
{
  // the remote one
  "mcpServers": {
    "linear": {"url": "https://mcp.linear.app/sse", "headers": {"A": "s3cret-header"}}, // mine
    "clock<b>": {"command": "uvx", "args": ["mcp-server-time"]},
    "here": {"command": "npx", "args": ["${workspaceFolder}"]},
  },
}
"""
CODEX = """\
model = "gpt" # mine

[mcp_servers.files] # other files
command = "npx"
args = ["-y", "files", "/b"]

# the rest
[tui]
theme = "dark"
"""
FILES = {
    "claude-desktop": (".config/Claude/claude_desktop_config.json", CLAUDE),
    "cursor": (".cursor/mcp.json", CURSOR),
    "codex": (".codex/config.toml", CODEX),
}


def with_files(home: PageHome) -> PageHome:
    """Write the files of three clients into a home."""
    for name, text in FILES.values():
        path = home.folder / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return home


def path_of(home: PageHome, client: str) -> Path:
    return home.folder / FILES[client][0]


@pytest.fixture
def home(new_home: NewHome) -> PageHome:
    return with_files(new_home({"one": server("well_behaved")}))


@pytest.fixture
def guest(home: PageHome) -> Iterator[Guest]:
    with home.visit() as guest:
        yield guest


@pytest.fixture(scope="module")
def reader(new_lasting_home: NewHome) -> Iterator[Guest]:
    """A guest of such a home, for tests that write nothing in it."""
    with with_files(new_lasting_home({"one": server("well_behaved")})).visit() as guest:
        yield guest


def shown(guest: Guest, path: str) -> str:
    """Return the text of a view, without its tags."""
    return html.unescape(re.sub(r"<[^>]*>", "", guest.view(path)))


def digest(guest: Guest, path: str) -> str:
    (found,) = re.findall(r'name="digest" value="([0-9a-f]+)"', guest.view(path))
    return str(found)


def connects(guest: Guest, client: str, **more: str) -> str:
    """Send the form that connects a client; return the text of the view that answers it."""
    query = f"connect?client={client}{'&replace=yes' if 'replace' in more else ''}"
    was = "moved" if "replace" in more else "beside"
    sent = guest.sends("connect", client=client, digest=digest(guest, query), shown=was, back=query, **more)
    assert sent.status_code == 303
    return shown(guest, sent.headers["location"].removeprefix(guest.root))


def disconnects(guest: Guest, client: str) -> str:
    guest.sends("disconnect", client=client, digest=digest(guest, f"disconnect?client={client}"), back="clients")
    return shown(guest, "clients")


# Connected


def test_a_client_appears_when_it_connects_with_what_it_uses(home: PageHome, visitor: Visitor) -> None:
    page = visitor.enters(home, "clients")
    connected = page.locator("#connected")
    expect(connected).to_contain_text("No client is connected")
    with home.client(options=("--servers", "on*")) as client:
        client.opens()
        client.calls("one.echo", words="hello")
        expect(connected).to_contain_text("a client")
        expect(connected).to_contain_text("connected since")
        expect(connected).to_contain_text("uses one")
        expect(connected).to_contain_text("--servers on*")
        expect(connected).to_contain_text("process ")
    expect(connected).to_contain_text("No client is connected")


def test_the_name_of_a_client_is_text(home: PageHome, guest: Guest) -> None:
    with home.client() as client:
        info = {"name": "<img src=x>\u202eevil", "version": "1"}
        client.asks("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=info)
        seen = guest.view("clients")
        assert "&lt;img src=x&gt;\\u{202e}evil" in seen
        assert "<img" not in seen


# Found


def test_the_files_of_this_computer_are_found(home: PageHome, guest: Guest) -> None:
    (home.folder / FILES["codex"][0]).write_text("model = ")
    seen = shown(guest, "clients")
    assert re.search(r"Claude Desktop\s+not registered\s+It starts 1 other server itself: files\.", seen)
    assert re.search(r"Cursor\s+not registered\s+It starts 2 other servers itself: linear, clock<b>\.", seen)
    assert re.search(rf"Codex\s+unknown\s+{re.escape(str(path_of(home, 'codex')))}:1: not valid TOML", seen)
    assert re.search(r"Not found on this computer\s+Claude CodeVS CodeWindsurf", seen)
    assert "s3cret" not in seen


def test_a_client_with_another_configuration_is_told_apart(home: PageHome, guest: Guest) -> None:
    home.client().types("install", "cursor", "--no-start", "--config", str(home.folder / "other.json"))
    assert "registered with another configuration" in shown(guest, "clients")
    connects(guest, "cursor")
    seen = shown(guest, "clients")
    assert "registered with another configuration" not in seen
    assert "Cursor\nregistered" in re.sub(r"\n+", "\n", seen)


def test_the_cost_of_what_a_client_is_shown_is_that_of_the_command(home: PageHome, guest: Guest) -> None:
    home.types("check")
    home.types("install", "codex", "--no-start")
    told = json.loads(home.types("tokens", "--client", "codex", "--json").stdout)
    assert re.search(r"Full list: [\d,]+ tokens", shown(guest, "clients"))
    rows = {
        cells[0]: cells[1:]
        for row in re.findall(r"<tr>.*?</tr>", guest.view("client?name=codex"))
        if (cells := [re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)])
    }
    modes = ("full", "light", "search")
    assert rows["Server"] == ["Tools", "full *", "light", "search"]
    assert rows["one"][0] == "4"
    assert rows["one"][1:] == [f"{told['servers'][0][mode]:,}" for mode in modes]
    assert rows["total"][1:] == [f"{told['total'][mode]:,}" for mode in modes]


def test_the_cost_counts_the_servers_of_the_client_and_starts_none(new_home: NewHome, tmp_path: Path) -> None:
    mark = tmp_path / "started"
    home = with_files(new_home({"one": server("well_behaved"), "two": server("leaves_a_mark", str(mark))}))
    home.types("check", "one")
    home.types("install", "codex", "--servers", "one", "--no-start")
    with home.visit() as guest:
        seen = shown(guest, "client?name=codex")
        assert re.search(r"one\s*4", seen)
        assert "two" not in seen
        assert "--servers one" in shown(guest, "clients")
    assert not mark.exists()


def test_servers_that_a_client_chose_and_that_are_gone_are_told(home: PageHome, guest: Guest) -> None:
    home.types("install", "codex", "--servers", "one", "--no-start")
    home.edits(lambda text: text.replace('"one"', '"uno"'))
    seen = shown(guest, "clients")
    assert re.search(r"registered, with --servers one\s+.*there is no server", seen)
    assert "Disconnect" in seen


# Connect and disconnect


def test_a_client_is_connected_with_the_difference_that_was_shown(home: PageHome, guest: Guest) -> None:
    seen = shown(guest, "connect?client=cursor")
    assert '+    "search-mcp": {' in seen
    assert "switch it on in Cursor's settings, under MCP" in seen
    assert path_of(home, "cursor").read_text() == CURSOR
    said = connects(guest, "cursor")
    backup = path_of(home, "cursor").with_name("mcp.json.search-mcp.bak")
    path = path_of(home, "cursor")
    assert f"search-mcp is in {path} now; the file before is {backup}. Switch it on in Cursor's settings" in said
    assert "Client  Result" not in re.sub(" +", "  ", said)
    assert backup.read_text() == CURSOR
    assert "already installed" in home.types("install", "cursor", "--no-start").stdout
    assert shown(guest, "connect?client=cursor").count("Nothing changes in this file.") == 1


@pytest.mark.parametrize("client", FILES)
@pytest.mark.parametrize("more", [{}, {"replace": "yes"}], ids=["beside", "replaced"])
def test_disconnecting_restores_the_file_byte_for_byte(home: PageHome, client: str, more: dict[str, str]) -> None:
    with home.visit() as guest:
        said = connects(guest, client, **more)
        assert (" moved to search-mcp." in said) == bool(more)
        written = path_of(home, client).read_text()
        assert written != FILES[client][1]
        assert ("files" in written or "linear" in written) != bool(more)
        said = disconnects(guest, client)
        assert f"search-mcp is not in {path_of(home, client)} any more" in said
        assert ("there again, and in search-mcp, too" in said) == bool(more)
        assert path_of(home, client).read_text() == FILES[client][1]
        assert [each.name for each in path_of(home, client).parent.iterdir()] == [path_of(home, client).name]


def test_moved_servers_are_shown_written_and_not_held(new_home: NewHome) -> None:
    home = with_files(new_home({"one": server("well_behaved")}, confirmCommands=True))
    with home.visit() as guest:
        query = "connect?client=cursor&replace=yes"
        seen = guest.view(query)
        assert "clock&lt;b&gt;\n  uvx mcp-server-time" in seen
        assert "clock<b>" not in seen
        assert "s3cret" not in seen
        assert "here stays in Cursor" in seen
        connects(guest, "cursor", replace="yes")
        servers = json.loads(home.config.read_text())["mcpServers"]
        assert servers["clock<b>"] == {"command": "uvx", "args": ["mcp-server-time"]}
        assert servers["linear"]["headers"] == {"A": "s3cret-header"}
        states = {each["name"]: each["state"] for each in json.loads(home.types("servers", "--json").stdout)["servers"]}
        assert "held" not in states.values()


@pytest.mark.parametrize("moves", [True, False])
def test_a_box_that_differs_from_what_was_shown_writes_nothing(home: PageHome, guest: Guest, moves: bool) -> None:
    was, box = ("beside", {"replace": "yes"}) if moves else ("moved", {})
    before = digest(guest, f"connect?client=cursor{'' if moves else '&replace=yes'}")
    files = path_of(home, "cursor").read_text(), home.config.read_text()
    sent = guest.sends("connect", client="cursor", digest=before, shown=was, **box)
    seen = shown(guest, sent.headers["location"].removeprefix(guest.root))
    assert "The box was changed, so this is another change than the one shown before. Nothing is written yet." in seen
    assert ("Moved to search-mcp: linear, clock<b>." in seen) == moves
    assert (path_of(home, "cursor").read_text(), home.config.read_text()) == files


def test_servers_that_stay_after_disconnecting_are_told_before(guest: Guest) -> None:
    stay = "search-mcp keeps them, and goes on running them for its other clients"
    assert stay in shown(guest, "connect?client=cursor")
    connects(guest, "cursor", replace="yes")
    seen = shown(guest, "disconnect?client=cursor")
    assert "search-mcp keeps them, too, and goes on running them for its other clients." in seen


@pytest.mark.parametrize("which", ["client", "own"])
def test_a_file_that_changed_since_it_was_shown_is_shown_again(home: PageHome, guest: Guest, which: str) -> None:
    query = "connect?client=cursor&replace=yes"
    before = digest(guest, query)
    if which == "client":
        path_of(home, "cursor").write_text(CURSOR.replace("linear", "other"))
    else:
        home.edits(lambda text: text.replace('"one"', '"uno"'))
    now = path_of(home, "cursor").read_text(), home.config.read_text()
    sent = guest.sends("connect", client="cursor", replace="yes", shown="moved", digest=before, back=query)
    seen = shown(guest, sent.headers["location"].removeprefix(guest.root))
    assert "Error: the files are different from what was shown, so nothing was changed" in seen
    assert ("other" if which == "client" else "uno") in seen
    assert (path_of(home, "cursor").read_text(), home.config.read_text()) == now
    assert digest(guest, query) != before


def test_a_file_that_changed_before_it_is_disconnected_is_shown_again(home: PageHome, guest: Guest) -> None:
    connects(guest, "cursor")
    before = digest(guest, "disconnect?client=cursor")
    path_of(home, "cursor").write_text(path_of(home, "cursor").read_text().replace("linear", "other"))
    guest.sends("disconnect", client="cursor", digest=before, back="disconnect?client=cursor")
    assert "nothing was changed" in shown(guest, "disconnect?client=cursor")
    assert "search-mcp" in path_of(home, "cursor").read_text()


def test_a_client_that_is_not_found_gets_a_new_file(home: PageHome, guest: Guest) -> None:
    assert "Gemini CLI was not found on this machine" in shown(guest, "connect?client=gemini-cli")
    assert not (home.folder / ".gemini").exists()
    connects(guest, "gemini-cli")
    assert "search-mcp" in json.loads((home.folder / ".gemini" / "settings.json").read_text())["mcpServers"]


def test_a_client_without_search_mcp_is_not_disconnected(reader: Guest) -> None:
    assert "search-mcp is in no file of Cursor." in shown(reader, "disconnect?client=cursor")
    assert "digest" not in reader.view("disconnect?client=cursor")


@pytest.mark.parametrize("path", ["connect?client=", "disconnect?client=", "client?name="])
def test_an_unknown_client_is_answered(reader: Guest, path: str) -> None:
    assert reader.get(f"{reader.root}{path}<gone>").status_code == 303
    assert "there is no client '<gone>'" in shown(reader, "clients")


def test_a_file_that_cannot_be_edited_is_told(home: PageHome, guest: Guest) -> None:
    path_of(home, "cursor").write_text('{"mcpServers": {"search-mcp": {"command": "other"}}}')
    seen = shown(guest, "connect?client=cursor")
    assert 'another server is called "search-mcp"' in seen
    assert "Write this change" not in seen


def test_a_temporary_installation_is_not_written_into_a_file(home: PageHome) -> None:
    with home.client() as client:
        client.opens()
        program = ["/home/me/.cache/uv/archive-v0/abc/bin/search-mcp"]
        first: Json = {**hello.introduction({"--config": str(home.config)}), "wants": "page", "program": program}
        with connection(home, hello.encode(first)) as asking:
            answer = hello.decode(asking.makefile("rb").readline())
        with Guest(f"{answer['address']}#{answer['token']}") as guest:
            guest.enters()
            assert guest.get(f"{guest.root}connect?client=cursor").status_code == 303
            assert "is a temporary installation; install search-mcp permanently first" in shown(guest, "clients")


@pytest.mark.parametrize("has_script", [True, False], ids=["script", "plain"])
def test_a_person_moves_the_servers_and_takes_it_back(home: PageHome, new_visitor: object, has_script: bool) -> None:
    page = new_visitor(java_script_enabled=has_script).enters(home, "clients")  # type: ignore[operator]
    page.get_by_role("link", name="Connect Cursor").click()
    expect(page.get_by_text("Moved to search-mcp")).to_have_count(0)
    page.get_by_label("Move its other servers to search-mcp: linear, clock<b>").check()
    page.get_by_role("button", name="Write this change").click()  # before it is shown
    expect(page.get_by_text("Nothing is written yet.")).to_be_visible()
    expect(page.get_by_text("Moved to search-mcp: linear, clock<b>.")).to_be_visible()
    box = page.get_by_label("Move its other servers to search-mcp")
    box.uncheck()
    page.get_by_role("button", name="Show this change").click()
    expect(page.get_by_text("Moved to search-mcp: linear, clock<b>.")).to_have_count(0)
    assert path_of(home, "cursor").read_text() == CURSOR
    box.check()
    page.get_by_role("button", name="Show this change").click()
    expect(page.get_by_text("Moved to search-mcp: linear, clock<b>.")).to_be_visible()  # the form takes no click before
    page.get_by_role("button", name="Write this change").click()
    expect(page.get_by_text("linear and clock<b> moved to search-mcp.")).to_be_visible()
    page.get_by_role("link", name="Disconnect Cursor").click()
    page.get_by_role("button", name="Write this change").click()
    expect(page.get_by_role("link", name="Connect Cursor")).to_be_visible()
    assert path_of(home, "cursor").read_text() == CURSOR
