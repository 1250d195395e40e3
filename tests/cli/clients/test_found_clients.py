"""`clients`, and what other commands show as for a client: the servers that `install` stored for it."""

import json

from cli.conftest import Place, server


def installed(place: Place) -> Place:
    """Register search-mcp in Cursor, with one of two servers, and in Claude Code, with both; Windsurf has none."""
    place.configure({"toolbox": server("toolbox"), "other": server("toolbox"), "off": server("dying", enabled=False)})
    assert place.run("check").code == 0
    for name in (".cursor", ".codeium/windsurf"):
        (place.folder / name).mkdir(parents=True)
    (place.folder / ".claude.json").write_text('{"mcpServers": {"mine": {"command": "uvx", "args": ["mine"]}}}')
    assert place.run("install", "cursor", "--servers", "tool*").code == 0
    assert place.run("install", "claude-code").code == 0
    return place


def test_the_clients_and_what_each_is_shown(place: Place) -> None:
    found = installed(place).run("clients", "--json").json
    clients = {each["name"]: each for each in found["clients"]}
    assert {name: each["state"] for name, each in clients.items()} == {
        "claude-code": "registered",
        "cursor": "registered",
        "windsurf": "not registered",
    }
    cursor, code = clients["cursor"], clients["claude-code"]
    assert (cursor["option"], cursor["servers"], cursor["tools"]) == ("tool*", ["toolbox"], 7)
    assert (code["option"], code["servers"], code["tools"], code["listing"]) == (None, ["toolbox", "other"], 14, "full")
    assert (code["otherServers"], clients["windsurf"]["tools"]) == (["mine"], None)
    assert 0 < cursor["estimatedTokens"] < code["estimatedTokens"]
    shown = place.run("clients", COLUMNS="80")
    assert max(map(len, shown.out.splitlines())) <= 80
    assert "Cursor: --servers 'tool*': toolbox." in shown.out
    assert "install claude-code --replace" in " ".join(shown.out.split())


def test_commands_show_a_client_the_servers_that_it_has(place: Place) -> None:
    checked = installed(place).run("check", "--client", "cursor", "--json")
    assert [each["name"] for each in checked.json["servers"]] == ["toolbox"]
    assert checked.err == "cursor has 1 of 3 servers: --servers 'tool*' is in its file.\n"
    assert {each["server"] for each in place.run("list", "--client", "cursor", "--json").json["tools"]} == {"toolbox"}
    everything = place.run("check", "--client", "cursor", "--servers", "*", "--json")
    assert len(everything.json["servers"]) == 3
    assert everything.err == ""
    place.config.write_text(json.dumps({"mcpServers": {"other": server("toolbox")}}))
    assert place.run("check", "--client", "cursor").code == 2


def test_clients_without_a_configuration(place: Place) -> None:
    ended = place.run("clients")
    assert (ended.code, ended.out) == (0, "")
    assert "No AI client was found." in ended.err
