"""Which entries start a server that is known to keep nothing between calls."""

import re
import shlex

import pytest

from search_mcp.config.schema import Remote, ServerConfig
from search_mcp.pool.known_servers import KnownServer, find, matched, rows

NPM = KnownServer("npm:@modelcontextprotocol/server-memory", "1", "w", folder=False, program="mcp-server-memory")
CONTAINER = KnownServer("container:mcp/time", "1", "w", folder=False)
TIME = next(row for row in rows() if row.package == "pypi:mcp-server-time")


def _entry(line: str) -> ServerConfig:
    command, *args = shlex.split(line)
    return ServerConfig(name="alpha", command=command, args=tuple(args))


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ("uvx mcp-server-time", TIME),
        ("uvx mcp_server.Time@latest --local-timezone Europe/Paris", TIME),
        ("uvx --python=3.12 -q mcp-server-time==2026.10.19", TIME),
        ("uvx -p 3.12 'mcp-server-time[extra]>=2026,<2027'", TIME),
        ("/opt/homebrew/bin/uvx --from mcp-server-time mcp-server-time", TIME),
        ("uv tool run --from=mcp-server-time==2026.10.19 mcp-server-time", TIME),
        ("pipx run mcp-server-time", TIME),
        ("pipx run --spec mcp-server-time mcp-server-time", TIME),
        ("python -m mcp_server_time", TIME),
        ("/home/ann/venv/bin/python3.12 -u -m mcp_server_time --local-timezone UTC", TIME),
        ("/home/ann/venv/bin/python -P -m mcp_server_time", TIME),
        ("mcp-server-time", TIME),
        ("npx @modelcontextprotocol/server-memory", NPM),
        ("npx -y @modelcontextprotocol/server-memory@2026.8.31", NPM),
        ("npx --yes -- @modelcontextprotocol/server-memory@latest", NPM),
        ("npx -p @modelcontextprotocol/server-memory mcp-server-memory", NPM),
        ("npm exec --package=@modelcontextprotocol/server-memory -- mcp-server-memory", NPM),
        ("bunx --bun @modelcontextprotocol/server-memory", NPM),
        ("pnpm dlx @modelcontextprotocol/server-memory", NPM),
        ("mcp-server-memory", NPM),
        ("docker run -i --rm mcp/time", CONTAINER),
        ("docker run --rm -i -e LOCAL_TIMEZONE=UTC --network none docker.io/mcp/time:latest --verbose", CONTAINER),
        ("podman run -i mcp/time@sha256:0123", CONTAINER),
    ],
)
def test_an_entry_as_people_write_it_is_matched(line: str, row: KnownServer) -> None:
    assert matched(_entry(line), (TIME, NPM, CONTAINER)) == row


@pytest.mark.parametrize(
    "line",
    [
        "uvx mcp-server-time-2",
        "uvx",
        "uvx ./mcp-server-time",
        "uvx /src/mcp-server-time",
        "uvx git+https://example.com/mcp-server-time",
        "uvx 'mcp-server-time @ https://example.com/x.whl'",
        "uvx --from git+https://example.com/mcp-server-time mcp-server-time",
        "uvx --from ./mcp-server-time mcp-server-time",
        "uvx --from mcp-server-time another-program",
        "uvx --from mcp-server-time --from other mcp-server-time",
        "uvx --from",
        "uvx --with other mcp-server-time",
        "uvx --index-url https://example.com mcp-server-time",
        "uv run mcp-server-time",
        "uv --directory /src tool run mcp-server-time",
        "python server.py -m mcp_server_time",
        "python -m another",
        "python -m",
        "python",
        "./mcp-server-time",
        "/src/mcp-server-time/bin/mcp-server-time",
        "npx mcp-server-time",
        "npx -y modelcontextprotocol/server-memory",
        "npx -y github:modelcontextprotocol/server-memory",
        "npx -y @modelcontextprotocol/server-memory@npm:other@1",
        "npx -y @modelcontextprotocol/server-memory@github:user/name",
        "npx -y file:@modelcontextprotocol/server-memory",
        "npx -p other -p @modelcontextprotocol/server-memory mcp-server-memory",
        "npx -c mcp-server-memory",
        "docker run --entrypoint sh mcp/time",
        "docker exec mcp/time",
        "docker run example.com/mcp/time",
        "node server.js",
    ],
)
def test_what_may_run_other_code_is_not_matched(line: str) -> None:
    assert matched(_entry(line), (TIME, NPM, CONTAINER)) is None


def test_a_program_that_two_packages_have_is_not_matched() -> None:
    other = KnownServer("npm:mcp-server-time", "1", "w", folder=False)
    assert matched(_entry("mcp-server-time"), (TIME, other)) is None


def test_a_remote_server_is_not_matched() -> None:
    assert find(ServerConfig(name="alpha", command="", remote=Remote(url="https://example.com/mcp"))) is None


def test_each_row_can_be_matched_and_says_why() -> None:
    for row in rows():
        registry, _, name = row.package.partition(":")
        command = {"npm": "npx -y", "pypi": "uvx", "container": "docker run -i"}[registry]
        assert find(_entry(f"{command} {name}")) == row
        assert not row.module or find(_entry(f"python -m {row.module}")) == row
        assert row.version
        assert re.fullmatch(r"it .*[^.]", row.why)
