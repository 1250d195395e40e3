"""How a browser is let in: by the address that `search-mcp ui` prints, once."""

import httpx2
import pytest
from playwright.sync_api import expect
from processes.run import server

from page.conftest import NewHome, NewVisitor
from page.running import PageHome, Visitor

REFUSED = "This address was used already, or is too old."


@pytest.fixture(scope="module")
def home(new_lasting_home: NewHome) -> PageHome:
    return new_lasting_home({"one": server("well_behaved")})


def test_an_address_lets_one_browser_in(home: PageHome, new_visitor: NewVisitor) -> None:
    address = home.invites()
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


def test_a_browser_stays_let_in(home: PageHome, visitor: Visitor) -> None:
    page = visitor.enters(home)
    another = visitor.context.new_page()
    another.goto(page.url.removesuffix("servers"))
    expect(another).to_have_url(page.url)


def test_a_further_token_disappears_from_the_address(home: PageHome, visitor: Visitor) -> None:
    page = visitor.enters(home)
    before = page.url
    page.goto(home.invites())
    expect(page).to_have_url(before)
    expect(page.get_by_role("heading", name="Servers")).to_be_visible()


def test_a_token_can_be_pasted(home: PageHome, new_visitor: NewVisitor) -> None:
    page = new_visitor(java_script_enabled=False).enters(home)
    expect(page.get_by_role("heading", name="Servers")).to_be_visible()


def test_without_a_session_every_view_is_the_entrance(home: PageHome, new_visitor: NewVisitor) -> None:
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
