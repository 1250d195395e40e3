"""The recorded calls on the page: the last ones as they end, and their sums."""

import datetime
import html
import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cli.conftest import server as cli_server
from playwright.sync_api import expect
from processes.run import server

from page.conftest import NewHome, NewVisitor
from page.running import Guest, PageHome
from search_mcp.page.record import MOST_CALLS
from search_mcp.usage.ended_calls import Row
from search_mcp.usage.store import UsageStore

DAY = 86_400
THIS_PAGE = "search-mcp (this page or `call`)"
SECRET = "a word that is in no record"


def record_of(home: PageHome) -> Path:
    return home.folder / "state" / "search-mcp" / "usage" / "calls.sqlite3"


def call(server: str, tool: str, *, client: str = "a client", days_ago: float = 0, ending: str = "ok") -> Row:
    return (time.time() - days_ago * DAY, client, server, tool, 0.25, ending, 40, 100, None)


@pytest.fixture(scope="module")
def home(new_lasting_home: NewHome) -> PageHome:
    """A home with recorded calls of one of two servers."""
    made = new_lasting_home({"box": cli_server("toolbox"), "idle one": server("well_behaved")})
    calls = [
        call("box", "echo", days_ago=60, client="another"),
        call("box", "echo", days_ago=3),
        call("box", "fail", days_ago=2, ending="tool error"),
        call("box", "<b>evil</b>\u202e", client="<i>client</i>"),
        call("", "search_tools"),
    ]
    UsageStore(record_of(made)).write(calls)
    made.types("check")
    old = time.time() - 10 * DAY
    os.utime(made.config, (old, old))  # whoever adds a server now is not asked to remove it
    return made


@pytest.fixture(scope="module")
def guest(home: PageHome) -> Iterator[Guest]:
    with home.visit() as made:
        yield made


def rows(part: str) -> list[list[str]]:
    """Return the texts of the cells in the bodies of tables."""
    bodies = "".join(re.findall(r"<tbody>(.*?)</tbody>", part, re.DOTALL))
    lines = re.findall(r"<tr>(.*?)</tr>", bodies, re.DOTALL)
    return [
        [html.unescape(re.sub("<[^>]+>", "", cell)) for cell in re.findall(r"<t[hd].*?>(.*?)</t[hd]>", line)]
        for line in lines
    ]


def part(page: str, name: str) -> str:
    """Return a part of a view that changes by itself."""
    return page.partition(f'<div id="{name}"')[2]


@contextmanager
def events(guest: Guest) -> Iterator[Iterator[dict[str, str]]]:
    """Provide the parts of the view, as they change."""
    with guest.stream("GET", f"{guest.root}events?view=usage") as answer:
        lines = (line.removeprefix("data: ") for line in answer.iter_lines() if line.startswith("data: "))
        yield (json.loads(line)["parts"] for line in lines)


def test_without_a_record_the_page_says_that_calls_are_recorded(new_home: NewHome) -> None:
    with new_home({"one": server("well_behaved")}).visit() as guest:
        page = guest.view("usage")
        assert "No call is recorded yet." in page
        assert "Recorded for 90 days, without arguments and results, in " in page
        assert "No tool call was recorded in the last 30 days." in page
        assert "<svg" not in page


def test_that_calls_are_not_recorded_is_told(new_home: NewHome) -> None:
    with new_home({"one": server("well_behaved")}, usage=False).visit() as guest:
        assert "Calls are not recorded now (&#34;usage&#34;: false)." in guest.view("usage")


def test_the_last_calls_have_client_tool_duration_size_and_outcome(guest: Guest) -> None:
    shown = rows(part(guest.view("usage"), "calls").partition("</table>")[0])
    assert [each[1:] for each in shown] == [
        ["a client", "search_tools", "250 ms", "100", "ok"],
        ["<i>client</i>", "box.<b>evil</b>\\u{202e}", "250 ms", "100", "ok"],
        ["a client", "box.fail", "250 ms", "100", "the tool reported an error"],
        ["a client", "box.echo", "250 ms", "100", "ok"],
        ["another", "box.echo", "250 ms", "100", "ok"],
    ]


@pytest.mark.parametrize(
    ("query", "headline", "named"),
    [
        ("", "4 calls of 2 clients in the last 30 days, 1 error; the first on ", {"box.fail": "1", "box.echo": ""}),
        ("?by=server&days=90", "5 calls of 3 clients in the last 90 days, 1 error", {"box": "1", "search-mcp": ""}),
        ("?by=client&days=7", "4 calls of 2 clients in the last 7 days", {"a client": "1", "<i>client</i>": ""}),
        ("?by=nonsense&days=8", "4 calls of 2 clients in the last 30 days", {"search_tools": ""}),
    ],
)
def test_sums_are_chosen_by_a_link(guest: Guest, query: str, headline: str, named: dict[str, str]) -> None:
    sums = part(guest.view(f"usage{query}"), "sums")
    assert headline in sums
    errors = {each[0]: each[2] for each in rows(sums.rpartition("<caption>")[2])}
    assert errors.items() >= named.items()


def test_the_chart_and_its_table_have_the_days_of_the_period(guest: Guest) -> None:
    sums = part(guest.view("usage?days=7"), "sums")
    today = datetime.date.today()
    days = [(today - datetime.timedelta(back)).isoformat() for back in (0, 2, 3)]
    assert [each[:3] for each in rows(sums.partition("<details")[2].partition("</details>")[0])] == [
        [days[0], "2", ""],
        [days[1], "1", "1"],
        [days[2], "1", ""],
    ]
    assert re.findall(r"<title>(.*?)</title>", sums) == [
        f"{days[2]}: 1 calls",
        f"{days[1]}: 1 calls",
        f"{days[1]}: 1 errors",
        f"{days[0]}: 2 calls",
    ]


def test_a_server_that_was_never_called_is_named_with_its_switch(guest: Guest) -> None:
    assert "not called" not in guest.view("usage")  # the calls of these days say little
    page = guest.view("usage?days=90")
    assert "One server was not called. Switch off what you do not need:" in page
    assert f'<li><a href="{guest.root}server?name=idle+one"' in page


def test_durations_are_named_in_words(guest: Guest) -> None:
    sums = part(guest.view("usage"), "sums")
    headings = re.findall(r'<abbr title="(.*?)">(.*?)</abbr>', sums.rpartition("<thead>")[2])
    assert [name for _, name in headings] == ["Typical", "Slowest 5 %"]
    assert all(f"{name}: {about}" in sums for about, name in headings)
    assert "p95" not in sums


def test_calls_of_this_page_are_told_as_such(new_home: NewHome) -> None:
    home = new_home({"one": server("well_behaved")})
    UsageStore(record_of(home)).write([call("one", "echo", client="search-mcp")])
    with home.visit() as guest:
        page = guest.view("usage?by=client")
        assert [each[0] for each in rows(part(page, "sums").rpartition("<caption>")[2])] == [THIS_PAGE]
        assert rows(part(page, "calls").partition("</table>")[0])[0][1] == THIS_PAGE
        assert THIS_PAGE not in guest.view("usage?by=server").partition('<div id="sums"')[2]


def test_hostile_names_are_texts(guest: Guest) -> None:
    page = guest.view("usage")
    assert "<b>evil" not in page
    assert "<i>client" not in page
    assert "\u202e" not in page


def test_a_record_that_cannot_be_read_is_told(new_home: NewHome) -> None:
    home = new_home({"one": server("well_behaved")})
    record_of(home).parent.mkdir(parents=True)
    record_of(home).write_bytes(b"no database " * 1000)
    with home.visit() as guest:
        page = guest.view("usage")
        assert "cannot be read: file is not a database; `search-mcp usage --clear` deletes it" in page
        with events(guest) as changes:
            assert "cannot be read" in next(changes)["calls"]


def test_a_call_of_a_client_appears_at_once_and_is_summed_up(new_home: NewHome) -> None:
    home = new_home({"one": server("well_behaved")})
    with home.client() as client, home.visit() as guest:
        client.opens()
        client.asks("tools/list")
        with events(guest) as changes:
            assert "No call is recorded yet." in next(changes)["calls"]
            client.calls("one.echo", words=SECRET)
            shown = next(parts for parts in changes if "one.echo" in parts.get("calls", ""))["calls"]
            assert [each[1:3] for each in rows(shown)] == [["a client", "one.echo"]]
            assert SECRET not in shown
            sums = next(parts for parts in changes if "one.echo" in parts.get("sums", ""))["sums"]
            assert "1 call of 1 client in the last 30 days" in sums
            assert SECRET not in sums


def test_nothing_is_sent_again_while_no_call_ends(guest: Guest) -> None:
    with events(guest) as changes:
        seen: set[str] = set()
        while not {"calls", "sums"} <= seen:
            seen |= next(changes).keys()
        assert next(changes).keys() & {"calls", "sums"} == set()


def test_the_last_calls_only_are_shown(new_home: NewHome) -> None:
    home = new_home({"one": server("well_behaved")})
    UsageStore(record_of(home)).write([call("one", f"tool_{number}") for number in range(MOST_CALLS + 9)])
    with home.visit() as guest:
        shown = rows(part(guest.view("usage"), "calls").partition("</table>")[0])
        assert len(shown) == MOST_CALLS
        assert shown[0][2] == f"one.tool_{MOST_CALLS + 8}"


def test_a_browser_shows_a_call_from_the_page(home: PageHome, new_visitor: NewVisitor, guest: Guest) -> None:
    page = new_visitor().enters(home, "usage?by=server")
    guest.sends("try?tool=box.measure", tool="box.measure")
    expect(page.get_by_role("rowheader", name="box.measure").first).to_be_visible()
    page.get_by_role("link", name="client", exact=True).click()
    expect(page.get_by_role("rowheader", name="another")).to_have_count(0)
    page.get_by_role("link", name="90 days").click()
    expect(page.get_by_role("table", name="Calls by client").get_by_role("rowheader", name="another")).to_be_visible()


def test_in_a_narrow_window_only_the_tables_scroll(home: PageHome, new_visitor: NewVisitor) -> None:
    page = new_visitor(viewport={"width": 320, "height": 700}).enters(home, "usage")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 320
    for name in ("The last calls", "Calls by tool"):
        table = page.get_by_role("region", name=name)
        expect(table).to_have_attribute("tabindex", "0")
        assert table.evaluate("each => each.scrollWidth > each.clientWidth")
        expect(table).to_have_css("border-right-width", "1px")
