"""`--servers` of the commands, `install --servers` and `add --tag`."""

import json
import sys
from typing import Any

import pytest

from cli.conftest import Place, server
from cli.test_commands import is_one_sentence
from search_mcp.cli.clients import client_servers
from search_mcp.clients import document, found, installation
from search_mcp.clients.known import BY_NAME, Client
from search_mcp.config.subset import parse

TAGS = {"toolbox": ["work"], "spare": ["work", "home"], "dying": []}


@pytest.fixture
def tagged(place: Place) -> Place:
    """A place with two good servers, and another one that fails."""
    names = {"toolbox": "toolbox", "spare": "toolbox", "dying": "dying"}
    place.configure({name: server(program, name, tags=TAGS[name]) for name, program in names.items()})
    return place


# Commands with a part of the servers


def test_commands_use_only_the_chosen_servers(tagged: Place) -> None:
    ended = tagged.run("list", "--servers", "tag:work,-spare", "--json")
    assert (ended.code, ended.err) == (0, "")
    assert {each["name"].partition(".")[0] for each in ended.json["tools"]} == {"toolbox"}
    assert [each["name"] for each in tagged.run("check", "--servers", "-dying", "--json").json["servers"]] == [
        "toolbox",
        "spare",
    ]
    assert [each["name"] for each in tagged.run("servers", "--servers", "-t*", "--json").json["servers"]] == [
        "spare",
        "dying",
    ]
    assert tagged.run("call", "echo", "text=x", "--servers", "toolbox", "--json").code == 0
    assert is_one_sentence(tagged.run("call", "spare.echo", "--servers", "toolbox"), 1, "Tool not found: spare.echo")


MISUSES = [
    (["list", "--servers", "tolbox"], "--servers tolbox: there is no server 'tolbox'; did you mean toolbox?"),
    (
        ["servers", "--servers", "tag:work,-tag:work"],
        "it excludes every server that it includes; --servers '*' selects all",
    ),
    (["tokens", "--servers", ","], "--servers: it is empty; write names, tag:NAME, or '*' for all servers"),
    (["list", "spare", "--servers", "toolbox"], "--servers leaves out the server 'spare'"),
    (["install", "cursor", "--servers", "-"], "--servers: '-' names nothing"),
    (["add", "x", "--tag", "a,b", "--", "y"], "'a,b' is not a tag"),
]


@pytest.mark.parametrize(("words", "complaint"), MISUSES, ids=[" ".join(words) for words, _ in MISUSES])
def test_misuse(tagged: Place, words: list[str], complaint: str) -> None:
    before = tagged.config.read_text()
    assert is_one_sentence(tagged.run(*words), 2, complaint)
    assert tagged.config.read_text() == before


def test_an_exclusion_of_nothing_is_a_warning(tagged: Place) -> None:
    ended = tagged.run("servers", "--servers", "tag:work,-dyign")
    assert ended.code == 0
    assert ended.err.startswith("warning: --servers tag:work,-dyign: there is no server 'dyign'; did you mean dying?")


# install


INSTALLS = pytest.mark.skipif(sys.platform == "win32", reason="the home folder is another one there")


def cursor(place: Place) -> dict[str, Any]:
    path = place.folder / ".cursor" / "mcp.json"
    entry: dict[str, Any] = json.loads(path.read_text())["mcpServers"]["search-mcp"]
    return entry


@INSTALLS
def test_install_refuses_an_unknown_tag_before_it_writes(tagged: Place) -> None:
    (tagged.folder / ".cursor").mkdir()
    ended = tagged.run("install", "cursor", "--servers", "tag:wrk")
    assert is_one_sentence(ended, 2, "--servers tag:wrk: no server has the tag 'wrk'; did you mean tag:work?")
    assert not [*(tagged.folder / ".cursor").iterdir()]


@INSTALLS
def test_install_writes_the_option_and_keeps_it(tagged: Place) -> None:
    (tagged.folder / ".cursor").mkdir()
    ended = tagged.run("install", "--no-start", "cursor", "--servers", "tag:work,-spare", "--dry-run")
    assert '+        "tag:work,-spare",' in ended.out.splitlines()
    assert "Cursor: would have 1 of 3 servers: toolbox (--servers tag:work,-spare).\n" in ended.err
    ended = tagged.run("install", "--no-start", "cursor", "--servers", "tag:work,-spare")
    assert "Cursor: has 1 of 3 servers: toolbox (--servers tag:work,-spare).\n" in ended.err
    option = ["--client", "cursor", "--servers", "tag:work,-spare", "--config", str(tagged.config)]
    assert cursor(tagged)["args"][-6:] == option

    again = tagged.run("install", "--no-start", "cursor")
    assert "already installed" in again.out
    kept = "Cursor: keeps --servers tag:work,-spare, 1 of 3 servers: toolbox; --servers '*' gives it all servers.\n"
    assert kept in again.err
    assert cursor(tagged)["args"][-6:] == option
    shown = tagged.run("install", "--no-start", "cursor", "--servers", "-dying", "--json").json["clients"][0]
    assert (shown["result"], shown["option"], shown["servers"]) == ("updated", "-dying", ["toolbox", "spare"])
    everything = tagged.run("install", "--no-start", "cursor", "--servers", "*")
    assert "Cursor: has all 3 servers.\n" in everything.err
    assert "--servers" not in cursor(tagged)["args"]
    assert "servers" not in tagged.run("install", "--no-start", "cursor", "--json").json["clients"][0]


@INSTALLS
def test_install_warns_of_a_kept_expression_that_selects_too_little(tagged: Place) -> None:
    (tagged.folder / ".cursor").mkdir()
    tagged.run("install", "--no-start", "cursor", "--servers", "tag:home,-dying")
    tagged.configure({"toolbox": server("toolbox")})
    ended = tagged.run("install", "--no-start", "cursor")
    assert ended.code == 0
    warnings = [line for line in ended.err.splitlines() if line.startswith("warning: ")]
    assert [each.removeprefix("warning: Cursor: --servers tag:home,-dying: ")[:40] for each in warnings] == [
        "no server has the tag 'home'; write \"tag",
        "there is no server 'dying'; the servers ",
    ]
    assert "--servers" in cursor(tagged)["args"]


@INSTALLS
def test_install_keeps_an_expression_that_cannot_be_read(tagged: Place) -> None:
    """Without it, the client would get all servers."""
    (tagged.folder / ".cursor").mkdir()
    tagged.run("install", "--no-start", "cursor", "--servers", "toolbox")
    path = tagged.folder / ".cursor" / "mcp.json"
    path.write_text(path.read_text().replace('"toolbox"', '","'))
    ended = tagged.run("install", "--no-start", "cursor")
    assert "warning: Cursor: --servers: it is empty" in ended.err
    assert "," in cursor(tagged)["args"]


@INSTALLS
def test_install_starts_only_the_servers_of_the_clients(tagged: Place) -> None:
    (tagged.folder / ".cursor").mkdir()
    ended = tagged.run("install", "cursor", "--servers", "toolbox")
    assert ended.err.endswith("\nReady: 7 tools.\n")
    assert tagged.run("servers", "--json").json["servers"][1]["state"] == "unknown"


@INSTALLS
def test_install_says_if_a_moved_server_is_left_out(tagged: Place) -> None:
    path = tagged.folder / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"mcpServers": {"mine": {"command": "x"}}}))
    ended = tagged.run("install", "--no-start", "cursor", "--replace", "--servers", "tag:work")
    assert "warning: Cursor: --servers leaves out mine, so this client loses it\n" in ended.err
    path.write_text(json.dumps({"mcpServers": {"mine": {"command": "x"}}}))
    said = " ".join(tagged.run("install", "--no-start", "cursor", "--servers", "tag:work").err.split())
    assert "Cursor starts 1 other server itself: mine; `search-mcp install cursor --replace` moves it to" in said


@pytest.mark.parametrize("client", BY_NAME.values(), ids=BY_NAME)
def test_the_option_is_in_the_entry_of_every_client(client: Client) -> None:
    def add(before: document.Document, servers: str | None) -> document.Document:
        return installation.add(before, client, ("/search-mcp",), "/c.json", [], servers)[0]

    empty = document.read(b"", client.format, "f")
    chosen = add(empty, "-jira,tag:a b")
    assert installation.chosen_servers(document.read(chosen.data, client.format, "f"), client) == "-jira,tag:a b"
    tags = {"jira": ["a b"], "git": ["a b"]}
    choice = client_servers.choose(chosen, client, None, tags)
    assert choice is not None
    assert (choice.expression, choice.names, choice.is_kept) == ("-jira,tag:a b", ("git",), True)
    assert add(chosen, choice.expression) == chosen
    assert add(chosen, None) == add(empty, None)
    assert client_servers.choose(add(empty, None), client, None, tags) is None


def test_an_option_written_by_hand_is_found() -> None:
    text = '{"mcpServers": {"mine": {"command": "search-mcp", "args": ["serve", "--servers=a,b"]}}}'
    file = document.read(text.encode(), "json", "f")
    assert installation.chosen_servers(file, BY_NAME["claude-desktop"]) == "a,b"


def test_clients_with_all_servers_decide_which_are_started() -> None:
    some = client_servers.choose(document.read(b"{}", "json", "f"), BY_NAME["cursor"], parse("a"), {"a": [], "b": []})
    assert client_servers.in_use([some]) == {"a"}
    assert client_servers.in_use([some, None]) is None


# add --tag


def test_add_writes_tags(place: Place) -> None:
    place.configure({})
    assert place.run("add", "one", "--tag", "work", "--tag", "web", "--", "x").code == 0
    pasted = json.dumps({"mcpServers": {"two": {"command": "y", "tags": ["own"]}, "three": {"url": "https://a.b/c"}}})
    assert place.run("add", "--tag", "tag:web", "--json", pasted).code == 0
    servers = json.loads(place.config.read_text())["mcpServers"]
    assert {name: entry["tags"] for name, entry in servers.items()} == {
        "one": ["work", "web"],
        "two": ["own", "web"],
        "three": ["web"],
    }
    again = place.run("add", "one", "--tag", "new", "--", "x")
    assert 'warning: one has no new tags; to add them, write "tags": ["new"] into its entry\n' in again.err


def test_a_server_without_a_program_is_not_tagged() -> None:
    (nothing,) = found.pasted('{"mcpServers": {"a": {}}}', None)
    assert found.tagged(nothing, ["x"]) is nothing
