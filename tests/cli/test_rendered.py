"""Whole screens, exactly as they are printed, 80 and 140 columns wide.

After an intended change: `UPDATE_SCREENS=1 .venv/bin/pytest tests/cli/test_rendered.py`, then read the difference.
"""

import sys
import time as clock
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Place, log
from cli.snapshots import compare
from search_mcp.backends.pin_records import TOOLS, Open
from search_mcp.catalog.profiles import CANONICAL
from search_mcp.cli import overview
from search_mcp.cli.checks import report as check_report
from search_mcp.cli.checks.findings import Examination, Finding
from search_mcp.cli.checks.notes import of_read_only, of_tools, of_versions
from search_mcp.cli.clients import client_servers
from search_mcp.cli.clients import report as registration_report
from search_mcp.cli.engine import engines
from search_mcp.cli.options import Options
from search_mcp.cli.overview import Known
from search_mcp.cli.terminal import Terminal
from search_mcp.cli.tools import contents, description, listing
from search_mcp.cli.tools.contents import Contents
from search_mcp.cli.tools.description import Described, Descriptions
from search_mcp.cli.usage import usage
from search_mcp.cli.usage.report import By, summed_up
from search_mcp.clients import document, installation
from search_mcp.clients.installation import InstallResult
from search_mcp.clients.known import BY_NAME
from search_mcp.clients.storage import File
from search_mcp.config.schema import Config, ServerConfig, Settings
from search_mcp.config.subset import parse
from search_mcp.model.names import Era, Kind, State
from search_mcp.model.servers import ServerCapabilities, Status
from search_mcp.model.standing import standing_of
from search_mcp.pool.sharing import ONE_FOR_EACH
from search_mcp.wire import payload, structs

SCREENS = Path(__file__).parent / "screens"


def _ready(name: str, seconds: float, tools: int, *others: int, slow: bool = False) -> Finding:
    capabilities = ServerCapabilities("2025-11-25", Era.LEGACY, frozenset())
    counts = dict(zip(Kind, (tools, *others, *[0] * len(Kind)), strict=False))
    status = Status(name, State.READY, capabilities=capabilities, start_seconds=seconds)
    return Finding(_started(name, name), status, counts, (), None, True, seconds if slow else None)


def _other(name: str, state: State, reason: str | None = None, remedy: str | None = None) -> Finding:
    return Finding(
        _started(name, name), Status(name, state, reason), dict.fromkeys(Kind, 0), (), remedy, state is State.DISABLED
    )


def _started(name: str, line: str) -> ServerConfig:
    command, *args = line.split()
    return ServerConfig(name=name, command=command, args=tuple(args))


FOURTEEN = (
    _ready("time", 0.41, 2),
    _ready("git", 0.62, 12, 0, 0, 0, 3),
    _ready("filesystem", 1.24, 14),
    _ready("memory", 1.02, 9, 0, 1),
    _ready("everything", 1.91, 13, 4, 100, 2),
    _ready("context7", 6.53, 2, slow=True),
    _ready("playwright", 2.24, 1_021),
    _ready("postgres", 0.93, 1),
    _other(
        "github",
        State.FAILED,
        "it exited with code 125; end of its stderr: docker: Cannot connect to the Docker daemon at "
        "unix:///var/run/docker.sock. Is the docker daemon running?\n\nRun 'docker run --help' for more information",
        "to see all its output, run: docker run -i --rm ghcr.io/github/github-mcp-server",
    ),
    _other(
        "fetch",
        State.FAILED,
        "program 'uvxx' was not found on PATH; did you mean 'uvx' (it comes with uv: https://docs.astral.sh/uv)?",
    ),
    _other("sentry", State.FAILED, "it exited with code 1; end of its stderr: Traceback ...\nKeyError: 'SENTRY_TOKEN'"),
    _other("puppeteer", State.FAILED, 'it did not answer in time; raise its "startTimeoutSeconds"'),
    _other("linear", State.DISABLED, "it is disabled in the configuration"),
    _other("notion", State.DISABLED, "it is disabled in the configuration"),
)


def test_check_of_fourteen_servers(columns: int, capsys: pytest.CaptureFixture[str]) -> None:
    lines = {"filesystem": "npx -y @modelcontextprotocol/server-filesystem", "fetch": "uvx mcp-server-fetch"}
    notes = [*of_read_only({"postgres": 8, "context7": 0}), *of_versions([_started(*each) for each in lines.items()])]
    found = Examination(FOURTEEN, CANONICAL, [], notes)
    check_report.show(found, [], Path("mcp-servers.json"), Terminal(), is_detailed=False)
    text = capsys.readouterr().out
    compare(SCREENS / f"check-{columns}.txt", text)
    assert max(map(len, text.splitlines())) <= columns
    assert text.count("\n") <= 26


def test_check_of_one_server(columns: int, capsys: pytest.CaptureFixture[str]) -> None:
    found = Examination(FOURTEEN[8:9], CANONICAL, [])
    check_report.show(found, [], Path("mcp-servers.json"), Terminal(), is_detailed=True)
    compare(SCREENS / f"check-one-{columns}.txt", capsys.readouterr().out)


def test_check_of_servers_that_fail_has_no_empty_headings(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Examination(FOURTEEN[10:12], CANONICAL, [])
    for columns, told in (
        ("100", "Server     State\nsentry     failed  it exited"),
        ("30", "  State: failed\n  it exited"),
    ):
        monkeypatch.setenv("COLUMNS", columns)
        check_report.show(found, [], Path("mcp-servers.json"), Terminal(), is_detailed=False)
        assert told in capsys.readouterr().out


def test_check_reports_what_another_client_got_only_if_it_is_changed(capsys: pytest.CaptureFixture[str]) -> None:
    """A server lists some tools only to clients with roots: such a tool is no alarm for those that did not get it."""

    def told(before: bytes | None, **config: bool) -> str:
        other = Open(TOOLS, "get-roots-list", before, b'{"description":"x"}', is_of_another_client=True)
        ready = _ready("everything", 0.1, 13)
        finding = replace(ready, config=structs.replace(ready.config, **config), differences=(other,))
        found = Examination([finding], CANONICAL, [])
        check_report.show(found, [], Path("mcp-servers.json"), Terminal(), is_detailed=False)
        return " ".join(capsys.readouterr().out.split())

    assert "another client" not in told(None)
    changed = "another client got changed definitions: get-roots-list."
    assert f"{changed} Models see the new text already: `search-mcp check everything` shows" in told(b"{}")
    assert f"{changed} `search-mcp check everything` shows" in told(b"{}", pin_tools=True)


NOT_KNOWN = f'{ONE_FOR_EACH}: it is not known to keep nothing between calls; "share": true changes that'


def test_check_says_which_servers_clients_share(columns: int, capsys: pytest.CaptureFixture[str]) -> None:
    modern = ServerCapabilities("2026-07-28", Era.MODERN, frozenset())
    changes: dict[str, dict[str, Any]] = {
        "time": {
            "capabilities": modern,
            "sharing": "shared by 3 clients: it is known to keep nothing between calls, because it reads the clock",
        },
        "git": {"sharing": f'{ONE_FOR_EACH}: "share" is false'},
        "filesystem": {"sharing": NOT_KNOWN},
        "linear": {},
    }
    findings = [
        replace(each, status=structs.replace(each.status, **changes[each.status.server]))
        for each in FOURTEEN
        if each.status.server in changes
    ]
    found = Examination(findings, CANONICAL, [])
    check_report.show(found, [], Path("mcp-servers.json"), Terminal(), is_detailed=False)
    compare(SCREENS / f"check-sharing-{columns}.txt", capsys.readouterr().out)
    said = [each.as_json().get("sharing") for each in found.findings]
    assert said == [each.get("sharing") for each in changes.values()]


def _in_pool(name: str, state: str, clients: int, sharing: str = "", memory: int | None = None) -> dict[str, Any]:
    return {
        "name": name,
        "state": state,
        "word": state,
        "since": 1_795_000_060.0,
        "clients": clients,
        "pid": None if memory is None else 4300,
        "memory": memory,
        **({"sharing": sharing} if sharing else {}),
    }


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no `tzset`")
def test_engine_status(columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    clock.tzset()
    time = _in_pool("time", "ready", 2, 'shared by 2 clients: "share" is true', 33 << 20)
    search = _in_pool("search", "ready", 1, "can be shared: it is remote and has no session")
    apart = "shared by the clients with the same folder and variables"
    wiki = [_in_pool("wiki", "ready", 1, apart, 20 << 20)] * 2
    memory = [_in_pool("memory", "ready", 1, NOT_KNOWN, 40 << 20)] * 2
    slow = _in_pool("slow-to-start", "starting", 1, memory=1 << 20)
    broken = {**_in_pool("broken", "failed", 1), "reason": "it could not be started: no-such-program was not found"}
    names = {
        "claude-code": [time, memory[0], search, slow, broken, wiki[0]],
        "Visual Studio Code": [time, memory[1], slow, wiki[1]],
        "codex": [],
    }
    clients = [
        {"name": name, "pid": 4711 + len(name), "since": 1_795_000_000.0, "servers": servers}
        for name, servers in names.items()
    ]
    config = "/home/ann/.config/search-mcp/mcp-servers.json"
    engine = {"pid": 4242, "since": 1_795_000_000.0, "config": config, "memory": 24 << 20, "saved": 33 << 20}
    engines.show(
        {**engine, "clients": clients, "servers": [time, *memory, search, slow, slow, broken, *wiki]}, Terminal()
    )
    engines.show({**engine, "clients": [], "servers": [], "config": None}, Terminal())
    compare(SCREENS / f"engine-status-{columns}.txt", capsys.readouterr().out)


def test_list_with_one_long_name(columns: int, capsys: pytest.CaptureFixture[str]) -> None:
    long = f"github.{'list_repository_' * 4}issues"
    rows = [
        {"name": "time.now", "server": "time", "description": "About now", "hint": "read-only"},
        {"name": "time.convert", "server": "time", "description": "About convert"},
        *(
            {"name": name, "server": "github", "description": "List the issues of a repository, newest first " * 2}
            for name in (long, "github.get_issue", "github.search_code")
        ),
    ]
    prompts = [{"name": "time.ask", "server": "time", "description": "Ask"}]
    found = {"tools": rows, "prompts": prompts, "resources": [], "skills": SKILLS[:1]}
    contents.show(found, ["tools"], Terminal())
    compare(SCREENS / f"list-{columns}.txt", capsys.readouterr().out)


SKILLS = [
    {
        "name": "refunds",
        "uri": "skill://acme/billing/refunds/SKILL.md",
        "server": "billing",
        "description": "Handle refund requests, and tell the customer what happens next",
    },
    {"name": "today", "uri": "skill://today/SKILL.md", "server": "time", "description": "Say what is to be done today"},
]


def test_list_of_skills(columns: int, capsys: pytest.CaptureFixture[str]) -> None:
    found: Contents = {"tools": [], "prompts": [], "resources": [], "skills": SKILLS}
    contents.show(found, ["skills"], Terminal())
    compare(SCREENS / f"list-skills-{columns}.txt", capsys.readouterr().out)


def test_search_that_finds_a_skill(columns: int, capsys: pytest.CaptureFixture[str]) -> None:
    tool = {"name": "billing.refund", "server": "billing", "description": "Refund a payment", "hint": "destructive"}
    listing.show_tools(listing.Listing((tool, *SKILLS)), Terminal())
    text = capsys.readouterr().out
    compare(SCREENS / f"search-skills-{columns}.txt", text)
    assert max(map(len, text.splitlines())) <= columns


def _known(name: str, state: State, runs: str, reason: str | None = None, tools: int | None = None) -> Known:
    standing = standing_of(Status(name, state, reason, since=clock.time() - 200))
    return Known(state, standing, tools, runs)


def test_servers(columns: int, capsys: pytest.CaptureFixture[str]) -> None:
    found = [
        _known("time", State.KNOWN, "uvx mcp-server-time --local-timezone Europe/Berlin", tools=2),
        _known("filesystem", State.UNKNOWN, "npx -y @modelcontextprotocol/server-filesystem /home/ann/Documents"),
        _known("linear", State.FAILED, "npx", "a reason that is longer than the column it stands in at eighty"),
        _known("old", State.DISABLED, "docker run -i --rm old", "it is disabled in the configuration"),
    ]
    notes = [
        *of_read_only({"time": 1}),
        *of_tools([("time", "convert_time"), *(("filesystem", tool) for tool in "abcde")]),
    ]
    overview.show(found, notes, (), Path("mcp-servers.json"), Terminal())
    compare(SCREENS / f"servers-{columns}.txt", capsys.readouterr().out)


def test_logs(columns: int, place: Place) -> None:
    place.configure({name: {"command": name} for name in ("time", "git", "filesystem", "notes")})
    for name, text in {
        "time": """\
a line of an earlier version
2026-11-22T18:56:40Z --- started, pid 412 ---
2026-11-22T18:56:43Z Processing request of type ListToolsRequest
""",
        "git": """\
2026-11-22T18:56:40Z --- started, pid 413 ---
2026-11-22T18:56:42Z Traceback (most recent call last):
2026-11-22T18:56:42Z   File "server.py", line 12, in main
2026-11-22T18:56:42Z git.exc.InvalidGitRepositoryError: /home/ann/Documents
2026-11-22T18:56:43Z --- started, pid 420 ---
""",
        "filesystem": """\
2026-11-22T18:56:41Z --- started, pid 414 ---
2026-11-22T18:56:44Z Client does not support MCP Roots, using allowed directories: /home/ann/Documents
""",
    }.items():
        log(place, name).write_text(text)
    compare(SCREENS / f"logs-{columns}.txt", place.run("logs", COLUMNS=str(columns), TZ="UTC").out)


def _described(name: str, about: str, schema: dict[str, Any], **others: Any) -> Described:
    definition = {"name": name, "description": about, "inputSchema": schema, **others}
    fields = {key: payload.encode(value) for key, value in definition.items()}
    return Described(name, name.partition(".")[0], fields, schema)


def test_describe(columns: int, capsys: pytest.CaptureFixture[str]) -> None:
    log_schema = {
        "type": "object",
        "properties": {
            "max_count": {"type": "integer", "default": 10, "description": "Number of commits"},
            "repo_path": {
                "type": "string",
                "description": "Path of the repository: the folder that holds .git, or any folder below it",
            },
            "order": {"enum": ["date", "author-date", "topo"]},
            "paths": {"type": "array", "items": {"type": "string"}, "default": []},
        },
        "required": ["repo_path"],
    }
    result = {"type": "object", "properties": {"commits": {"type": "array", "items": {"type": "string"}}}}
    about = (
        "Shows the commits of a repository, newest first, with author, date and the first line of each message.\n\n"
        "Merges:\n  - are included\n  - have two parents"
    )
    tools = (
        _described("git.git_log", about, log_schema, annotations={"readOnlyHint": True}, outputSchema=result),
        _described("git.git_gc", "", {"type": "object"}, annotations={"destructiveHint": True, "openWorldHint": True}),
    )
    description.show_definitions(Descriptions(tools, {}, {}), Terminal())
    text = capsys.readouterr().out
    compare(SCREENS / f"describe-{columns}.txt", text)
    assert max(map(len, text.splitlines())) <= columns


def _calls() -> list[tuple[Any, ...]]:
    """Return calls of a week, as they are recorded."""
    midnight = clock.mktime((2026, 11, 1, 12, 0, 0, 0, 0, -1))
    calls: list[tuple[Any, ...]] = []
    for number, (server, tool, seconds, ending, given, returned) in enumerate(
        [("git", "git_log", 0.021, "ok", 58, 4_680)] * 88
        + [("", "search_tools", 0.0014, "ok", 40, 1_230)] * 31
        + [("fetch", "fetch", 1.4, "ok", 88, 81_740)] * 17
        + [("fetch", "fetch", 30.2, "tool error", 88, 120)] * 6
        + [("filesystem", "list_directory_with_sizes_of_every_file_below_it", 0.004, "ok", 51, 2_000_000)] * 3
        + [("everything", "longRunningOperation", 125.0, "ok", 30, 60)] * 2
        + [("github", "create_issue", 0.2, "lost", 3_000, 70)]
        + [("github", "create_issue", 0.2, "cancelled", 3_000, 0), ("", "", 0.0001, "error", 12, 45)]
    ):
        client = "claude-code" if number % 3 else "cursor-vscode"
        calls.append((midnight + number * 4000, client, server, tool, seconds, ending, given, returned, None))
    return calls


@pytest.mark.parametrize("by", [By.TOOL, By.SERVER, By.CLIENT, By.CLIENT_AND_TOOL, By.DAY])
def test_usage(columns: int, by: By, capsys: pytest.CaptureFixture[str]) -> None:
    servers = [
        structs.replace(_started(name, name), file="/work/mcp-servers.json")
        for name in ("git", "fetch", "linear", "my notes")
    ]
    config = Config(tuple(servers), Settings(), ())
    path = Path("/home/me/.local/state/search-mcp/usage/calls.sqlite3")
    usage.show(summed_up(_calls(), by), by, 30, path, config, Terminal(), unused=["linear", "my notes"])
    text = capsys.readouterr().out
    compare(SCREENS / f"usage-{by.replace(',', '-')}-{columns}.txt", text)
    assert max(map(len, text.splitlines())) <= columns


def test_usage_without_calls(columns: int, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path("/home/me/.local/state/search-mcp/usage/calls.sqlite3")
    config = Config((_started("git", "git"),), Settings(usage=False), ())
    usage.show(summed_up([], By.TOOL), By.TOOL, 1, path, config, Terminal())
    compare(SCREENS / f"usage-none-{columns}.txt", capsys.readouterr().out)


def test_install_with_some_of_the_servers(columns: int, capsys: pytest.CaptureFixture[str]) -> None:
    tags = {"github": ["work"], "jira": ["work"], "time": [], "git": ["work"], "postgres": ["work"], "sentry": ["work"]}
    folder = Path("/home/ann")

    def done(client: str, path: str, chosen: str | None, kept: str | None) -> registration_report.Done:
        before = document.read(b"", BY_NAME[client].format, path)
        if kept is not None:
            before, _ = installation.add(before, BY_NAME[client], ["search-mcp"], "/c.json", [], kept)
        subset = parse(chosen) if chosen is not None else None
        choice = client_servers.choose(before, BY_NAME[client], subset, tags)
        assert choice is not None
        result: InstallResult = "present" if chosen is None else "added" if kept is None else "updated"
        file = File(folder / path, None, before)
        return registration_report.Done(BY_NAME[client], file, before, result, None, (), choice.warnings, choice=choice)

    shown = [
        done("cursor", ".cursor/mcp.json", "tag:work,time,-jira", None),
        done("codex", ".codex/config.toml", "*", "git"),
        done("gemini-cli", ".gemini/settings.json", None, "tag:work,githb,-jria"),
    ]
    for is_dry in (False, True):
        registration_report.show(shown, [], "", Options(screen=Terminal(), dry_run=is_dry))
    written = capsys.readouterr()
    compare(SCREENS / f"install-servers-{columns}.txt", f"{written.out}\n{written.err}")
    assert max(map(len, (written.out + written.err).splitlines())) <= columns
