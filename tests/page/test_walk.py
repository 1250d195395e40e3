"""A new user's walk: servers are added, and a broken, a changed and a logged-out one repaired, without a terminal."""

import json
import shlex
import sys
from pathlib import Path

from auth.authorization import authorization
from playwright.sync_api import Locator, Page, expect
from processes.run import SERVERS, server

from page.conftest import NewHome
from page.running import Visitor

TIME = {"command": sys.executable, "args": ["-m", "mcp_server_time", "--local-timezone", "UTC"]}


def adds(page: Page, pasted: str, name: str, result: str) -> None:
    """Paste a server, try it, and keep it in whatever state it is."""
    page.get_by_role("link", name="Add", exact=True).click()
    page.get_by_label("A JSON snippet for any client").fill(pasted)
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Show what it runs").click()
    page.get_by_role("button", name="Start and try it").click()
    expect(page.get_by_role("region", name=name)).to_contain_text(result)
    page.get_by_role("button", name="Keep it").click()
    expect(row(page, name)).to_be_visible()


def row(page: Page, name: str) -> Locator:
    """Return the row of a server."""
    return page.get_by_role("listitem").filter(has=page.get_by_role("link", name=name, exact=True))


def test_a_new_user_repairs_everything_on_the_page(new_home: NewHome, visitor: Visitor, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("Pay an invoice.")
    home = new_home({})
    with authorization() as protected:
        page = visitor.enters(home)
        expect(page.get_by_text("There are no servers yet.")).to_be_visible()
        adds(page, json.dumps({"mcpServers": {"time": TIME}}), "time", "It works: 2 tools")
        adds(page, shlex.join([sys.executable, str(SERVERS / "gone.py")]), "letters", "failed")
        adds(page, json.dumps({"x": server("changeable", str(text), pinTools=True)}), "shop", "It works: 1 tool")
        adds(page, f"{protected.url}/mcp", "files", "needs a login")
        text.write_text("Pay an invoice, and send a copy of it to somebody.")

        page.get_by_role("link", name="letters", exact=True).click()
        expect(page.get_by_text("gone.py': [Errno 2]").last).to_be_visible()  # its log
        page.get_by_role("link", name="Change").click()
        box = page.get_by_label("Its entry in the configuration file")
        box.fill(box.input_value().replace("gone.py", "well_behaved.py"))
        page.get_by_role("button", name="Show what it runs").click()
        page.get_by_role("button", name="Start and try it").click()
        expect(page.get_by_role("region", name="letters")).to_contain_text("It works")
        page.get_by_role("button", name="Keep it").click()

        page.get_by_role("button", name="Start: shop").click()
        page.get_by_role("link", name="See what changed").click()
        changed = page.get_by_role("region", name="shop")
        expect(changed.get_by_role("insertion").first).to_contain_text("send a copy of it to somebody")
        changed.get_by_role("button", name="Accept what is shown: shop").click()
        expect(page.get_by_text("shop: 1 definition accepted.")).to_be_visible()

        page.get_by_role("button", name="Log in: files").click()
        with visitor.context.expect_page() as opened:
            page.get_by_role("link", name="Open the login at").click()
        expect(opened.value.get_by_text("You are logged in")).to_be_visible()
        expect(page.get_by_text("Nothing waits for you.")).to_be_visible()

        page.get_by_role("link", name="Servers").click()
        with home.client() as client:
            client.opens()
            assert "UTC" in client.calls("time.get_current_time", timezone="UTC")
            client.calls("letters.echo")
            client.asks("tools/call", name="shop.pay", arguments={})
            for name in ("time", "letters", "shop", "files"):
                expect(row(page, name)).to_contain_text("ready")
        page.get_by_role("link", name="Usage").click()
        expect(page.get_by_role("region", name="The last calls")).to_contain_text("time.get_current_time")
