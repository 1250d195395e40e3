"""Files of clients on a machine, and the servers in them."""

import json
from pathlib import Path

import pytest

from search_mcp.clients import document, found
from search_mcp.clients.known import BY_NAME, PASTED, Machine
from search_mcp.model.errors import ConfigError


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine("linux", str(tmp_path), {})


def make(machine: Machine, *names: str) -> list[Path]:
    paths = [Path(machine.home, name) for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return paths


def test_a_client_that_is_not_installed(machine: Machine) -> None:
    for client in BY_NAME.values():
        assert found.files(client, machine) == []
        assert found.targets(client, machine) == []
    assert found.usual_file(BY_NAME["cursor"], machine) == Path(machine.home, ".cursor", "mcp.json")


def test_an_installed_client_without_a_file(machine: Machine) -> None:
    Path(machine.home, ".cursor").mkdir()
    assert found.files(BY_NAME["cursor"], machine) == []
    assert found.targets(BY_NAME["cursor"], machine) == [Path(machine.home, ".cursor", "mcp.json")]


def test_all_files_of_a_folder_are_read_and_one_is_written(machine: Machine) -> None:
    paths = make(machine, ".config/opencode/opencode.jsonc", ".config/opencode/config.json")
    assert found.files(BY_NAME["opencode"], machine) == paths
    assert found.targets(BY_NAME["opencode"], machine) == paths[:1]


def test_every_folder_is_written(machine: Machine) -> None:
    paths = make(machine, ".config/Code/User/mcp.json", ".config/Code - Insiders/User/mcp.json")
    assert found.targets(BY_NAME["vscode"], machine) == paths


def test_packages_of_windows(machine: Machine) -> None:
    class Packaged(Machine):
        """A machine of this platform with the folders of a packaged app."""

        def _folders(self) -> dict[str, str]:
            return {"support": f"{self.home}/Roaming", "packages": f"{self.home}/[x]"}

    packaged = Packaged("linux", machine.home, {})
    name = "Claude_abc/LocalCache/Roaming/Claude/claude_desktop_config.json"
    [path] = make(machine, f"[x]/{name}")
    assert found.files(BY_NAME["claude-desktop"], packaged) == [path]


OWNERS = [
    (".cursor/mcp.json", "cursor"),
    ("project/.vscode/mcp.json", "vscode"),
    ("project/.mcp.json", "claude-code"),
    ("project/.gemini/settings.json", "gemini-cli"),
    ("project/mcp.json", ""),
]


@pytest.mark.parametrize(("name", "client"), OWNERS)
def test_the_client_of_a_file_by_its_name(machine: Machine, name: str, client: str) -> None:
    [path] = make(machine, name)
    assert found.owner(path, machine).name == client


READERS: list[tuple[dict[str, object], str]] = [
    ({"mcpServers": {}}, ""),
    ({"servers": {}}, "vscode"),
    ({"context_servers": {}}, "zed"),
    ({"mcp": {}}, "opencode"),
    ({}, ""),
]


@pytest.mark.parametrize(("value", "client"), READERS)
def test_the_client_of_a_file_by_its_content(value: object, client: str) -> None:
    file = document.read(json.dumps(value).encode(), "jsonc", "f")
    assert found.reader(file, PASTED).name == client
    assert found.reader(file, BY_NAME["cline"]).name == "cline"


def test_the_servers_of_claude_codes_projects(tmp_path: Path) -> None:
    (tmp_path / "server.py").touch()
    inside, outside = {"command": "python", "args": ["server.py"]}, {"command": "npx", "args": ["x"]}
    value = {
        "mcpServers": {"a": outside},
        "projects": {str(tmp_path): {"mcpServers": {"b": inside, "c": outside}}, "/gone": {"history": []}},
    }
    servers = list(found.servers(document.read(json.dumps(value).encode(), "json", "f"), BY_NAME["claude-code"]))
    entries = {server.name: server.translation.entry for server in servers if server.translation is not None}
    assert entries == {"a": outside, "b": {**inside, "cwd": str(tmp_path)}, "c": outside}
    assert [server.path[:-1] for server in servers[:2]] == [("mcpServers",), ("projects", str(tmp_path), "mcpServers")]


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        (
            {"mcp": {"servers": {"a": {"type": "local", "command": ["x"]}}, "timeout": 5}},
            [("mcp", "timeout"), ("mcp", "servers", "a")],
        ),
        ({"mcp": {"servers": {"type": "local", "command": ["x"]}}}, [("mcp", "servers")]),
    ],
)
def test_both_versions_of_opencodes_file(value: object, paths: list[tuple[str, ...]]) -> None:
    servers = found.servers(document.read(json.dumps(value).encode(), "json", "f"), BY_NAME["opencode"])
    assert [server.path for server in servers] == paths


PROJECTS = [
    (".mcp.json", "claude-code", "."),
    ("project/.mcp.json", "claude-code", "project"),
    ("project/.cursor/mcp.json", "cursor", "project"),
    ("project/.vscode/mcp.json", "vscode", "project"),
    (".cursor/mcp.json", "cursor", None),
    (".codex/config.toml", "codex", None),
    (".lmstudio/mcp.json", "lm-studio", None),
    ("project/mcp.json", "cursor", None),
]


@pytest.mark.parametrize(("name", "client", "project"), PROJECTS)
def test_the_client_and_project_of_a_file(machine: Machine, name: str, client: str, project: str | None) -> None:
    [path] = make(machine, name)
    folder = str((Path(machine.home) / project).resolve()) if project is not None else None
    assert found.project_of(path, BY_NAME[client], machine) == folder


STARTS: list[tuple[dict[str, object], str | None]] = [
    # an entry, and its folder below the project
    ({"command": "python", "args": ["there/server.py"]}, ""),
    ({"command": "python", "args": ["./dist/yet_to_be_built.py"]}, ""),
    ({"command": "..\\yet_to_be_built.exe"}, ""),
    ({"command": "server", "args": ["."]}, ""),
    ({"command": "python", "args": ["server.py"], "cwd": "there"}, "there"),
    ({"command": "./server", "cwd": "${workspaceFolder}/there"}, None),
    ({"command": "npx", "args": ["-y", "@scope/pkg", "", "a\0b"]}, None),
    ({"command": "~/server"}, None),
    ({"url": "https://x"}, None),
]


@pytest.mark.parametrize(("entry", "inside"), STARTS)
def test_where_a_projects_server_is_started(tmp_path: Path, entry: dict[str, object], inside: str | None) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "server.py").touch()
    file = document.read(json.dumps({"servers": {"a": entry}}).encode(), "jsonc", "f")
    [server] = found.servers(file, BY_NAME["vscode"], str(tmp_path))
    assert server.raw == entry
    assert server.translation is not None
    expected = entry.get("cwd") if inside is None else str(tmp_path / inside)
    assert server.translation.entry.get("cwd") == expected


ENTRY = {"command": "npx", "args": ["x"]}
GIVEN = [
    # pasted, name, servers
    ({"mcpServers": {"a": ENTRY, "b": ENTRY}}, None, ["a", "b"]),
    ({"servers": {"a": ENTRY}}, None, ["a"]),
    ({"mcp": {"servers": {"a": ENTRY}}}, None, ["a"]),
    ({"mcp": {"a": {"type": "local", "command": ["npx", "x"]}}}, None, ["a"]),
    ({"a": ENTRY, "b": ENTRY}, None, ["a", "b"]),
    ({"a": ENTRY}, "mine", ["mine"]),
    ({"name": "a", **ENTRY}, None, ["a"]),
    (ENTRY, "mine", ["mine"]),
    (ENTRY, None, [""]),
]


@pytest.mark.parametrize(("value", "name", "names"), GIVEN)
def test_pasted(value: object, name: str | None, names: list[str]) -> None:
    servers = found.pasted(json.dumps(value), name)
    assert [server.name for server in servers] == names
    assert all(server.translation is not None and server.translation.entry == ENTRY for server in servers)


def test_pasted_without_braces() -> None:
    [server] = found.pasted(' "a": {"command": "npx", "args": ["x"]}, // the rest\n', None)
    assert server.name == "a"


WRONG = [
    ("{", None, "--json:1: not valid JSON"),
    ("[]", None, "--json: the file must hold one object"),
    (
        '{"mcpServers": {"a": {}, "b": {}}}',
        "c",
        "--json: it holds 2 servers, which cannot all be c; leave the name out",
    ),
]


@pytest.mark.parametrize(("text", "name", "complaint"), WRONG)
def test_pasted_wrongly(text: str, name: str | None, complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        found.pasted(text, name)
    assert str(caught.value).startswith(complaint)
