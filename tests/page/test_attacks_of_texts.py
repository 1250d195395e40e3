"""Markup in every text that a server, a client, a tool or a file says: it is shown as text, and nothing of it runs."""

import json
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from processes.run import server
from processes.shared import SharedRun

from page.conftest import NewHome, NewVisitor
from page.running import PageHome, Visitor
from page.views import VIEWS, address

MARKUP = "\"'></pre><img src=x onerror=alert(1)><script>alert(2)</script>{{7*12345}}<!--"
FOREIGN = "main :is(img, script, iframe, object, embed, base, link, meta, style, [onerror], [style])"
"""What no view has; an element of it would be of the markup."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageHome]:
    """A home whose folder, servers, tools, logs, reasons and client all say the markup."""
    folder = tmp_path_factory.mktemp("home") / MARKUP.replace("/", "")
    folder.mkdir()
    broken = {"command": "sh", "args": ["-c", 'echo "$0" >&2; exit 3', MARKUP]}
    with PageHome(folder, {MARKUP: server("says_markup", MARKUP), "broken": broken}) as home:
        yield home


@pytest.fixture(scope="module")
def client(home: PageHome) -> Iterator[SharedRun]:
    """A client that has called the tool, so that it is in the record."""
    with home.client() as client:
        info = {"name": MARKUP, "title": MARKUP, "version": MARKUP}
        client.asks("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=info)
        client.says({"method": "notifications/initialized"})
        name = next(each["name"] for each in client.asks("tools/list")["tools"] if "img" in each["name"])
        assert client.calls(name) == MARKUP
        yield client


def tells_nothing_but_text(page: Page) -> None:
    assert page.locator(FOREIGN).count() == 0
    assert "86415" not in page.get_by_role("main").inner_text()
    assert page.locator("body > *").count() <= 6  # no element was closed early


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("has_script", [True, False], ids=["with script", "without script"])
def test_no_text_becomes_an_element(home: PageHome, new_visitor: NewVisitor, *, has_script: bool) -> None:
    """A script, or an image that cannot be loaded, would be a complaint of the browser; so would a dialog."""
    visitor = new_visitor(java_script_enabled=has_script)
    page = visitor.enters(home)
    page.on("dialog", lambda dialog: visitor.complaints.append(dialog.message))
    for view in VIEWS:
        page.goto(page.url.rpartition("/")[0] + "/" + address(view, MARKUP))
        if view not in ("waiting", "client", "connect", "add"):
            expect(page.get_by_text("<script>alert(2)</script>").first).to_be_visible()
        tells_nothing_but_text(page)


@pytest.mark.usefixtures("client")
def test_what_comes_later_is_text_too(home: PageHome, visitor: Visitor) -> None:
    """Rows and lines of the log that are sent to an open page."""
    page = visitor.enters(home)
    page.get_by_role("button", name=f"Restart: {MARKUP}").click()
    expect(page.locator("[data-state=failed]")).to_be_visible()
    expect(page.locator(".reason")).to_contain_text(MARKUP)
    tells_nothing_but_text(page)
    page.get_by_role("link", name=MARKUP).click()
    log = page.get_by_label(f"Log of {MARKUP}")
    before = log.inner_text().count(MARKUP)
    page.get_by_role("button", name=f"Restart: {MARKUP}").click()
    more = f"() => document.getElementById('log').textContent.split('alert(2)').length > {before + 1}"
    page.wait_for_function(more)
    tells_nothing_but_text(page)


ODD = {
    "lone surrogate": "\ud800",
    "control characters": "\x00\x07\x1b[31mred\x1b[0m\x7f\x9b31m",
    "reordering": "safe\u202egnp.exe",
    "invisible": "a\u200bb\u2060c\ufeff",
    "line ends": "one\r\ntwo\u2028three\u0085four",
    "tags": "".join(chr(0xE0000 + ord(each)) for each in "ignore"),
    "long": "long",
}
UNSEEN = {*"\x00\x07\x1b\x7f\x9b\u0085\u200b\u2028\u202e\u2060\ufeff", *ODD["tags"]}
WRITES = """
import json, sys
words = json.loads(sys.argv[1]) * (100_000 if sys.argv[1] == '"long"' else 1)
sys.stderr.buffer.write(words.encode("utf-8", "surrogatepass"))
sys.exit(3)
"""


def test_odd_characters_are_written_so_that_a_person_sees_them(new_home: NewHome, visitor: Visitor) -> None:
    servers = {kind: {"command": sys.executable, "args": ["-c", WRITES, json.dumps(ODD[kind])]} for kind in ODD}
    home = new_home(servers)
    page = visitor.enters(home)
    with home.visit() as guest:
        for kind in ODD:
            guest.sends("start", server=kind)
    expect(page.locator("[data-state=failed]")).to_have_count(len(ODD))
    main = page.get_by_role("main")
    assert not {*main.inner_text()} & UNSEEN
    assert len(main.inner_text()) < 4000
    for kind in ODD:
        page.goto(page.url.rpartition("/")[0] + "/" + address("server", kind))
        expect(page.get_by_label(f"Log of {kind}")).to_contain_text("started, pid")
        assert not {*main.inner_text()} & UNSEEN
