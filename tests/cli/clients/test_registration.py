"""`import`, `install`, `uninstall` with files as real clients write them."""

import json
import shutil
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import TextContent

from cli.conftest import COMMAND, SECONDS, Place, server
from cli.test_commands import is_one_sentence
from search_mcp.catalog.profiles import BY_NAME
from search_mcp.clients import document
from search_mcp.clients.document import Format

CLAUDE = """\
{
  "mcpServers": {
    "time": {
      "command": "uvx",
      "args": ["mcp-server-time"],
      "env": {"TOKEN": "s3cret-value"}
    },
    "files": {"command": "npx", "args": ["-y", "files", "/a"]}
  },
  "theme": "dark"
}
"""
CURSOR = """\
{
  // the remote one
  "mcpServers": {
    "linear": {"url": "https://mcp.linear.app/sse", "headers": {"A": "s3cret-header"}}, // mine
    "clock": {"command": "uvx", "args": ["mcp-server-time"], "env": {"TOKEN": "s3cret-value"}},
    "here": {"command": "npx", "args": ["${workspaceFolder}"]},
  },
}
"""
CODEX = """\
model = "gpt" # mine

[mcp_servers.files] # other files
command = "npx"
args = ["-y", "files", "/b"]
enabled = false

# the rest
[tui]
theme = "dark"
"""
GOOSE = """\
GOOSE_MODEL: gpt
extensions:
  developer:
    type: builtin
    enabled: true
  # the web
  fetch:
    type: stdio
    cmd: uvx
    args:
    - mcp-server-fetch
    enabled: true
GOOSE_MODE: auto
"""
FILES = {
    "claude-desktop": ("XDG_CONFIG_HOME/Claude/claude_desktop_config.json", CLAUDE),
    "cursor": (".cursor/mcp.json", CURSOR),
    "codex": (".codex/config.toml", CODEX),
    "goose": ("XDG_CONFIG_HOME/goose/config.yaml", GOOSE),
}
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the clients' files are where Linux has them")
pytestmark = ON_LINUX


@pytest.fixture
def home(place: Place) -> Place:
    """A place with four clients."""
    for name, text in FILES.values():
        path = place.folder / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return place


def path_of(place: Place, client: str) -> Path:
    return place.folder / FILES[client][0]


def texts(place: Place) -> dict[str, str]:
    return {client: path_of(place, client).read_text() for client in FILES}


UNTOUCHED = {client: text for client, (_, text) in FILES.items()}


def own_path(place: Place) -> Path:
    return Path(place.variables["XDG_CONFIG_HOME"], "search-mcp", "mcp-servers.json")


def own_servers(place: Place) -> dict[str, Any]:
    servers: dict[str, Any] = json.loads(own_path(place).read_text())["mcpServers"]
    return servers


# import


IMPORTED = {
    "time": {"command": "uvx", "args": ["mcp-server-time"], "env": {"TOKEN": "s3cret-value"}},
    "files": {"command": "npx", "args": ["-y", "files", "/a"]},
    "linear": {"url": "https://mcp.linear.app/sse", "headers": {"A": "s3cret-header"}},
    "here": {"command": "npx", "args": ["${workspaceFolder}"]},
    "files-2": {"command": "npx", "args": ["-y", "files", "/b"], "enabled": False},
    "fetch": {"command": "uvx", "args": ["mcp-server-fetch"]},
}


def test_import_copies_the_servers_of_all_clients(home: Place) -> None:
    ended = home.run("import", "--no-start")
    assert ended.code == 0, ended.err
    assert own_servers(home) == IMPORTED
    assert texts(home) == UNTOUCHED
    shown, _, table = ended.out.partition("\n\n")
    assert "files-2\n  " in shown
    rows = [row.split(maxsplit=1) for row in table.splitlines()]
    assert rows == [
        ["Server", "From            Result"],
        ["time", "Claude Desktop  added"],
        ["files", "Claude Desktop  added"],
        ["linear", "Cursor          added"],
        ["clock", "Cursor          already there as time"],
        ["here", "Cursor          added"],
        ["files", "Codex           added as files-2, disabled"],
        ["developer", "goose           skipped: it has neither a command nor a url"],
        ["fetch", "goose           added"],
    ]
    assert ended.err.endswith(f"Saved in {own_path(home)}.\nNext: search-mcp check\n")
    assert "here: ${workspaceFolder} depends on the client's open window" in ended.err
    assert "s3cret" not in ended.out + ended.err
    assert home.run("list", "nothing").code == 2  # the file can be read


def test_import_twice_changes_nothing(home: Place) -> None:
    home.run("import", "--no-start")
    text = own_path(home).read_text()
    ended = home.run("import", "--no-start", "--json")
    assert {each["result"] for each in ended.json["servers"]} == {"present", "skipped"}
    assert ended.json["difference"] == ""
    assert own_path(home).read_text() == text


def test_import_without_writing(home: Place) -> None:
    ended = home.run("import", "--no-start", "--dry-run")
    assert ended.code == 0
    assert ["time", "Claude Desktop  would add"] in [row.split(maxsplit=1) for row in ended.out.splitlines()]
    assert ended.out.count("https://mcp.linear.app/sse") == 1
    assert "s3cret" not in ended.out + ended.err
    shown = home.run("import", "--no-start", "--dry-run", "--json").json
    assert shown["config"] == str(own_path(home))
    assert '+      "url": "https://mcp.linear.app/sse",\n' in shown["difference"]
    assert "s3cret" not in json.dumps(shown)
    assert not own_path(home).exists()


def test_import_some(home: Place) -> None:
    project = home.folder / "project" / ".vscode" / "mcp.json"
    project.parent.mkdir(parents=True)
    project.write_text('{"servers": {"a": {"type": "stdio", "command": "${userHome}/a", "env": {"K": "${input:k}"}}}}')
    ended = home.run("import", "--no-start", "codex", str(project), "--json")
    assert ended.code == 0
    assert [(each["client"], each["as"]) for each in ended.json["servers"]] == [("codex", "files"), ("vscode", "a")]
    assert own_servers(home)["a"] == {"command": "${home}/a", "env": {"K": "${K}"}}


def test_import_starts_a_projects_servers_in_the_project(home: Place) -> None:
    entry, elsewhere = {"command": "python", "args": ["./dist/server.py"]}, {"command": "npx", "args": ["x"]}
    roots = {"one/.cursor/mcp.json": "mcpServers", "two/.vscode/mcp.json": "servers", "three/.mcp.json": "mcpServers"}
    for name, root in roots.items():
        path = home.folder / name
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({root: {"a": entry, "npx": elsewhere}}))
    ended = home.run("import", "--no-start", *roots, "--json")
    assert [each["as"] for each in ended.json["servers"]] == ["a", "npx", "a-2", "npx", "a-3", "npx"]
    assert own_servers(home) == {
        "a": {**entry, "cwd": str((home.folder / "one").resolve())},
        "npx": elsewhere,
        "a-2": {**entry, "cwd": str((home.folder / "two").resolve())},
        "a-3": {**entry, "cwd": str((home.folder / "three").resolve())},
    }


def test_import_enables_servers_that_are_enabled_in_a_client(home: Place) -> None:
    for name, disabled in (("one", True), ("two", False)):
        entry = {"command": "x", "disabled": disabled}
        (home.folder / f"{name}.json").write_text(json.dumps({"mcpServers": {name: entry}}))
    assert home.run("import", "--no-start", "one.json").code == 0
    assert own_servers(home) == {"one": {"command": "x", "enabled": False}}
    ended = home.run("import", "--no-start", "two.json", "--dry-run")
    assert "would enable as one" in ended.out
    ended = home.run("import", "--no-start", "two.json")
    assert ended.out.startswith("one\n  x\n")
    assert "enabled as one" in ended.out
    assert own_servers(home) == {"one": {"command": "x", "enabled": True}}


def test_import_keeps_existing_servers(home: Place) -> None:
    home.configure({"files": server("toolbox")})
    assert home.run("import", "--no-start", "claude-desktop").code == 0
    servers = json.loads((home.config).read_text())["mcpServers"]
    assert [*servers] == ["files", "time", "files-2"]


def test_an_invalid_file_of_one_client_does_not_affect_the_others(home: Place) -> None:
    broken = path_of(home, "cursor")
    broken.write_text('{"mcpServers": {\n  "a": }\n}')
    ended = home.run("import", "--no-start")
    assert ended.code == 1
    assert any(line.startswith(f"error: {broken}:2: not valid JSON") for line in ended.err.splitlines())
    assert {*own_servers(home)} == {"time", "files", "files-2", "fetch"}


def test_import_without_servers(place: Place) -> None:
    ended = place.run("import", "--no-start")
    assert (ended.code, ended.out) == (0, "")
    assert "No servers to import" in ended.err
    assert not own_path(place).exists()


MISUSES = [
    (["import", "cursr"], ["there is no client and no file 'cursr'", "did you mean cursor?"]),
    (["import", "zed"], ["zed has no servers: there is no", "settings.json"]),
    (["install"], ["either name clients or use --all-found", "lm-studio"]),
    (["install", "cursor", "--all-found"], ["either name clients or use --all-found"]),
    (["install", "clod"], ["there is no client 'clod'"]),
    (["uninstall", "cursr"], ["did you mean cursor?"]),
]


@pytest.mark.parametrize(("words", "complaint"), MISUSES)
def test_misuse(home: Place, words: list[str], complaint: list[str]) -> None:
    assert is_one_sentence(home.run(*words), 2, *complaint)
    assert texts(home) == UNTOUCHED


def test_the_own_file_is_not_imported(place: Place) -> None:
    place.configure({})
    assert is_one_sentence(place.run("import", "--no-start", str(place.config)), 2, "name another file")


# install and uninstall


def test_install_and_uninstall_leave_no_trace(home: Place) -> None:
    ended = home.run("install", "--no-start", "--all-found")
    assert ended.code == 0, ended.err
    assert [row.split()[-2] for row in ended.out.splitlines()[1:]] == ["added"] * 4
    for step in (
        "Claude Desktop: restart it (quit it from the tray, too).",
        "in Cursor's settings",
        "start a new session",
    ):
        assert step in ended.err
    for client, text in UNTOUCHED.items():
        assert path_of(home, client).with_name(f"{path_of(home, client).name}.search-mcp.bak").read_text() == text
    installed = texts(home)
    assert json.loads(own_path(home).read_text()) == {"mcpServers": {}}

    again = home.run("install", "--no-start", "--all-found", "--json")
    assert [(each["client"], each["result"]) for each in again.json["clients"]] == [
        ("claude-desktop", "present"),
        ("cursor", "present"),
        ("codex", "present"),
        ("goose", "present"),
    ]
    assert texts(home) == installed

    ended = home.run("uninstall", "--all-found", "--json")
    assert {each["result"] for each in ended.json["clients"]} == {"removed"}
    assert texts(home) == UNTOUCHED
    ended = home.run("uninstall", "--all-found", "--json")
    assert {each["result"] for each in ended.json["clients"]} == {"absent"}


@pytest.mark.parametrize("client", ["claude-desktop", "codex", "goose"])
def test_uninstall_removes_a_file_that_install_made(place: Place, client: str) -> None:
    place.configure({"x": server("toolbox"), "y": server("toolbox")})
    before = {each for each in place.folder.rglob("*") if each.is_file()}
    for servers in ("*", "-x"):  # the second edit makes a backup of the first
        assert place.run("install", "--no-start", client, "--servers", servers).code == 0
    assert place.run("uninstall", client).code == 0
    left = [each for each in place.folder.rglob("*") if each.is_file() and each not in before]
    assert [each.name for each in left] == ["edits.lock"]


def test_uninstall_leaves_a_file_that_was_there_before_install(place: Place) -> None:
    path = place.folder / ".cursor" / "mcp.json"
    path.parent.mkdir()
    for text in ("{}", '{"mcpServers": {}}'):
        path.write_text(text)
        assert place.run("install", "--no-start", "cursor").code == 0
        assert place.run("uninstall", "cursor").code == 0
        assert json.loads(path.read_text()).get("mcpServers", {}) == {}


def test_install_without_writing(home: Place) -> None:
    ended = home.run("install", "--no-start", "--all-found", "--replace", "--dry-run")
    assert ended.code == 0
    for line in ('+        "claude-desktop",', "-[mcp_servers.files] # other files", "+  search-mcp:"):
        assert line in ended.out.splitlines()
    assert "s3cret" not in ended.out + ended.err
    assert texts(home) == UNTOUCHED
    assert not own_path(home).exists()


def test_install_brings_an_old_entry_up_to_date(home: Place) -> None:
    path = path_of(home, "claude-desktop")
    path.write_text('{"mcpServers": {"mine": {"command": "search-mcp", "args": [], "env": {"A": "b"}}}}')
    ended = home.run("install", "--no-start", "claude-desktop", "--json")
    assert ended.json["clients"][0]["result"] == "updated"
    [entry] = json.loads(path.read_text())["mcpServers"].values()
    assert entry == {
        "command": sys.executable,
        "args": ["-P", "-m", "search_mcp", "--client", "claude-desktop", "--config", str(own_path(home))],
        "env": {"A": "b"},
    }


def test_replace_moves_the_other_servers_and_uninstall_restores_them(home: Place) -> None:
    ended = home.run("install", "--no-start", "--all-found", "--replace")
    assert ended.code == 0, ended.err
    assert "Claude Desktop: 2 servers moved to search-mcp: time, files.\n" in ended.err
    assert "warning: here stays in Cursor: ${workspaceFolder}" in ended.err
    assert [*json.loads(path_of(home, "claude-desktop").read_text())["mcpServers"]] == ["search-mcp"]
    assert "files" not in tomllib.loads(path_of(home, "codex").read_text())["mcp_servers"]
    assert "// mine" not in path_of(home, "cursor").read_text()  # the comment of a moved server
    assert own_servers(home) == {name: IMPORTED[name] for name in ("time", "files", "linear", "files-2", "fetch")}
    assert home.run("install", "--no-start", "--all-found", "--replace").code == 0

    ended = home.run("uninstall", "--all-found")
    assert ended.code == 0
    assert texts(home) == UNTOUCHED
    assert "s3cret" not in ended.out + ended.err
    assert "Claude Desktop: restored time, files.\n" in ended.err
    assert [*home.folder.rglob("*.search-mcp.bak*")] == []
    assert own_servers(home).keys() == {"time", "files", "linear", "files-2", "fetch"}  # other clients may use them


def test_replace_in_a_client_that_has_search_mcp_is_an_update(home: Place) -> None:
    assert home.run("install", "--no-start", "claude-desktop").code == 0
    ended = home.run("install", "--no-start", "claude-desktop", "--replace")
    assert "moved to search-mcp" in ended.err
    assert "already installed" not in ended.out
    assert "updated" in ended.out
    assert "already installed" in home.run("install", "--no-start", "claude-desktop", "--replace").out


def test_replace_keeps_enabled_servers_enabled(home: Place) -> None:
    fetch = {"command": "uvx", "args": ["mcp-server-fetch"]}
    home.configure({"web": {**fetch, "enabled": False}})
    ended = home.run("install", "--no-start", "goose", "--replace")
    assert ended.code == 0
    assert "warning: fetch: it was in the config file, called web, but disabled; it is now enabled" in ended.err
    config = json.loads((home.config).read_text())
    assert config["mcpServers"] == {"web": {**fetch, "enabled": True}}
    assert home.run("uninstall", "goose").code == 0
    assert texts(home) == UNTOUCHED


def test_a_secret_that_was_moved_out_does_not_come_back(home: Place) -> None:
    time = {"command": "uvx", "args": ["mcp-server-time"], "env": {"TOKEN": "${file:~/token}"}}
    remote = {"url": "https://mcp.linear.app/sse", "headers": {"A": "another-header"}}
    home.configure({"time": time, "linear": remote})
    ended = home.run("install", "--no-start", "claude-desktop", "cursor", "--replace")
    assert ended.code == 0
    servers = json.loads(home.config.read_text())["mcpServers"]
    assert servers == {"time": time, "linear": remote, "files": IMPORTED["files"], "clock": IMPORTED["time"]}
    assert "warning: linear: kept yours; it differs from Cursor's in A\n" in ended.err


def test_moved_servers_are_restored_into_an_edited_file(home: Place) -> None:
    path = path_of(home, "claude-desktop")
    home.run("install", "--no-start", "claude-desktop", "--replace")
    path.write_text(
        path.read_text()
        .replace('"dark"', '"light"')
        .replace('"mcpServers": {', '"mcpServers": {"files": {"command": "new"},')
    )
    ended = home.run("uninstall", "claude-desktop", "--json")
    assert ended.json["clients"][0]["moved"] == ["time"]
    assert ended.json["clients"][0]["warnings"] == ["files is not restored: another server is called files now"]
    value = json.loads(path.read_text())
    assert value["theme"] == "light"
    assert value["mcpServers"] == {"files": {"command": "new"}, "time": IMPORTED["time"]}


EDITED = {
    "claude-desktop": ('"theme": "dark"', '"theme": "light"'),
    "cursor": ("{\n  // the remote one", '{\n  "theme": "light",\n  // the remote one'),
    "codex": ('theme = "dark"', 'theme = "light"'),
    "goose": ("GOOSE_MODE: auto", "GOOSE_MODE: light"),
}
MOVED_TEXTS = {
    "claude-desktop": [CLAUDE[CLAUDE.index('    "time"') : CLAUDE.index(',\n    "files"')]],
    "cursor": [*CURSOR.splitlines()[3:5]],
    "codex": [CODEX[CODEX.index("[mcp_servers.files] # other files") : CODEX.index("\n# the rest")]],
    "goose": [GOOSE[GOOSE.index("  # the web") : GOOSE.index("GOOSE_MODE")]],
}


def test_moved_servers_are_restored_with_their_text_and_the_backups_removed(home: Place) -> None:
    assert home.run("install", "--no-start", "--all-found", "--replace").code == 0
    for client, (old, new) in EDITED.items():
        path = path_of(home, client)
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
    ended = home.run("uninstall", "--all-found")
    assert ended.code == 0, ended.err
    for client, text in UNTOUCHED.items():
        path = path_of(home, client)
        for moved in MOVED_TEXTS[client]:
            assert moved in path.read_text()
        assert EDITED[client][1] in path.read_text()
        backup = path.with_name(f"{path.name}.search-mcp.bak")
        assert not backup.exists(), text
    assert "previous version" not in ended.err


def test_a_named_client_counts_as_installed(place: Place) -> None:
    assert (
        place.run("install", "--no-start", "--all-found").err
        == "Nothing to do: no configuration file of these clients was found.\n"
    )
    ended = place.run("install", "--no-start", "zed", "lm-studio", "--json")
    assert [each["result"] for each in ended.json["clients"]] == ["added", "added"]
    assert f"warning: Zed was not found on this machine (no {place.folder}" in ended.err
    assert json.loads((place.folder / ".lmstudio" / "mcp.json").read_text())["mcpServers"].keys() == {"search-mcp"}


def test_a_malformed_file_is_not_touched(home: Place) -> None:
    path_of(home, "codex").write_text("model = \n")
    ended = home.run("install", "--no-start", "codex", "cursor")
    assert ended.code == 1
    complaint = ended.err.splitlines()[-1]
    assert complaint.startswith(f"error: {path_of(home, 'codex')}:1: not valid TOML: ")
    assert complaint.endswith("; correct that line")
    assert path_of(home, "codex").read_text() == "model = \n"
    assert "search-mcp" in path_of(home, "cursor").read_text()


def test_variables_of_the_configuration_are_named_to_codex(home: Place) -> None:
    home.configure({"a": {"command": "x", "env": {"K": "${MY_TOKEN}"}}})
    home.run("install", "--no-start", "codex")
    entry = tomllib.loads(path_of(home, "codex").read_text())["mcp_servers"]["search-mcp"]
    assert entry["env_vars"] == ["MY_TOKEN"]
    assert entry["args"][-1] == str(home.config)


def test_a_linked_file_stays_a_link(home: Place) -> None:
    path = path_of(home, "cursor")
    target = home.folder / "dotfiles.json"
    shutil.move(path, target)
    path.symlink_to(target)
    assert home.run("install", "--no-start", "cursor").code == 0
    assert path.is_symlink()
    assert "search-mcp" in target.read_text()


# Starting the written entry


SHAPES: dict[str, tuple[str, Format]] = {
    "claude-desktop": ("XDG_CONFIG_HOME/Claude/claude_desktop_config.json", "json"),
    "codex": (".codex/config.toml", "toml"),
    "opencode": ("XDG_CONFIG_HOME/opencode/opencode.json", "jsonc"),
    "goose": ("XDG_CONFIG_HOME/goose/config.yaml", "yaml"),
}
ROOTS = {"claude-desktop": "mcpServers", "codex": "mcp_servers", "opencode": "mcp", "goose": "extensions"}
SCRIPT = shutil.which("search-mcp", path=str(Path(sys.executable).parent))


def started(entry: Mapping[str, Any]) -> list[str]:
    command = entry.get("command") or entry["cmd"]
    return [*command] if isinstance(command, list) else [command, *entry["args"]]


@pytest.mark.parametrize(
    "command",
    [COMMAND, pytest.param((SCRIPT,), marks=pytest.mark.skipif(not SCRIPT, reason="not installed"))],
    ids=["module", "script"],
)
@pytest.mark.parametrize("client", SHAPES)
def test_a_client_can_start_the_written_entry(place: Place, client: str, command: tuple[str, ...]) -> None:
    place.configure({"toolbox": server("toolbox")})
    ended = place.run("install", "--no-start", client, command=command)
    assert ended.code == 0, ended.err
    name, format_ = SHAPES[client]
    file = document.read((place.folder / name).read_bytes(), format_, name)
    words = started(file.members((ROOTS[client],))["search-mcp"])
    assert Path(words[0]).is_absolute()
    # Like a graphical client: in another folder, with a minimal environment.
    parameters = StdioServerParameters(
        command=words[0], args=words[1:], env={"HOME": str(place.folder), "PATH": "/usr/bin:/bin"}, cwd="/"
    )

    shown = BY_NAME[client].shown_name("toolbox", "echo")

    async def conversation() -> str:
        with anyio.fail_after(SECONDS):
            async with Client(stdio_client(parameters)) as session:
                while shown not in [tool.name for tool in (await session.list_tools()).tools]:
                    pass  # servers that are too slow are missing in the answer
                [content] = (await session.call_tool(shown, {"text": "hello"})).content
        assert isinstance(content, TextContent)
        return content.text

    assert json.loads(anyio.run(conversation)) == {"text": "hello"}
