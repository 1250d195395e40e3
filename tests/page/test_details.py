"""The view of one server: its log, its tools and their switches, its texts."""

import html
import json
import re
import sys

from playwright.sync_api import expect
from processes.run import server

from page.conftest import NewHome
from page.running import Visitor

TOLD = "Tells the time. <script>alert(1)</script> \u202e"
NAME = "one & <two>"


def test_a_server_is_shown_whole(new_home: NewHome, visitor: Visitor) -> None:
    home = new_home({NAME: server("has_tools", f"tell={TOLD}", "be=Is.", startup="eager")})
    page = visitor.enters(home)
    page.get_by_role("link", name=NAME).click()
    expect(page.get_by_role("heading", name=NAME)).to_be_visible()
    expect(page.get_by_text("Its tools are not known yet.")).to_be_visible()
    page.get_by_role("button", name=f"Start: {NAME}").click()
    page.get_by_text("Definition of tell").click()
    expect(page.get_by_text("Tells the time. <script>alert(1)</script> \\u{202e}", exact=True)).to_be_visible()
    expect(page.get_by_label(f"Log of {NAME}")).to_contain_text("started, pid")
    expect(page.get_by_text("has_tools.py")).to_be_visible()
    expect(page.get_by_role("switch")).to_have_count(3)


def test_new_lines_of_the_log_appear(new_home: NewHome, visitor: Visitor) -> None:
    home = new_home({"one": server("well_behaved", startup="eager")})
    page = visitor.enters(home, "server?name=one")
    page.get_by_role("button", name="Start: one").click()
    log = page.get_by_label("Log of one")
    expect(log.get_by_text(re.compile("started, pid"))).to_have_count(1)
    page.get_by_role("button", name="Restart: one").click()
    expect(log.get_by_text(re.compile("started, pid"))).to_have_count(2)


def test_a_long_log_shows_its_end(new_home: NewHome, visitor: Visitor) -> None:
    writes = "import sys; [print('line', number, file=sys.stderr) for number in range(200)]; sys.stdin.read()"
    home = new_home({"loud": {"command": sys.executable, "args": ["-c", writes]}})
    page = visitor.enters(home, "server?name=loud")
    page.get_by_role("button", name="Start: loud").click()
    log = page.get_by_label("Log of loud")
    expect(log).to_contain_text("line 199")
    page.evaluate("document.querySelector('.log').scrollIntoView()")
    expect(log.get_by_text("line 199").last).to_be_in_viewport()
    log.focus()
    page.keyboard.press("Home")
    expect(log.get_by_text("line 199").last).not_to_be_in_viewport()


def test_a_tool_is_hidden_and_shown_again(new_home: NewHome, visitor: Visitor) -> None:
    home = new_home({"one": server("has_tools", "tell=Tells.", "be=Is.", startup="eager")})
    home.edits(lambda text: text.replace("{", "{ // mine\n", 1))
    page = visitor.enters(home, "server?name=one")
    page.get_by_role("button", name="Start: one").click()
    switch = page.get_by_role("switch", name="tell")
    switch.click()
    expect(switch).not_to_be_checked()
    written = home.config.read_text()
    assert written.startswith("{ // mine\n")
    assert json.loads(written.replace(" // mine", ""))["mcpServers"]["one"]["tools"] == {"deny": ["tell"]}
    switch.click()
    expect(switch).to_be_checked()


def test_tools_are_shown_as_a_model_reads_them(new_home: NewHome) -> None:
    """Beside its own name, a renamed tool has the one that models use, also while it is hidden."""
    names = {"rename": {"change": "edit", "delete": "erase"}, "describe": {"change": "Edits. " + "Very long. " * 50}}
    home = new_home({"one": {**server("declares_effects"), **names, "tools": {"deny": ["delete"]}}})
    home.types("check")
    with home.visit() as guest:
        page = guest.view("server?name=one").replace("\n", "")
        rows = re.findall(
            r'<h3 dir="auto">(\w+)</h3>.*?data-hint="(.*?)".*?</span>(.*?)</p><p dir="auto">(.*?)</p>', page
        )
        look, change, delete = [(own, effect, re.sub("<.*?>", "", name), line) for own, effect, name, line in rows]
        assert look == ("look", "read-only", "", "Can look letters.")
        assert change == ("change", "may change something", ", called one.edit by models", "Edits.")
        assert "Very long. " * 50 in page
        assert delete == ("delete", "destructive", ", called one.erase by models", "Can delete letters.")


def test_a_server_that_is_not_configured_has_no_view(new_home: NewHome) -> None:
    with new_home({"one": server("well_behaved")}).visit() as guest:
        assert guest.get(f"{guest.root}server?name=two").status_code == 303
        assert "there is no server 'two'" in html.unescape(guest.view("servers"))
