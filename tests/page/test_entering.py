"""How a browser is let in: by the address that `search-mcp ui` prints, once."""

import httpx2
import pytest
from playwright.sync_api import expect
from processes.run import server

from page.conftest import NewHome, NewVisitor
from page.running import Visitor

ECHO = {"one": server("well_behaved")}
REFUSED = "This address was used already, or is too old."


def test_an_address_lets_one_browser_in(new_home: NewHome, new_visitor: NewVisitor) -> None:
    address = new_home(ECHO).invites()
    first, second = new_visitor(), new_visitor()
    page = first.context.new_page()
    page.goto(address)
    expect(page.get_by_role("heading", name="Servers")).to_be_visible()
    assert "#" not in page.url  # nor is the token in the history
    second.forgives("403 (Forbidden)")
    other = second.context.new_page()
    other.goto(address)
    expect(other.get_by_role("alert")).to_have_text(REFUSED)
    assert not second.context.cookies()


def test_a_browser_stays_let_in(new_home: NewHome, visitor: Visitor) -> None:
    page = visitor.enters(new_home(ECHO))
    another = visitor.context.new_page()
    another.goto(page.url.removesuffix("servers"))
    expect(another).to_have_url(page.url)


def test_a_further_token_disappears_from_the_address(new_home: NewHome, visitor: Visitor) -> None:
    home = new_home(ECHO)
    page = visitor.enters(home)
    before = page.url
    page.goto(home.invites())
    expect(page).to_have_url(before)
    expect(page.get_by_role("heading", name="Servers")).to_be_visible()


def test_a_token_can_be_pasted(new_home: NewHome, new_visitor: NewVisitor) -> None:
    page = new_visitor(java_script_enabled=False).enters(new_home(ECHO))
    expect(page.get_by_role("heading", name="Servers")).to_be_visible()


def test_without_a_session_every_view_is_the_entrance(new_home: NewHome, new_visitor: NewVisitor) -> None:
    home = new_home(ECHO)
    inside = new_visitor().enters(home)
    outside = new_visitor().context.new_page()
    outside.goto(inside.url)
    expect(outside.get_by_role("button", name="Open the page")).to_be_visible()
    expect(outside.get_by_text("one")).to_have_count(0)


def test_an_engine_that_is_stopped_ends_the_streams_without_a_complaint(new_home: NewHome) -> None:
    home = new_home({})
    with home.visit() as guest, guest.stream("GET", f"{guest.root}events?view=servers") as stream:
        lines = stream.iter_lines()
        next(lines)
        assert home.client().types("engine", "stop").returncode == 0
        with pytest.raises(httpx2.RemoteProtocolError):
            list(lines)
    assert "the page is open" in home.log.read_text()
    assert "Traceback" not in home.log.read_text()
