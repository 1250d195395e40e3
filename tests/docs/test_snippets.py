"""Every command and every snippet of the pages, unchanged."""

import json
import re
import sys
from pathlib import Path

import first_list
import pytest
from checkout import ROOT
from fork_server import ForkServer
from real import packages

from docs.pages import DOCS, PAGES, Reader, blocks, commands, text
from search_mcp.clients.known import CLIENTS
from search_mcp.config.parsing import parse

TAGS = ["work"]
SERVERS: dict[str, dict[str, object]] = {
    name: {"command": "${python}", "args": ["-m", f"mcp_server_{name}"], "tags": TAGS} for name in ("time", "git")
}
IN_CURSOR = {"notes": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]}}
ASKING = {"search-mcp config trust"}
"""Commands that ask a person at a terminal, which there is none here."""
FOLDERS = """
from search_mcp import folders
from search_mcp.config import location
print(location.places(None, {})[-1])
print(folders.log_folder())
"""


@pytest.fixture
def reader(
    tmp_path: Path, fork_server: ForkServer | None, server_fork_server: ForkServer | None, engines_to_stop: None
) -> Reader:
    """A user in a project folder, with two servers that have stderr logs, and another server in Cursor."""
    reader = Reader(tmp_path, fork_server)
    servers = SERVERS
    if server_fork_server is not None:
        lines = {name: server_fork_server.command_line(["-m", f"mcp_server_{name}"]) for name in SERVERS}
        servers = {name: {"command": line[0], "args": line[1:], "tags": TAGS} for name, line in lines.items()}
    config, logs = map(Path, reader.runs(sys.executable, "-c", FOLDERS).stdout.splitlines())
    _write(config, {"mcpServers": servers})
    _write(tmp_path / "config" / "mcp-servers.json", {"mcpServers": servers})  # of a project
    _write(tmp_path / ".cursor" / "mcp.json", {"mcpServers": IN_CURSOR})
    for name in SERVERS:
        _write(logs / f"{name}.log", "ready")
    _write(logs / "engine" / "engine.log", "ready")
    if packages.has_node():  # npx finds the server here, and installs nothing
        (tmp_path / "node_modules").symlink_to(packages.modules() / "node_modules", target_is_directory=True)
    return reader


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{json.dumps(value)}\n", "utf-8")


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)])
def test_every_command_does_what_the_page_says(page: str, reader: Reader) -> None:
    for command in commands(page):
        done = reader.types(f"{command} --yes" if command in ASKING else command)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        assert done.stdout, f"{command} prints nothing"


def test_every_client_of_the_page_can_be_registered(reader: Reader) -> None:
    names = re.findall(r"^\| [^|]* \| `([a-z-]+)` \|", text("clients.md"), re.MULTILINE)
    assert names == [client.name for client in CLIENTS]
    done = reader.types(f"search-mcp install {' '.join(names)}")
    assert [client.title for client in CLIENTS if f"{client.title} " not in done.stdout] == []
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("page", "snippet"), [(page, each) for page in PAGES for each in blocks(page, "json")])
def test_every_snippet_is_a_configuration_without_a_fault(page: str, snippet: str) -> None:
    variables = {"SSH_AUTH_SOCK": "/run/agent", **dict.fromkeys(("API_TOKEN", "ASANA_ID", "ASANA_SECRET"), "x")}
    config = parse(snippet, source=page, variables=variables, home="/h", config_dir="/c", python="/p")
    assert config.servers
    assert config.warnings == ()
    assert [server.problem for server in config.servers if server.problem] == []


def test_the_entry_for_any_other_client_serves(reader: Reader) -> None:
    (snippet,) = blocks("clients.md", "json")
    config = reader.types("search-mcp config path").stdout.strip()
    paths = {
        "/full/path/to/search-mcp": str(Path(sys.executable).with_name("search-mcp")),
        "/full/path/to/mcp-servers.json": config,
    }
    entry = json.loads(snippet)["mcpServers"]["search-mcp"]
    words = [paths.get(word, word) for word in (entry["command"], *entry["args"])]
    wanted = {"time.get_current_time", "search_tools"}
    first_list.visit(words, "any", wanted, folder=reader.home, environment=reader.environment)


@pytest.mark.parametrize("page", [*(DOCS / page for page in PAGES), ROOT / "README.md"], ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", page.read_text("utf-8")):
        path = (page.parent / target).resolve() if target else page
        assert path.is_relative_to(ROOT), target
        assert path.exists(), target
        headings = re.findall(r"^#+ (.*)", path.read_text("utf-8"), re.MULTILINE) if anchor else []
        assert not anchor or anchor in [heading.lower().replace(" ", "-") for heading in headings], anchor
