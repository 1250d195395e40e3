"""The commands at a terminal: colours, widths, progress, Ctrl-C."""

import json
import os
from collections.abc import Callable

import pytest

from cli.conftest import TIME, Place, log, server

pytest.importorskip("termios", reason="only Unix has pseudo-terminals")

from cli.screen import Screen, make_pipe  # only on systems with terminals

Configured = Callable[..., Place]


def test_colours_and_progress_at_a_terminal(toolbox: Place) -> None:
    screen = Screen(toolbox, "check", columns=100)
    assert screen.end() == 1
    assert "toolbox  starting" in screen.shown
    assert "dying    starting" in screen.shown
    assert "starting" not in "".join(screen.lines)
    assert {"\x1b[32m", "\x1b[31m", "\x1b[1m"} <= screen.colours
    assert screen.fits()


def test_no_colours_where_they_are_not_wanted(toolbox: Place) -> None:
    screen = Screen(toolbox, "check", NO_COLOR="1")
    assert screen.end() == 1
    assert screen.colours <= {"\x1b[1m", "\x1b[2m"}  # bold and dim are not colours


@pytest.mark.parametrize("columns", [24, 40, 60])
@pytest.mark.parametrize(
    "words",
    [
        ["check"],
        ["check", "--client", "cursor"],
        ["list"],
        ["search", "echo"],
        ["describe", "toolbox.echo", "search_tools"],
        ["tokens"],
    ],
)
def test_a_narrow_terminal(configured: Configured, words: list[str], columns: int) -> None:
    screen = Screen(configured(toolbox=server("toolbox")), *words, columns=columns)
    assert screen.end() == 0
    assert "toolbox" in "".join(screen.lines)
    assert screen.fits()
    assert not any("…" in line for line in screen.lines)  # nothing is cut


def test_wide_characters_fit_too(configured: Configured) -> None:
    place = configured(日本語のサーバー=server("toolbox", describe={"echo": "日本語の説明です 😀 👩\u200d💻 " * 9}))
    for words in (["check"], ["list"], ["tokens"], ["search", "日本語"], ["logs"]):
        screen = Screen(place, *words, columns=50)
        screen.end()
        assert screen.fits()


def test_found_words_are_highlighted(configured: Configured) -> None:
    place = configured(toolbox=server("toolbox"))
    screen = Screen(place, "search", "drawing")
    assert screen.end() == 0
    assert {"\x1b[1;4;36m", "\x1b[1;4m"} <= screen.colours  # in the name, in the description
    assert not any(";4" in each for each in _colours(place, "list"))


def _colours(place: Place, *words: str) -> set[str]:
    screen = Screen(place, *words)
    screen.end()
    return screen.colours


@pytest.mark.parametrize("words", [["list"], ["search", "draw"], ["tokens"], ["logs"]])
def test_no_colours_in_anything(configured: Configured, words: list[str]) -> None:
    screen = Screen(configured(toolbox=server("toolbox")), *words, NO_COLOR="1")
    screen.end()
    assert not any(code in colour for colour in screen.colours for code in ("[3", ";3", "[9", ";9"))


def test_logs_are_followed_until_ctrl_c(configured: Configured) -> None:
    place = configured(toolbox=server("toolbox"), other=server("toolbox"))
    path = log(place, "toolbox")
    path.write_text("before\n")
    screen = Screen(place, "logs", "--follow")
    screen.wait_for("toolbox | before")
    with path.open("a") as file:
        file.write("now\nand the")
    screen.wait_for("toolbox | now")
    log(place, "other").write_text("me too\n")
    screen.wait_for("other | me too")
    path.replace(path.with_suffix(".old.log"))
    path.write_text("n\n")
    screen.wait_for("toolbox | and then")
    screen.press("\x03")
    assert screen.end() == 130
    assert screen.shown.partition("and then")[2].strip() in ("", "^C")
    assert place.leaves_no_process()


def test_the_bare_command_at_a_terminal_shows_the_help(place: Place) -> None:
    screen = Screen(place)
    assert screen.end() == 0
    assert screen.shown == place.run("--help").out


def test_serve_at_a_terminal_says_that_it_waits_for_a_client(configured: Configured) -> None:
    screen = Screen(configured(), "serve")
    screen.wait_for("search-mcp --help shows commands.\n")
    screen.press('{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
    screen.wait_for('"result"')  # it serves now, so it handles a signal
    screen.press("\x03")
    assert screen.end() == 130
    assert screen.shown.count("is waiting for an MCP client on stdin") == 1
    assert all(len(line) <= 80 for line in screen.lines[:2])
    assert "Traceback" not in screen.shown


def test_serve_prints_nothing_else(configured: Configured) -> None:
    place = configured()
    stdout, other_end = os.pipe()
    screen = Screen(place, "serve", stdout=other_end)
    os.close(other_end)
    screen.wait_for("is waiting for an MCP client")
    screen.press("\x04")  # the end of stdin
    assert screen.end() == 0
    with os.fdopen(stdout) as piped:
        assert piped.read() == ""
    assert "is waiting for" not in place.run("serve").err


def test_json_at_a_terminal_is_coloured_and_whole(configured: Configured) -> None:
    screen = Screen(configured(toolbox=server("toolbox")), "call", "toolbox.measure", "--json", columns=24)
    assert screen.end() == 0
    assert '    "celsius": 21.50' in screen.lines
    assert screen.colours


def test_output_does_not_move_the_cursor(configured: Configured) -> None:
    screen = Screen(configured(dirty=server("dirty")), "describe", "dirty.wash", NO_COLOR="1")
    assert screen.end() == 0
    assert "Says red" in screen.shown
    assert not {"\x1b", "\x07", "\x08", "\x9b"} & {*screen.shown}


def test_progress_of_a_call(configured: Configured) -> None:
    place = configured(toolbox=server("toolbox"))
    pipe = make_pipe(place.folder)
    screen = Screen(place, "call", "toolbox.work", f"until={pipe}")
    screen.wait_for("toolbox.work: 1/2 sawing")
    pipe.write_text("")
    assert screen.end() == 0
    assert screen.lines == [f'{{"until": "{pipe}"}}']


@pytest.mark.parametrize(
    ("words", "waiting"),
    [
        (["check"], "mute  starting"),
        (["list"], "starting mute"),
        (["tokens"], "starting mute"),
        (["call", "mute.thing"], "starting mute"),
    ],
)
def test_ctrl_c_leaves_no_process(configured: Configured, words: list[str], waiting: str) -> None:
    place = configured(mute=server("mute"), time=TIME)
    screen = Screen(place, *words)
    screen.wait_for(waiting)
    screen.press("\x03")
    assert screen.end() == 130
    assert "Traceback" not in screen.shown
    assert place.leaves_no_process()


def test_ctrl_c_while_an_added_server_starts_keeps_the_entry_and_says_so(place: Place) -> None:
    screen = Screen(place, "add", "mute", "--json", json.dumps(server("mute")))
    screen.wait_for("starting mute")
    screen.press("\x03")
    assert screen.end() == 130
    assert " has mute; `search-mcp check mute` starts it." in " ".join(screen.shown.split())
    assert "mute" in json.loads(place.config.read_text())["mcpServers"]


def test_add_asks_for_what_is_missing(place: Place) -> None:
    screen = Screen(place, "add", "--no-start")
    screen.wait_for("Name of the server: ")
    screen.press("files\r")
    screen.wait_for("Its command, or its URL: ")
    screen.press("npx -y 'a b'\r")
    assert screen.end() == 0
    assert json.loads(place.config.read_text())["mcpServers"] == {"files": {"command": "npx", "args": ["-y", "a b"]}}
    screen = Screen(place, "add", "--no-start", "web")
    screen.wait_for("Its command, or its URL: ")
    screen.press("https://mcp.example/mcp\r")
    assert screen.end() == 0
    assert json.loads(place.config.read_text())["mcpServers"]["web"] == {"url": "https://mcp.example/mcp"}


def test_add_refuses_an_open_quote(place: Place) -> None:
    screen = Screen(place, "add", "files")
    screen.wait_for("Its command, or its URL: ")
    screen.press("npx 'a b\r")
    assert screen.end() == 2
    assert "a quote without its end" in screen.shown


def test_add_says_that_it_waits_for_json(place: Place) -> None:
    screen = Screen(place, "add", "--no-start", "--json", "-")
    screen.wait_for("Paste the server's JSON, then press Enter and Ctrl-D.")
    screen.press('{"a": {"command": "x"}}\r\x04')
    assert screen.end() == 0
    assert json.loads(place.config.read_text()) == {"mcpServers": {"a": {"command": "x"}}}


def test_ctrl_c_during_a_call(configured: Configured) -> None:
    place = configured(toolbox=server("toolbox"))
    screen = Screen(place, "call", "toolbox.work", f"until={make_pipe(place.folder)}")
    screen.wait_for("sawing")
    screen.press("\x03")
    assert screen.end() == 130
    assert place.leaves_no_process()


def test_ctrl_c_during_the_demo(configured: Configured) -> None:
    place = configured(mute=server("mute"))
    screen = Screen(place, "demo", "--config", str(place.config))
    screen.wait_for("connect")
    screen.press("\x03")
    assert screen.end() == 130
    assert "Traceback" not in screen.shown
    assert place.leaves_no_process()


def test_output_longer_than_the_screen_is_paged(configured: Configured) -> None:
    place = configured(**{name: server("toolbox") for name in ("one", "two", "three", "four")})
    screen = Screen(place, "list", PAGER="tail -n 1")
    assert screen.end() == 0
    assert screen.lines[-1:] == ["28 tools of 4 servers"]
    assert "one.echo" not in screen.shown
    screen = Screen(place, "list", "--no-pager", PAGER="tail -n 1")
    assert screen.end() == 0
    assert "one.echo" in screen.shown
