"""Record the tools of real servers: install them from npm and PyPI, open them, and write their lists to a file.

    python benchmarks/search/record.py /tmp/recording

Each package is installed in a folder of its own, at the version in `SERVERS`, without its install scripts, and is
started with the official client and an empty environment: none of these servers needs a key to list its tools. The
result is `recorded.tools.jsonl.gz` beside this file, one tool per line, in the format that `run.py --data` reads.
"""

import argparse
import asyncio
import gzip
import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any, NamedTuple

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

HERE = Path(__file__).parent
CATALOGUE = HERE / "recorded.tools.jsonl.gz"
PINS = dict.fromkeys(("sqlite", "powerpoint", "terminal"), ("mcp<2",))  # missing in their own dependencies
INSTALL_SECONDS = 300
LISTING_SECONDS = 60


class Server(NamedTuple):
    """A published server: its package and the script that starts it."""

    source: str  # npm or pypi
    name: str
    package: str
    version: str
    command: str  # a script of the package
    argument: str = ""


SERVERS = tuple(
    Server(*row.split())
    for row in """
npm everything @modelcontextprotocol/server-everything 2026.8.31 mcp-server-everything
npm filesystem @modelcontextprotocol/server-filesystem 2026.8.31 mcp-server-filesystem .
npm memory @modelcontextprotocol/server-memory 2026.8.31 mcp-server-memory
npm sequential-thinking @modelcontextprotocol/server-sequential-thinking 2026.8.31 mcp-server-sequential-thinking
npm github @modelcontextprotocol/server-github 2025.4.8 mcp-server-github
npm playwright @playwright/mcp 0.0.83 playwright-mcp
npm chrome-devtools chrome-devtools-mcp 1.11.0 chrome-devtools-mcp
npm context7 @upstash/context7-mcp 4.1.1 context7-mcp
npm notion @notionhq/notion-mcp-server 2.5.2 notion-mcp-server
npm mongodb mongodb-mcp-server 3.0.4 mongodb-mcp-server
npm kubernetes mcp-server-kubernetes 4.1.7 mcp-server-kubernetes
npm chart @antv/mcp-server-chart 0.9.10 mcp-server-chart
npm korean-law korean-law-mcp 4.14.0 korean-law-mcp
npm tax-law tax-law-mcp 0.5.4 tax-law-mcp
npm labor-law labor-law-mcp 0.2.1 labor-law-mcp
npm hourei hourei-mcp-server 1.0.6 hourei-mcp-server
npm howtocook howtocook-mcp 0.2.2 howtocook-mcp
pypi git mcp-server-git 2026.10.19 mcp-server-git
pypi time mcp-server-time 2026.10.19 mcp-server-time
pypi fetch mcp-server-fetch 2026.10.24 mcp-server-fetch
pypi sqlite mcp-server-sqlite 2025.4.25 mcp-server-sqlite
pypi calculator mcp-server-calculator 0.2.1 mcp-server-calculator
pypi terminal terminal-controller 0.1.9 terminal_controller
pypi aws-documentation awslabs.aws-documentation-mcp-server 1.2.3 awslabs.aws-documentation-mcp-server
pypi arxiv arxiv-mcp-server 0.8.2 arxiv-mcp-server
pypi duckduckgo duckduckgo-mcp-server 0.7.0 duckduckgo-mcp-server
pypi excel excel-mcp-server 2.2.2 excel-mcp-server stdio
pypi word office-word-mcp-server 1.1.11 word_mcp_server
pypi powerpoint office-powerpoint-mcp-server 2.0.7 ppt_mcp_server
pypi blender blender-mcp 2.0.0 blender-mcp
pypi wikipedia wikipedia-mcp 2.0.1 wikipedia-mcp
pypi yahoo-finance mcp-yahoo-finance 0.2.0 mcp-yahoo-finance
""".strip().splitlines()
)


def installed(server: Server, place: Path) -> Path:
    """Install a server unless it is installed; return the script that starts it."""
    folder = place / f"{server.name}-{server.version}"
    scripts = folder / ("node_modules/.bin" if server.source == "npm" else "bin")
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        if server.source == "npm":
            (folder / "package.json").write_text('{"private": true}')
            _run(
                "npm",
                "install",
                "--ignore-scripts",
                "--no-audit",
                "--no-fund",
                f"{server.package}@{server.version}",
                cwd=folder,
            )
        else:
            venv.create(folder, with_pip=True)
            _run(
                "bin/python",
                "-m",
                "pip",
                "install",
                "--quiet",
                f"{server.package}=={server.version}",
                *PINS.get(server.name, ()),
                cwd=folder,
            )
        (folder / "complete").touch()
    return scripts / server.command


def _run(*command: str, cwd: Path) -> None:
    subprocess.run(command, cwd=cwd, check=True, timeout=INSTALL_SECONDS, stdout=subprocess.DEVNULL)


async def tools_of(server: Server, script: Path, place: Path) -> list[dict[str, Any]]:
    """Open a server and read its list."""
    home = place / "home"
    home.mkdir(exist_ok=True)
    parameters = StdioServerParameters(
        command=str(script),
        args=[server.argument] if server.argument else [],
        env={"HOME": str(home), "PATH": os.environ["PATH"]},
        cwd=home,
    )
    with (place / f"{server.name}.stderr").open("w") as errors:
        async with Client(stdio_client(parameters, errlog=errors)) as client:
            return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) async for tool in _every(client)]


async def _every(client: Client) -> Any:
    cursor = None
    while True:
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            yield tool
        cursor = page.next_cursor
        if cursor is None:
            return


def line(server: Server, tool: dict[str, Any]) -> str:
    record = {
        "server": server.name,
        "tool": tool["name"],
        "description": tool.get("description") or tool.get("title") or "",
        "inputSchema": tool["inputSchema"],
    }
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


async def record(place: Path, servers: list[Server]) -> list[str]:
    lines: list[str] = []
    for server in servers:
        try:
            script = installed(server, place)
            async with asyncio.timeout(LISTING_SECONDS):
                tools = await tools_of(server, script, place)
        except Exception as exc:  # a server that fails is reported, and the others are recorded
            print(f"{server.name:20} left out: {exc!r:.200}", file=sys.stderr)
            continue
        print(f"{server.name:20} {len(tools):4} tools", file=sys.stderr)
        lines.extend(sorted(line(server, tool) for tool in tools))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("place", type=Path, help="folder to install the servers in")
    parser.add_argument("--only", nargs="*", help="record these, and write them to stdout")
    options = parser.parse_args()
    options.place.mkdir(parents=True, exist_ok=True)
    servers = [server for server in SERVERS if not options.only or server.name in options.only]
    lines = asyncio.run(record(options.place.resolve(), servers))
    if options.only:
        print("\n".join(lines))
        return
    CATALOGUE.write_bytes(gzip.compress("\n".join([*lines, ""]).encode(), mtime=0))
    print(f"{len(lines)} tools in {CATALOGUE}", file=sys.stderr)


if __name__ == "__main__":
    main()
