"""A hostile page in the same browser, which knows the whole address: it cannot show or change anything of ours."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from playwright.sync_api import Page, expect
from processes.run import server

from page.conftest import NewHome
from page.running import PageHome, Visitor

ECHO = {"one": server("well_behaved")}
HOSTILE = """<!doctype html><title>hostile</title>
<iframe id="frame" src="{root}servers"></iframe>
<img src="{root}icon.svg"><script src="{root}page.js"></script><link rel="stylesheet" href="{root}page.css">
<iframe name="sink"></iframe>
<form id="post" method="post" action="{root}switch" target="sink">
<input name="form_token" value="{form_token}"><input name="server" value="one"><input name="to" value="off"></form>
<script>
const found = [];
const fields = new URLSearchParams(new FormData(document.getElementById("post")));
const note = (name) => [(answer) => found.push(`${{name}}: ${{answer.type}}`), () => found.push(`${{name}}: failed`)];
document.getElementById("post").submit();
window.done = Promise.all([
  fetch("{root}servers", {{ credentials: "include" }}).then(...note("read")),
  fetch("{root}events?view=servers", {{ credentials: "include", mode: "no-cors" }}).then(...note("stream")),
  fetch("{root}switch", {{ credentials: "include", method: "POST", body: fields }}).then(...note("change")),
]).then(() => found.sort());
</script>
"""


@pytest.fixture(scope="module")
def home(new_lasting_home: NewHome) -> PageHome:
    return new_lasting_home(ECHO)


class Site(HTTPServer):
    """A site on another port, which answers with one page."""

    html = ""


class Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Site)
        body = self.server.html.encode()
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def site() -> Iterator[Site]:
    with Site(("127.0.0.1", 0), Answer) as site:
        thread = threading.Thread(target=site.serve_forever)
        thread.start()
        yield site
        site.shutdown()
        thread.join()


def token_of(page: Page) -> str:
    """Return the form token, which the hostile page cannot know."""
    found: str = page.evaluate("() => document.querySelector('[name=form_token]').value")
    return found


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_hostile_page_sees_and_changes_nothing(home: PageHome, site: Site, visitor: Visitor, host: str) -> None:
    """On another port of the same host, whose requests have the cookies of all ports; and on another host."""
    ours = visitor.enters(home)
    before = home.config.read_text("utf-8")
    site.html = HOSTILE.format(root=ours.url.removesuffix("servers"), form_token=token_of(ours))
    visitor.forgives("")
    hostile = visitor.context.new_page()
    hostile.goto(f"http://{host}:{site.server_port}/")
    assert hostile.evaluate("done") == ["change: failed", "read: failed", "stream: failed"]
    frame = hostile.frames[1]
    expect(hostile.locator("#frame")).to_be_attached()
    assert frame.get_by_role("switch").count() == 0
    expect(ours.get_by_role("switch")).to_be_checked()
    assert home.config.read_text("utf-8") == before


def test_a_window_that_opens_the_page_cannot_reach_into_it(home: PageHome, site: Site, visitor: Visitor) -> None:
    ours = visitor.enters(home)
    visitor.forgives("")
    site.html = "<!doctype html><title>hostile</title>"
    hostile = visitor.context.new_page()
    hostile.goto(f"http://127.0.0.1:{site.server_port}/")
    with visitor.context.expect_page() as opened:
        hostile.evaluate("address => { window.other = window.open(address); }", ours.url)
    opened.value.wait_for_load_state()
    assert hostile.evaluate("() => window.other.closed")  # it is in another group of pages
    assert opened.value.evaluate("() => window.opener") is None
