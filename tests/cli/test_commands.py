"""Every command as a script runs it: stdout, stderr and exit code."""

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import COMMAND, SECONDS, Ended, Place, log, server

Configured = Callable[..., Place]


def is_one_sentence(ended: Ended, code: int, *words: str) -> bool:
    """Return whether a run ended with one line on stderr that holds these words, and nothing on stdout."""
    assert (ended.code, ended.out) == (code, ""), ended
    assert ended.err.startswith("error: "), ended.err
    assert ended.err.count("\n") == 1, ended.err
    assert "Traceback" not in ended.err
    assert all(word in ended.err for word in words), ended.err
    return True


# The command line


def test_help_and_version(place: Place) -> None:
    assert place.run("--version").out.startswith("search-mcp ")
    ended = place.run("--help")
    assert (ended.code, ended.err) == (0, "")
    for command in ("check", "list", "search", "call", "add", "install", "logs"):
        assert f" {command} " in ended.out
    assert "KEY:=JSON" in place.run("call", "-h").out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["chekc"], ["'chekc'", "Did you mean 'check'?"]),
        (["--json", "list"], ["--json", "options go after the command", "search-mcp --help"]),
        (["serve", "--client", "cursr"], ["'cursr'", "cursor", "search-mcp serve --help"]),
        (["--log-level", "loud"], ["'loud'", "debug, info, warning, error"]),
        (["list", "--jsno"], ["--jsno", "--json", "search-mcp list --help"]),
        (["describe"], ["Missing argument", "NAME"]),
        (["search", "x", "--limit", "0"], ["--limit", "1"]),
        (["list", "--client", "cursr"], ["'cursr'", "did you mean cursor"]),
        (["list", "tolbox"], ["there is no server 'tolbox'", "did you mean toolbox?"]),
        (["search", "x", "--server", "tolbox"], ["did you mean toolbox?"]),
        (["list", "--config", "nowhere.json"], ["nowhere.json", "no such file"]),
        (["list", "--config", 300 * "x"], ["it cannot be read"]),
        (["call", "toolbox.echo", "text"], ["'text' is not an argument", "key=value"]),
        (["call", "toolbox.add", "a=x"], ["'a' must be a whole number, not 'x'"]),
        (["call", "toolbox.echo", "--json", "{"], ["'{...}' is not JSON"]),
        (["servers", "tolbox"], ["there is no server 'tolbox'", "did you mean toolbox?"]),
        (["logs", "tolbox"], ["there is no server 'tolbox'", "did you mean toolbox?"]),
        (["config", "chema"], ["'chema'", "search-mcp config --help"]),
        (["call", "toolbox.draw", "--output", "nowhere/x.png"], ["nowhere/x.png"]),
        (["call", "toolbox.draw", "--output", "config/mcp-servers.json/x.png"], ["config/mcp-servers.json/x.png"]),
    ],
)
def test_misuse(toolbox: Place, words: list[str], complaint: list[str]) -> None:
    assert is_one_sentence(toolbox.run(*words), 2, *complaint)


def test_an_invalid_configuration(toolbox: Place) -> None:
    path = toolbox.config
    path.write_text('{\n  "mcpServers": {"a": {"command": 3}}\n}')
    assert is_one_sentence(toolbox.run("check"), 2, f"{path}:2: ", '"command" must be a string')
    ended = toolbox.run("check", "--debug")
    assert ended.code == 2
    assert "Traceback" in ended.err


# check


def test_check_when_all_is_well(configured: Configured, time_server: dict[str, Any]) -> None:
    place = configured(toolbox=server("toolbox"), time=time_server, off=server("dying", enabled=False))
    ended = place.run("check")
    assert (ended.code, ended.err) == (0, "")
    headings, toolbox, time, off = ended.out.splitlines()[:4]  # a note about a slow start may follow
    assert headings.split() == ["Server", "State", "Protocol", "Start", "Tools"]
    assert toolbox.split()[:3] == ["toolbox", "ready", "2025-06-18"]
    assert toolbox.split()[4:] == ["s", "7"]
    assert time.split()[:3] == ["time", "ready", "2026-07-28"]
    assert off.split() == ["off", "off"]
    assert "\n2 ready, 1 off; 9 tools\n" in ended.out


@pytest.mark.skipif(sys.platform == "win32", reason="there, each client has a process of its own")
def test_check_says_what_clients_share(place: Place) -> None:
    servers = {"toolbox": server("toolbox", share=True)}
    place.configure(servers, engine="own")
    assert "shared" not in place.run("check", "toolbox").out
    place.config.write_text(json.dumps({"mcpServers": servers}))
    assert "\nShared by all clients: toolbox. `search-mcp check NAME" in place.run("check").out
    assert '\ntoolbox\n  can be shared: "share" is true\n' in place.run("check", "toolbox").out


def test_check_when_a_server_fails(toolbox: Place) -> None:
    path = toolbox.config
    config = json.loads(path.read_text())
    config["mcpServers"]["dying"]["env"] = {"WORD": "s3cr3t-word"}
    config["mcpServers"]["dying"]["args"].append("s3cr3t-word")
    config["mcpServers"]["absent"] = {"command": "there-is-no-such-program"}
    path.write_text(json.dumps({**config, "setings": {}}))
    ended = toolbox.run("check")
    assert (ended.code, ended.err) == (1, "")
    assert "no licence found" in ended.out
    assert "\n1 ready, 2 failed; 7 tools\n" in ended.out
    assert "s3cr3t" not in ended.out
    assert "'there-is-no-such-program' was not found" in ended.out
    assert 'did you mean "settings"?' in ended.out
    ended = toolbox.run("check", "dying")
    assert "dying.py '***'" in ended.out  # the command to run by hand, without the secret
    assert "s3cr3t" not in ended.out
    assert "toolbox" not in ended.out.splitlines()[1]


def test_check_of_some_servers(toolbox: Place) -> None:
    ended = toolbox.run("check", "toolbox", "--json")
    assert (ended.code, [each["name"] for each in ended.json["servers"]]) == (0, ["toolbox"])
    assert is_one_sentence(toolbox.run("check", "tolbox"), 2, "did you mean toolbox?")
    ended = toolbox.run("check", "dying")
    assert (ended.code, ended.err) == (1, "")
    assert "\n1 failed; 0 tools\n\ndying\n  it exited with code 1; end of its stderr: no licence found\n" in ended.out


def test_a_secret_in_a_command_with_its_arguments_is_not_shown(configured: Configured) -> None:
    place = configured(words={"command": "nothing --token s3cret-value"})
    for command in (["check"], ["check", "words"], ["servers"], ["config", "validate"], ["list"]):
        ended = place.run(*command)
        assert "s3cret-value" not in ended.out + ended.err
    assert '"command": "nothing", "args": ["--token", "***"]' in place.run("check").out
    file = place.folder / "other.json"
    file.write_text(json.dumps({"mcpServers": {"other": {"command": "none --token s3cret-value"}}}))
    ended = place.run("import", "--dry-run", str(file))
    assert "'none --token ***'" in ended.out
    assert "s3cret-value" not in ended.out + ended.err


def test_check_shows_no_secret_of_the_arguments(configured: Configured) -> None:
    words = ["--api-key", "s3cr3t", "--header", "Authorization: Bearer s4cr3t", "postgresql://me:s5cr3t@x/y"]
    ended = configured(dying=server("dying", *words)).run("check", "dying")
    assert ended.code == 1
    assert "dying.py --api-key '***' --header 'Authorization: ***' 'postgresql://***@x/y'" in ended.out
    assert "cr3t" not in ended.out


SECRET = 's3cr3t"\\quoted'


@pytest.mark.parametrize("words", [["check"], ["call", "box.echo", f"text={SECRET}"]])
def test_the_log_of_a_command_shows_no_secret(configured: Configured, words: list[str]) -> None:
    script = "import os; print('no message:', os.environ['WORD'])"
    bad = {"command": sys.executable, "args": ["-c", script], "env": {"WORD": SECRET}}
    ended = configured(box=server("toolbox", env={"WORD": SECRET}), bad=bad).run(*words, "--debug")
    assert " DEBUG search_mcp.wire.peer: < box " in ended.err
    assert "***" in ended.err
    assert "s3cr3t" not in ended.err


def test_values_that_are_not_secret_stay_readable(configured: Configured) -> None:
    environment = {"PATH": "/usr/bin:/bin", "NODE_ENV": "production", "LOG_LEVEL": "error", "DEBUG": "true"}
    script = "import sys; sys.exit('error: no production database; is that true?')"
    gone = {"command": "there-is-no-such-program", "env": environment}
    ended = configured(gone=gone, bad={"command": sys.executable, "args": ["-c", script], "env": environment}).run(
        "check"
    )
    assert "error: no production database; is that true?" in ended.out
    assert "'there-is-no-such-program' was not found on PATH" in ended.out
    assert "***" not in ended.out


def test_check_for_a_program(toolbox: Place) -> None:
    ended = toolbox.run("check", "--json")
    assert (ended.code, ended.err) == (1, "")
    assert ended.json["ok"] is False
    assert ended.json["warnings"] == []
    assert ended.json["config"].endswith("mcp-servers.json")
    good, bad = ended.json["servers"]
    assert isinstance(good.pop("openMilliseconds"), int)
    assert all(re.fullmatch(r"20..-..-..T..:..:..Z", each["since"]) for each in (good, bad))
    del good["since"]
    assert all("to start" in problem for problem in good.pop("problems"))  # on a machine that is slow
    assert good == {
        "name": "toolbox",
        "state": "ready",
        "reason": None,
        "remedy": None,
        "era": "legacy",
        "revision": "2025-06-18",
        "tools": 7,
        "prompts": 0,
        "resources": 0,
        "resourceTemplates": 0,
        "skills": 0,
    }
    assert (bad["name"], bad["state"], bad["era"], bad["tools"]) == ("dying", "failed", None, 0)
    assert "no licence found" in bad["reason"]


def test_check_reports_definitions_that_were_repaired(configured: Configured) -> None:
    ended = configured(dirty=server("dirty")).run("check", "--json")
    assert ended.code == 0
    assert any("broken" in problem for problem in ended.json["servers"][0]["problems"])


def test_check_reports_a_uri_that_is_taken_from_another_servers_template(configured: Configured) -> None:
    place = configured(files=server("listing", "file:///{+path}"), taker=server("listing", "file:///home/me/.env"))
    checked = place.run("check", "--json")
    files, taker = checked.json["servers"]
    said = "file:///home/me/.env is read here, not at 'files', whose template file:///{+path} fits, too"
    assert (checked.code, files["problems"], taker["problems"]) == (0, [], [said])


def test_check_judges_for_a_client(place: Place) -> None:
    place.configure({"toolbox": server("toolbox", prefix="p" * 58)}, maxNameLength=128)
    assert place.run("check").code == 0
    ended = place.run("check", "--client", "goose", "--json")
    assert (ended.code, ended.json["ok"], ended.json["client"]["name"]) == (1, False, "goose")
    assert ended.json["client"]["problems"][0].startswith("goose refuses names longer than 60 characters: pppp")
    ended = place.run("check", "--client", "goose")
    assert (ended.code, ended.err) == (1, "")
    assert "Names and lists\n  goose refuses names" in ended.out


def test_check_shows_the_output_of_a_server_that_never_answers(configured: Configured) -> None:
    script = "import sys; print('waiting for a key', file=sys.stderr, flush=True); sys.stdin.read()"
    slow = {"command": "${python}", "args": ["-c", script], "startTimeoutSeconds": 8}
    ended = configured(slow=slow).run("check", "--json")
    assert ended.code == 1
    reason = ended.json["servers"][0]["reason"]
    assert reason == "it did not answer within 8 s of being started; end of its stderr: waiting for a key"


def test_check_says_where_names_cannot_be_read(configured: Configured) -> None:
    ended = configured(日本=server("toolbox"), 世界=server("toolbox", enabled=False)).run("check", "--json")
    told = {each["name"]: each["problems"] for each in ended.json["servers"]}
    assert any("its name has no character" in problem for problem in told["日本"])
    assert (ended.code, told["世界"]) == (0, [])


def test_check_without_servers(configured: Configured) -> None:
    ended = configured().run("check")
    assert (ended.code, ended.out) == (0, "")
    assert "There are no servers in" in ended.err


# list and search


def test_list_of_one_server_starts_no_other(toolbox: Place) -> None:
    ended = toolbox.run("list", "toolbox")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines()[:2] == ["toolbox: 7 tools", "toolbox.echo     Can echo."]
    assert ended.out.splitlines()[8:] == ["", "7 tools of 1 server"]


def test_list_reports_missing_servers(toolbox: Place) -> None:
    ended = toolbox.run("list", "--json", "--client", "cursor")
    assert ended.code == 0
    assert ended.json["tools"][0] == {"name": "toolbox__echo", "server": "toolbox", "description": "Can echo."}
    assert [failed["name"] for failed in ended.json["failed"]] == ["dying"]
    assert ended.err.startswith("Failed: dying (it exited with code 1: no licence found). `search-mcp check dying`")
    assert "\ndying    failed just now " in toolbox.run("servers").out
    (_, dying) = toolbox.run("servers", "--json").json["servers"]
    assert (dying["state"], dying["since"][-1], dying["remedy"]) == ("failed", "Z", None)


def test_list_of_a_disabled_server(configured: Configured) -> None:
    ended = configured(off=server("toolbox", enabled=False)).run("list", "off")
    assert is_one_sentence(ended, 1, "MCP server 'off' is disabled; `search-mcp enable off` enables it")


def test_search(configured: Configured, time_server: dict[str, Any]) -> None:
    place = configured(toolbox=server("toolbox"), time=time_server)
    ended = place.run("search", "current", "time", "--json", "--limit", "1")
    assert (ended.code, ended.err) == (0, "")
    assert [tool["name"] for tool in ended.json["tools"]] == ["time.get_current_time"]
    ended = place.run("search", "draw", "--server", "toolbox")
    assert ended.out.splitlines()[1].startswith("toolbox.draw")
    ended = place.run("search", "qqqqqqqq", "--server", "toolbox")
    assert is_one_sentence(ended, 1, "no tool matches 'qqqqqqqq'", "search-mcp list")


def test_skills_are_listed_found_and_counted_as_what_they_are(configured: Configured) -> None:
    place = configured(shop=server("skilled"))
    found = place.run("search", "refunds", "customers", "--json").json
    assert [tool["name"] for tool in found["tools"]] == ["shop.refund"]
    skill = {"name": "refunds", "uri": "skill://billing/refunds/SKILL.md", "server": "shop"}
    assert [{key: each[key] for key in skill} for each in found["skills"]] == [skill]
    shown = place.run("search", "refunds").out
    assert "skill refunds" in shown
    assert "skill refunds" in place.run("search", "refunds", "--explain").out
    listed = place.run("list", "--skills")
    assert listed.out.splitlines()[0] == "shop: 1 skill"
    assert "skill://billing/refunds/SKILL.md" in listed.out
    assert place.run("list").out.splitlines()[-1].endswith("1 resource: list --resources; 1 skill: list --skills")
    (of_json,) = place.run("list", "--skills", "--json").json["skills"]
    assert of_json == {**skill, "description": "Handle refund requests of customers."}
    (checked,) = place.run("check", "--json").json["servers"]
    assert (checked["tools"], checked["resources"], checked["skills"]) == (1, 1, 1)
    assert "Skills" in place.run("check").out


def test_a_search_of_one_kind(configured: Configured) -> None:
    place = configured(shop=server("skilled"))
    skills = place.run("search", "refunds", "--skills", "--json").json
    assert [each["uri"] for each in skills["skills"]] == ["skill://billing/refunds/SKILL.md"]
    assert "tools" not in skills
    resources = place.run("search", "refunds", "--resources", "--json").json
    assert [each["uri"] for each in resources["resources"]] == ["skill://billing/refunds/SKILL.md"]
    assert "explanation" in place.run("search", "refunds", "--resources", "--json", "--explain").json["resources"][0]
    shown = place.run("search", "refunds", "--resources").out.splitlines()
    assert shown[0].split() == ["URI", "or", "URI", "template", "Description"]
    assert shown[1].split()[0] == "skill://billing/refunds/SKILL.md"
    ended = place.run("search", "refunds", "--prompts")
    assert is_one_sentence(ended, 1, "no prompt matches 'refunds'", "`search-mcp list --prompts` shows all prompts")
    ended = place.run("search", "refunds", "--prompts", "--skills")
    assert is_one_sentence(ended, 2, "--skills and --prompts cannot be combined")


def test_a_search_says_that_nothing_fits_and_which_servers_are_missing(
    configured: Configured, time_server: dict[str, Any]
) -> None:
    place = configured(time=time_server, dying=server("dying"))
    ended = place.run("search", "print", "the", "time", "table")
    assert "time.get_current_time" in ended.out
    nothing_fits, *rest = ended.err.splitlines()
    assert nothing_fits == "No tool of the connected servers clearly does this; nearest:"
    assert "Failed: dying (" in " ".join(rest)
    assert place.run("search", "print", "the", "time", "table", "--json").json["fits"] is False
    ended = place.run("search", "current", "time", "--json")
    assert ended.json["fits"] is True
    assert "No tool" not in ended.err


def test_servers_starts_no_server(toolbox: Place) -> None:
    assert toolbox.run("list", "toolbox").code == 0  # now its lists are cached
    ended = toolbox.run("servers")
    assert ended.code == 0
    _, first, second, _, summary = ended.out.splitlines()
    assert first.split()[:3] == ["toolbox", "known", "7"]
    assert second.split()[:2] == ["dying", "not"]
    assert summary == "1 known, 1 not started; 7 tools"
    known = toolbox.run("servers", "--json").json["servers"]
    assert [(each["name"], each["state"], each["tools"]) for each in known] == [
        ("toolbox", "known", 7),
        ("dying", "unknown", None),
    ]
    assert [each["name"] for each in toolbox.run("servers", "dying", "--json").json["servers"]] == ["dying"]


def test_a_misspelt_name_in_deny_is_a_problem_of_its_server(configured: Configured) -> None:
    place = configured(box=server("toolbox", tools={"deny": ["ech"]}, pinned=["ech"]))
    assert place.run("config", "validate").code == 0  # its list is not known yet
    checked = place.run("check", "--json")
    said = [f"{key}: no tool matches 'ech'; did you mean echo?" for key in ("tools.deny", "pinned")]
    assert (checked.code, checked.json["servers"][0]["problems"]) == (1, said)
    validated = place.run("config", "validate")
    assert (validated.code, validated.err) == (1, "".join(f"warning: box: {each}\n" for each in said))
    shown = place.run("servers").out
    assert all(f"box: {each}\n" in shown for each in said)
    assert not any("tools.deny" in line for line in shown.splitlines() if line.startswith("box "))  # it has the command
    assert place.run("servers", "--json").json["servers"][0]["problems"] == said


# describe


def test_describe(toolbox: Place) -> None:
    ended = toolbox.run("describe", "toolbox__echo", "search_tools")
    assert (ended.code, ended.err) == (0, "")
    assert "toolbox.echo(text?: string, tags?: any[])\n  server toolbox\n\n  Can echo. And more.\n" in ended.out
    assert "\nParameters\n  text: string (optional)\n      What to say\n" in ended.out
    assert "\n  search-mcp call toolbox.echo\n" in ended.out
    assert "search_tools(query: string" in ended.out


def test_describe_for_a_program(configured: Configured, time_server: dict[str, Any]) -> None:
    ended = configured(time=time_server).run("describe", "--json", "time.get_current_time", "time.get_curent_time")
    assert ended.code == 1
    (tool,), (unknown,) = ended.json["tools"], ended.json["unknown"]
    assert tool["name"] == "time.get_current_time"
    assert {"description", "inputSchema", "outputSchema", "annotations"} <= tool.keys()
    assert unknown["name"] == "time.get_curent_time"
    assert unknown["suggestions"][0] == "time.get_current_time"
    assert ended.err.startswith("error: Tool not found: time.get_curent_time; did you mean time.get_current_time")


def test_describe_reports_why_a_tool_is_missing(toolbox: Place) -> None:
    assert is_one_sentence(toolbox.run("describe", "dying.thing"), 1, "'dying' is not running", "no licence found")


# call


def test_call_converts_arguments_by_the_schema(toolbox: Place) -> None:
    ended = toolbox.run("call", "toolbox.add", "a=2", "b=1.5", "up=true", "note=3", "raw:=[1.50]")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == '{"a": 2, "b": 1.5, "up": true, "note": "3", "raw": [1.5]}\n'


def test_call_with_arguments_from_stdin(toolbox: Place) -> None:
    ended = toolbox.run("call", "toolbox.echo", "text=b", "-", stdin='{"text": "a",\n"tags": []}')
    assert ended.out == '{"text": "b", "tags": []}\n'


@pytest.mark.skipif(os.access("/", os.W_OK), reason="permissions do not bind this user")
def test_the_tool_is_not_called_if_its_result_could_not_be_saved(toolbox: Place) -> None:
    (toolbox.folder / "locked").mkdir(mode=0o500)
    ended = toolbox.run("call", "toolbox.draw", "--output", "locked/dot.png")
    assert is_one_sentence(ended, 2, "locked/dot.png cannot be written", "choose a file in an existing folder")


def test_call_prints_a_result_unchanged(toolbox: Place) -> None:
    assert toolbox.run("call", "toolbox.measure").out == '{\n  "celsius": 21.50\n}\n'
    ended = toolbox.run("call", "toolbox.measure", "--json")
    assert ended.out == '{"content": [], "structuredContent": {"celsius": 21.50}}\n'


def test_call_describes_and_saves_an_image(toolbox: Place) -> None:
    assert toolbox.run("call", "toolbox.draw").out == "[image (image/png), 70 bytes; save it with --output PATH]\n"
    ended = toolbox.run("call", "toolbox.draw", "--output", "dot.png", "--json")
    assert ended.err == "dot.png: 70 bytes saved\n"
    saved = (toolbox.folder / "dot.png").read_bytes()
    assert saved == base64.b64decode(ended.json["content"][0]["data"])
    ended = toolbox.run("call", "toolbox.echo", "text=a", "--output", "text")
    assert (ended.out, (toolbox.folder / "text").read_text()) == ("", '{"text": "a"}')


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ("toolbox.fail", ["the disk is full"]),
        ("toolbox.refuse", ["Backend MCP server error: it will not"]),
        ("toolbox.eco", ["Tool not found: toolbox.eco", "did you mean toolbox.echo"]),
        ("dying.thing", ["'dying' is not running", "no licence found", "search-mcp check"]),
    ],
)
def test_call_that_fails(toolbox: Place, tool: str, words: list[str]) -> None:
    assert is_one_sentence(toolbox.run("call", tool), 1, *words)


@pytest.mark.parametrize("words", [["call", "far.tool"], ["describe", "far.tool"]])
def test_a_tool_of_a_server_that_cannot_be_run(configured: Configured, words: list[str]) -> None:
    why = "cannot be started: WebSocket servers are not supported; use its https address\n"
    place = configured(far={"url": "wss://example.com/mcp"})
    ended = place.run(*words)
    assert (ended.code, ended.err) == (1, f"error: MCP server 'far' {why}")
    place.configure({"far": {"url": "wss://example.com/mcp", "enabled": False}})
    ended = place.run(*words)
    assert (ended.code, ended.err) == (1, f"error: MCP server 'far' is disabled, and {why}")


@pytest.mark.parametrize("command", ["call", "describe"])
def test_a_tool_that_is_switched_off(place: Place, command: str) -> None:
    place.configure({"box": server("toolbox", tools={"deny": ["echo"]})})
    remedy = "`search-mcp enable box.echo` switches it on"
    assert is_one_sentence(place.run(command, "box.echo"), 1, "box.echo is switched off in the config file", remedy)


def test_call_that_fails_for_a_program(toolbox: Place) -> None:
    ended = toolbox.run("call", "toolbox.fail", "--json")
    assert (ended.code, ended.json["isError"], ended.err) == (1, True, "")
    ended = toolbox.run("call", "toolbox.eco", "--json")
    assert (ended.code, ended.json["error"]["code"]) == (1, -32602)
    assert "toolbox.echo" in ended.json["error"]["data"]["suggestions"]


def test_call_of_a_real_server(configured: Configured, time_server: dict[str, Any]) -> None:
    place = configured(time=time_server)
    ended = place.run("call", "time.get_current_time", "timezone=Asia/Tokyo")
    assert (ended.code, ended.json["timezone"]) == (0, "Asia/Tokyo")
    ended = place.run("call", "time.get_current_time", "timezone=Nowhere")
    assert (ended.code, ended.out) == (1, "")
    assert "Nowhere" in ended.err


# Hostile output and secrets


@pytest.mark.parametrize(
    "words",
    [
        ["check"],
        ["check", "--json"],
        ["list"],
        ["list", "--json", "--debug"],
        ["describe", "dirty.wash"],
        ["call", "dirty.wash"],
        ["call", "dirty.wash", "--json"],
        ["call", "dirty.\x1b[31mwash"],
    ],
)
def test_servers_cannot_write_to_the_terminal(configured: Configured, words: list[str]) -> None:
    ended = configured(dirty=server("dirty"), dead=server("dirty", "dies")).run(*words)
    said = ended.out + ended.err
    assert said
    assert "Traceback" not in said
    assert not [character for character in said if character < " " and character not in "\t\n"]
    assert not {*map(chr, range(0x7F, 0xA0)), "\u202e"} & {*said}
    if "--json" in words:
        assert ended.json


def test_json_keeps_its_meaning_without_control_characters(configured: Configured) -> None:
    ended = configured(dirty=server("dirty")).run("call", "dirty.wash", "--json")
    assert ended.json["content"][0]["text"].endswith("\u202eright\r\n\x7f \x00")


def test_a_terminal_of_another_encoding(configured: Configured) -> None:
    place = configured(toolbox=server("toolbox"))
    ended = place.run("call", "toolbox.echo", "text=é日本", "--json", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert ended.code == 0
    assert "\\u65e5" in ended.out
    config = place.config
    config.write_text(config.read_text().replace("toolbox", "日本"))
    ended = place.run("check", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert "Traceback" not in ended.err
    assert "??" in ended.out


def test_a_reader_that_closes_the_pipe_early(configured: Configured) -> None:
    place = configured(toolbox=server("toolbox"))
    with subprocess.Popen(
        [*COMMAND, "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=place.folder, env=place.variables
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        process.wait(SECONDS)


@pytest.mark.skipif(sys.platform == "win32", reason="closed by the shell of POSIX")
@pytest.mark.parametrize(
    ("words", "streams", "code", "is_heard"),
    [
        (["call", "toolbox.echo", "text=x"], "<&-", 0, True),
        (["call", "toolbox.echo", "-"], "<&-", 2, False),
        (["call", "toolbox.echo", "text=x"], ">&-", 0, False),
        (["call", "toolbox.echo", "text=x", "--debug"], "2>&-", 0, True),
        (["call", "toolbox.ecco"], "2>&-", 1, False),
        (["call", "toolbox.echo", "text=x"], "<&- >&- 2>&-", 0, False),
        (["--help"], ">&-", 0, False),
        (["--nonsense"], "2>&-", 2, False),
    ],
)
def test_commands_run_with_a_closed_stream(
    configured: Configured, words: list[str], streams: str, code: int, is_heard: bool
) -> None:
    place = configured(toolbox=server("toolbox"))
    ended = place.run(*words, command=("/bin/sh", "-c", f'exec "$@" {streams}', "sh", *COMMAND))
    assert ended.code == code
    assert "bug" not in ended.err
    assert bool(ended.out) is is_heard


def test_serve_loads_no_module_of_the_commands(place: Place) -> None:
    script = "import sys; from search_mcp.__main__ import main; main(['serve', '--config', 'nowhere.json'])"
    check = f"{script}; sys.exit(str({{'typer', 'rich', 'search_mcp.cli'}} & sys.modules.keys()))"
    ended = place.run(command=(sys.executable, "-c", check))
    assert ended.err.splitlines()[-1] == "set()"


def test_a_bug_is_reported_in_a_sentence(place: Place) -> None:
    place.configure({})
    break_it = "import search_mcp.cli.checks.checkup as c; c.examine = None"
    run = "import sys; from search_mcp.cli import main; sys.exit(main(sys.argv[1:]))"
    command = (sys.executable, "-c", f"{break_it}; {run}")
    assert is_one_sentence(place.run("check", command=command), 1, "this is a bug", "--debug")
    assert "Traceback" in place.run("check", "--debug", command=command).err


@pytest.mark.skipif(sys.platform == "win32", reason="has no such pipes in folders")
def test_no_command_waits_for_a_pipe_in_the_place_of_a_file(configured: Configured) -> None:
    place = configured(toolbox=server("toolbox"))
    log(place, "toolbox").write_text("a line\n")
    every = [["list"], ["check"], ["call", "toolbox.echo", "text=a"], ["logs"]]
    codes = [place.run(*words).code for words in every]
    for folder in (place.variables[name] for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")):
        for path in [path for path in Path(folder).rglob("*") if path.is_file()]:
            path.unlink()
            os.mkfifo(path)
    ended = [place.run(*words) for words in every]
    assert [each.code for each in ended] == codes
    assert "Traceback" not in "".join(each.err for each in ended)


@pytest.mark.parametrize("command", ["check", "servers", "list"])
def test_the_commands_that_a_note_about_failures_names_are_about_the_same_file(place: Place, command: str) -> None:
    file = place.folder / "other file.json"
    fails = {"command": sys.executable, "args": ["-c", "1"]}
    file.write_text(json.dumps({"mcpServers": {"a": fails, "b": fails}}))
    place.run("check", "--config", str(file))
    ended = place.run(command, "--config", str(file))
    named = re.findall("`(search-mcp [^`]*)`", ended.out + ended.err)
    assert named
    assert all(each.endswith(f" --config '{file}'") for each in named)
