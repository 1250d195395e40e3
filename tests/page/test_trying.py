"""The search on the page, the form of a tool, and what comes of a call."""

import html
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from cli.conftest import SERVERS
from cli.conftest import server as cli_server
from playwright.sync_api import expect
from processes.run import SECONDS, server

from page.conftest import NewHome, NewVisitor
from page.running import Guest, PageHome, Visitor, waits_until
from search_mcp.page.trial import MOST_CHARACTERS
from search_mcp.page.trying import LEAST_LISTED, MOST_LISTED

TOOLBOX = str(SERVERS / "toolbox.py")
EVIL = "Evil <script>alert(1)</script> {{ 7 * 7 }} \u202e"


@pytest.fixture(scope="module")
def home(new_lasting_home: NewHome) -> PageHome:
    """A home whose servers have run once, so that their tools are known."""
    made = new_lasting_home(
        {
            "box": cli_server("toolbox"),
            "asker": server("asks_during_a_call"),
            "plain": server("well_behaved"),
            "tools": server("has_tools", f"evil={EVIL}", "read=Reads a letter."),
        }
    )
    made.types("check")
    return made


@pytest.fixture(scope="module")
def guest(home: PageHome) -> Iterator[Guest]:
    with home.visit() as made:
        yield made


def form(tool: str) -> str:
    """Return the path of the form of a tool."""
    return f"try?{urlencode({'tool': tool})}"


def calls(guest: Guest, tool: str, **arguments: str) -> str:
    """Fill and send the form of a tool; return the text of the answer."""
    named = {f"argument {key}": value for key, value in arguments.items() if key != "others"}
    others = {key: value for key, value in arguments.items() if key == "others"}
    answer = guest.sends(form(tool), tool=tool, **named, **others)
    assert answer.status_code == 200
    return text_in(answer.text, '<section id="result"', "</section>")


def text_in(page: str, begin: str, end: str) -> str:
    """Return the text between two marks in HTML, on one line."""
    part = page.partition(begin)[2].partition(">")[2].partition(end)[0]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", part)).split())


# The search


def test_all_tools_are_listed_by_their_servers(guest: Guest) -> None:
    page = guest.view("try")
    assert re.findall(r'<h2 dir="auto">(.*?)</h2>', page) == ["box", "asker", "plain", "tools"]
    assert f'href="{guest.root}try?tool=box.add"' in page
    assert "Reads a letter." in page
    only = guest.view("try?server=tools")
    assert re.findall(r'<h2 dir="auto">(.*?)</h2>', only) == ["tools"]
    assert "No tools are known of" in guest.view("try?server=nothing")


def test_a_search_marks_its_words_and_gives_its_reasons(guest: Guest) -> None:
    page = guest.view("try?q=read+letters")
    (first, *_) = re.findall(r'<li class="row">(.*?)</li>', page, re.DOTALL)
    assert f'<a href="{guest.root}try?tool=tools.read">' in first
    assert "Reads a <mark>letter</mark>." in first.replace("<mark>Reads</mark>", "Reads")
    assert re.search(r"<summary>Why it is number 1</summary><pre .*?>matching words: ", first)
    assert "The scores of the words do not decide alone" in page
    assert "Not searched" not in page
    assert 'value="read letters"' in page


def test_a_search_in_one_server_finds_nothing_in_others(guest: Guest) -> None:
    assert "tools.read" not in guest.view("try?q=read+letters&server=box")


def test_a_search_without_a_hit_says_so(guest: Guest) -> None:
    page = guest.view("try?q=xyzzyq")
    assert "No tool matches." in page
    assert "<ol" not in page
    similar = guest.view("try?q=ech+ho&server=plain")
    assert "No tool matches. Similar names:" in similar
    assert f'<a href="{guest.root}try?tool=plain.echo"' in similar
    assert "box.echo" not in similar


def test_a_result_that_does_not_fit_clearly_is_called_nearest(guest: Guest) -> None:
    page = guest.view("try?q=evil+flights+over+the+moon+to+Lisbon+with+two+heavy+bags")
    assert "No tool of the connected servers clearly does this; nearest:" in page
    assert "tools.evil" in page


def test_a_search_names_the_servers_that_were_not_searched(new_home: NewHome) -> None:
    with new_home({"one": server("well_behaved"), "two": server("well_behaved")}).visit() as guest:
        told = "Not searched, because their tools are not known:"
        page = guest.view("try?q=echo")
        assert (
            f'{told} <span dir="auto">one</span>, <span dir="auto">two</span>. <a href="{guest.root}servers">' in page
        )
        assert f'{told} <span dir="auto">two</span>. <a' in guest.view("try?q=echo&server=two")


def test_of_many_tools_the_first_of_each_server_are_listed(new_home: NewHome) -> None:
    home = new_home({"many": server("many_tools"), "one": server("well_behaved")})
    home.types("check")
    with home.visit() as guest:
        page = guest.view("try")
        assert page.count("/try?tool=many.") == MOST_LISTED // 2 > LEAST_LISTED
        assert page.count("/try?tool=one.") == 4
        assert f"{1004 - MOST_LISTED // 2} more. <a" in page
        assert guest.view("try?server=many").count("/try?tool=many.") == MOST_LISTED


def test_tools_appear_when_their_server_was_started(new_home: NewHome, visitor: Visitor) -> None:
    page = visitor.enters(new_home({"one": server("has_tools", "tell=Tells.", startup="eager")}), "try")
    page.get_by_role("button", name="Start: one").click()
    page.get_by_role("link", name="one.tell").click()
    expect(page.get_by_role("heading", name="one.tell")).to_be_visible()


# The form


def test_a_form_has_a_labelled_field_for_each_argument(guest: Guest) -> None:
    page = guest.view(form("box.add"))
    fields = re.findall(r'<(?:input|select|textarea) id="(argument-\d)" name="argument (\w+)"', page)
    assert [name for _, name in fields] == ["a", "b", "up"]
    for each, _ in fields:
        assert f'<label for="{each}">' in page
        assert f'aria-describedby="{each}-about"' in page
    assert "What to say" in guest.view(form("box.echo"))
    assert 'Call <span dir="auto">box.add</span>, which may change something' in page


def test_a_tool_that_changes_nothing_is_called_without_a_warning(guest: Guest) -> None:
    page = guest.view(form("search_tools"))
    assert "A tool of search-mcp itself." in page
    assert "which may change something" not in page
    assert "box.add" in calls(guest, "search_tools", query="add", limit="3")


def test_the_declared_effect_of_a_tool_is_told(new_home: NewHome) -> None:
    home = new_home({"one": server("declares_effects")})
    home.types("check")
    with home.visit() as guest:
        for page in (guest.view("try"), guest.view("try?q=look+change+delete")):
            shown = dict(re.findall(r'tool=one\.(\w+)">.*?data-hint="(.*?)"', page.replace("\n", "")))
            assert shown == {"look": "read-only", "change": "may change something", "delete": "destructive"}
        assert "</span>, which is destructive</button>" in guest.view(form("one.delete"))
        assert ">Destructive</span>" in guest.view(form("one.delete"))
        assert ">Read-only</span>" in guest.view(form("one.look"))


def test_a_line_has_an_input_in_which_enter_calls(home: PageHome, visitor: Visitor) -> None:
    page = visitor.enters(home, form("search_tools"))
    field = page.locator("input[name='argument query']")
    field.fill("add")
    field.press("Enter")
    heading = page.get_by_role("heading", name="Result after")
    expect(heading).to_be_focused()
    expect(page.locator("[role=status]").filter(has_text="box.add")).to_have_count(0)


def test_a_tool_that_does_not_exist_is_an_error_with_a_suggestion(guest: Guest) -> None:
    answer = guest.get(guest.root + form("box.ad"))
    assert answer.status_code == 404
    assert "Tool not found: box.ad; did you mean box.add" in answer.text


def test_texts_of_servers_are_texts(guest: Guest) -> None:
    for page in (guest.view("try"), guest.view("try?q=evil"), guest.view(form("tools.evil"))):
        assert "<script>alert" not in page
        assert "&lt;script&gt;" in page
        assert "\\u{202e}" in page
        assert "\u202e" not in page
        assert "{{ 7 * 7 }}" in page


# The call


def test_a_result_is_shown_and_what_was_typed_stays(guest: Guest) -> None:
    answer = guest.sends(form("box.echo"), tool="box.echo", **{"argument text": "a <b>\nc", "argument tags": "[1]"})
    shown = text_in(answer.text, '<section id="result"', "</section>")
    assert shown.startswith("Result after ")
    assert shown.endswith(' 33 characters {"text": "a <b>\\nc", "tags": [1]}')
    assert '">\na &lt;b&gt;\nc</textarea>' in answer.text
    assert '">\n[1]</textarea>' in answer.text


def test_arguments_are_converted_as_the_command_does(guest: Guest) -> None:
    assert '{"a": 3, "b": 2.5, "up": true}' in calls(guest, "box.add", a="3", b="2.5", up="true")
    assert '{"c": [2], "a": 1}' in calls(guest, "box.add", others='{"c": [2], "a": 0}', a="1")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"a": "many"}, "Error 'a' must be a whole number, not 'many'; the signature is box.add(a?: integer"),
        ({"up": "perhaps"}, "Error the value of 'up' is not JSON"),
        ({"others": "{"}, "Error the field for other arguments is not JSON"),
    ],
)
def test_a_wrong_argument_is_an_error_and_stays(guest: Guest, arguments: dict[str, str], said: str) -> None:
    assert calls(guest, "box.add", **arguments).startswith(said)


def test_structured_content_is_shown_as_json_and_an_image_as_its_size(guest: Guest) -> None:
    assert calls(guest, "box.measure").endswith('characters { "celsius": 21.50 }')
    assert calls(guest, "box.draw").endswith(" An image (image/png, 70 bytes), which is not shown here.")


def test_errors_are_shown_as_the_command_does(guest: Guest) -> None:
    assert calls(guest, "box.fail").startswith("The tool reported an error after ")
    assert calls(guest, "box.fail").endswith("16 characters the disk is full")
    assert calls(guest, "box.refuse").startswith("Error ")
    assert "it will not" in calls(guest, "box.refuse")


def test_a_question_to_the_user_is_refused_and_told(guest: Guest) -> None:
    shown = calls(guest, "asker.ask")
    assert "told: Method not found: elicitation (the page cannot answer questions)" in shown
    assert "The server asked the user something (elicitation), which was refused here." in shown


def test_a_long_result_is_cut_and_its_length_told(guest: Guest) -> None:
    answer = guest.sends(form("plain.big"), tool="plain.big", others='{"size": 320000}')
    assert f"The first {MOST_CHARACTERS:,} of 320,000 characters are shown." in answer.text
    assert len(answer.text) < MOST_CHARACTERS + 20_000


def test_a_server_that_cannot_start_is_told_with_a_remedy(new_home: NewHome, tmp_path: Path) -> None:
    script = tmp_path / "box.py"
    script.write_text(Path(TOOLBOX).read_text("utf-8"), "utf-8")
    home = new_home({"box": {**cli_server("toolbox"), "args": [str(script)]}})
    home.types("check")
    script.write_text("raise SystemExit('no licence')", "utf-8")
    with home.visit() as guest:
        shown = calls(guest, "box.echo", text="a")
        assert shown.startswith("Error MCP server 'box' is not running: it exited with code 1: no licence; ")
        assert "`search-mcp check box" in shown


def test_a_withheld_tool_is_not_called(new_home: NewHome, tmp_path: Path) -> None:
    text = tmp_path / "description"
    text.write_text("Pay an invoice.")
    home = new_home({"shop": server("changeable", str(text), pinTools=True, startup="eager")})
    home.types("check")
    text.write_text("Pay an invoice twice.")
    with home.visit() as guest:
        guest.sends("start", server="shop")
        path = guest.root + form("shop.pay")
        waits_until(lambda: "It cannot be called: its definition is not accepted." in guest.get(path).text)


def test_a_closed_request_cancels_its_call(home: PageHome, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    fields = {"tool": "box.work", "others": f'{{"until": "{pipe}"}}'}
    with home.visit() as guest:
        body = urlencode({"form_token": guest.form_token, **fields})
        head = (
            f"POST {guest.root}{form('box.work')} HTTP/1.1\r\nHost: {guest.authority}\r\nOrigin: {guest.origin}\r\n"
            f"Cookie: {guest.cookie}\r\nContent-Length: {len(body)}\r\n"
            "Content-Type: application/x-www-form-urlencoded\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", guest.port), SECONDS) as connection:
            connection.sendall(f"{head}{body}".encode())
            held = pipe.open("w")  # the server reads it: the call runs
        with held:
            waits_until(lambda: ">cancelled<" in guest.view("usage"))
        assert calls(guest, "box.echo", text="again").endswith('{"text": "again"}')


def test_stop_cancels_a_call(home: PageHome, visitor: Visitor, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    page = visitor.enters(home, form("box.work"))
    page.get_by_label("As one JSON object").fill(f'{{"until": "{pipe}"}}')
    page.get_by_role("button", name="Call box.work, which may change something").click()
    with pipe.open("w"):
        page.get_by_role("button", name="Stop").click()
        expect(page.get_by_role("status")).to_contain_text(["You stopped waiting, and the call was cancelled."])
        expect(page.get_by_role("button", name="Stop")).to_be_hidden()
        expect(page.get_by_label("As one JSON object")).to_have_value(f'{{"until": "{pipe}"}}')


@pytest.mark.parametrize("path", ["try", "try?q=add+numbers", form("box.add"), form("search_tools"), "try?server=box"])
def test_a_narrow_window_has_all_of_it(home: PageHome, new_visitor: NewVisitor, path: str) -> None:
    page = new_visitor(viewport={"width": 320, "height": 700}).enters(home, path)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 320
