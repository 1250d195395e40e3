"""What the page says of a configuration file with mistakes, and of none."""

import json
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import expect
from processes.run import SECONDS, server

from page.conftest import NewHome
from page.running import Guest, Visitor

ECHO = {"one": server("well_behaved")}


def test_a_mistake_in_the_file_is_told_on_each_view_until_it_is_corrected(new_home: NewHome, visitor: Visitor) -> None:
    home = new_home(ECHO)
    page = visitor.enters(home, "usage")
    home.edits(lambda text: text.replace(":", "", 1))
    notice = page.get_by_role("alert").filter(has_text="not valid JSON")
    expect(notice).to_contain_text("What ran before goes on")
    page.get_by_role("link", name="Servers").click()
    expect(notice).to_be_visible()
    home.edits(lambda text: text.replace('"mcpServers"', '"mcpServers":', 1))
    expect(notice).to_have_count(0)


def test_a_misspelt_key_is_told(new_home: NewHome, visitor: Visitor) -> None:
    home = new_home({"one": server("well_behaved", startTimeoutSecond=5)})
    page = visitor.enters(home)
    expect(page.get_by_text("startTimeoutSecond")).to_be_visible()


def test_a_user_without_a_file_gets_an_empty_one(new_home: NewHome) -> None:
    home = new_home(ECHO)
    environment = {**home.client().environment, "HOME": str(home.folder / "new")}
    environment = {name: value for name, value in environment.items() if not name.startswith("XDG_CONFIG")}
    (home.folder / "new").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "search_mcp", "ui", "--no-open"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=environment,
        cwd=home.folder,
        check=True,
    )
    (made,) = Path(home.folder / "new").rglob("mcp-servers.json")
    assert json.loads(made.read_text()) == {"mcpServers": {}}
    assert str(made) in " ".join(done.stderr.split())
    with Guest(done.stdout.strip()) as guest:
        guest.enters()
        assert "There are no servers yet." in guest.view("servers")


def test_a_remembered_server_starts_at_once(new_home: NewHome, visitor: Visitor) -> None:
    home = new_home({"one": server("well_behaved", startup="lazy")})
    home.types("check")
    page = visitor.enters(home)
    expect(page.get_by_text("(a call starts it)")).to_be_visible()
    page.get_by_role("button", name="Start: one").click()
    expect(page.get_by_role("listitem").filter(has_text="one")).to_contain_text("ready")
    expect(page.locator("#announced")).to_have_text("one: ready")


def test_the_whole_address_may_be_pasted(new_home: NewHome) -> None:
    with Guest(new_home(ECHO).invites()) as guest:
        guest.token = f"{guest.address}#{guest.token}"
        assert guest.enters().status_code == 303
