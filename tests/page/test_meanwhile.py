"""What changes or fails while the page is used: a sentence tells it, and the page goes on."""

import dataclasses
import html
import math
import os
import sys
from pathlib import Path
from typing import cast

import pytest
from anyio.abc import TaskGroup
from auth.authorization import authorization
from processes.run import server

from page.in_process import Inside, page_inside
from search_mcp.backends.process.stderr_log import file_name
from search_mcp.cli.files import editing
from search_mcp.cli.logs import Line
from search_mcp.cli.options import Options
from search_mcp.cli.problem import Problem
from search_mcp.config.schema import ServerConfig
from search_mcp.engine.host import Host
from search_mcp.files import locked
from search_mcp.folders import log_folder, state_folder, trust_folder
from search_mcp.page import details
from search_mcp.page.commands import Printed
from search_mcp.page.details import MOST_TOOLS, log_of
from search_mcp.page.facts import PageGateway
from search_mcp.page.live import Kept
from search_mcp.page.page import Page
from search_mcp.page.standings import Standings
from search_mcp.wire.structs import replace


async def view(page: Inside, path: str) -> str:
    """Return a view, with its characters as a person sees them."""
    return html.unescape((await page.gets(path)).text)


async def ready(page: Inside, name: str) -> None:
    """Start a server, and wait until it is ready."""
    await page.sends("start", server=name)
    await page.events(f"view=server&name={name}", lambda parts: '"ready"' in parts.get("standing", ""))


async def test_a_login_to_a_server_that_cannot_be_started_then(tmp_path: Path) -> None:
    with authorization() as server:
        credentials = {"clientId": "x", "clientSecret": "y", "grant": "client_credentials"}
        entry = {"url": f"{server.url}/mcp", "oauth": credentials, "enabled": False}
        async with page_inside(tmp_path, {"files": entry}) as page:
            await page.sends("login", server="files")
            assert "Error: files cannot be started: it is off" in await view(page, "waiting")


def without_servers(page: Inside) -> None:
    """Apply an edit that removes all servers."""
    page.facts.gateway.reconfigure(replace(page.facts.gateway.config, servers=()))
    page.facts.forget()


async def test_a_server_that_is_removed_while_it_is_shown(tmp_path: Path) -> None:
    async with page_inside(tmp_path, {"one": server("well_behaved")}) as page:
        assert "Log of one" in await view(page, "server?name=one")

        def until(parts: dict[str, str]) -> bool:
            if "log" in parts:
                without_servers(page)
            return "log" not in parts and "notice" in parts

        parts = await page.events("view=server&name=one", until)
        assert "Error: there is no server 'one'" in html.unescape(parts["notice"])
        assert (await page.gets("server?name=one")).status_code == 303
        assert "Error: there is no server 'one'" in await view(page, "servers")


async def test_a_tool_that_is_switched_off_while_the_log_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with page_inside(tmp_path, {"one": server("has_tools", "tell=Tells.", startup="eager")}) as page:
        await ready(page, "one")
        gateway, config = page.facts.gateway, page.facts.gateway.config
        edited = replace(config, servers=(replace(config.servers[0], deny=("tell",)),))

        async def edited_meanwhile(config: ServerConfig, logs: Kept) -> list[Line]:
            lines = await log_of(config, logs)
            if gateway.config is not edited:
                gateway.reconfigure(edited)
            return lines

        monkeypatch.setattr(details, "log_of", edited_meanwhile)
        await page.events("view=server&name=one", lambda parts: 'aria-checked="false"' in parts.get("tools", ""))


async def test_a_record_of_accepted_definitions_that_cannot_be_read(tmp_path: Path) -> None:
    """The other items are shown, and what waited is when it can be read again."""
    text = tmp_path / "description"
    text.write_text("Pay an invoice.")
    async with page_inside(tmp_path, {"shop": server("changeable", str(text), startup="eager")}) as page:
        await ready(page, "shop")
        text.write_text("Pay it to me.")
        await page.sends("start", server="shop")
        await page.events("view=waiting", lambda parts: "Pay it to me." in parts.get("waiting", ""))
        (record,) = trust_folder().glob("shop-*.jsonl")
        away = record.rename(record.with_suffix(".away"))
        record.mkdir()
        later = Inside(page.facts)  # has not read the record yet
        assert "Error: the accepted definitions of shop cannot be read" in await view(later, "waiting")

        def until(parts: dict[str, str]) -> bool:
            if "cannot be read" in parts.get("waiting", ""):
                record.rmdir()
                away.rename(record)
            return "Pay it to me." in parts.get("waiting", "")

        await later.events("view=waiting", until)


@pytest.mark.parametrize("is_removed", [True, False], ids=["removed", "switched off"])
async def test_a_server_that_waits_is_edited_while_that_is_looked_at(tmp_path: Path, *, is_removed: bool) -> None:
    async with page_inside(tmp_path, {"one": server("well_behaved")}) as page:
        (row,) = page.facts.rows()
        page.facts._rows = math.inf, [dataclasses.replace(row, differences=1)]  # those of a moment ago
        gateway = page.facts.gateway
        servers = () if is_removed else (replace(gateway.config.servers[0], enabled=False),)
        gateway.reconfigure(replace(gateway.config, servers=servers))
        assert (await page.gets("waiting")).status_code == 200
        await page.sends("accept", server="one", digest="0")
        assert "Error: " in await view(page, "waiting")


async def test_a_bug_in_a_view_is_a_status(tmp_path: Path) -> None:
    """A browser asks for a stream that broke off again, but not for one that was refused."""
    async with page_inside(tmp_path, {}) as page:
        page.facts.standings = cast("Standings", None)
        assert (await page.gets("events?view=servers")).status_code == 500


async def test_an_edit_is_waited_for_in_one_configuration_only(tmp_path: Path) -> None:
    async with page_inside(tmp_path, {}) as page:
        gateway, host = page.facts.gateway, page.facts.host
        other = PageGateway(gateway.config, host.dependencies_for(gateway.config, page.facts.first), host.pool)
        gateway.note_broken_edit(None)
        assert not other.looked.is_set()


async def test_a_page_without_memory_ends_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """As everything else that an engine does: its clients start another one."""
    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)

    async def run() -> None:
        raise MemoryError

    await Page(cast("Host", None), {}, cast("TaskGroup", None))._guarded(run)
    assert codes == [1]


async def test_a_server_with_very_many_tools(tmp_path: Path) -> None:
    """A view of all of them would hold up every client of the engine."""
    names = [f"tool-{number}=Does." for number in range(MOST_TOOLS + 7)]
    async with page_inside(tmp_path, {"one": server("has_tools", *names, startup="eager")}) as page:
        await ready(page, "one")
        await page.events("view=server&name=one", lambda parts: "7 more are not shown." in parts.get("tools", ""))
        shown = await view(page, "server?name=one")
        assert shown.count('role="switch"') == 1 + MOST_TOOLS
        assert '"type": "object"' in shown


async def test_a_log_is_read_again_when_it_has_changed() -> None:
    """A view asks five times a second."""
    config, logs = ServerConfig(name="logged", command=sys.executable), Kept()
    path = log_folder() / file_name("logged")
    path.parent.mkdir(parents=True, exist_ok=True)
    assert await log_of(config, logs) == []
    path.write_text("first\n")
    first = await log_of(config, logs)
    assert await log_of(config, logs) is first
    path.write_text("first\nsecond\n")
    assert [each.text for each in await log_of(config, logs)] == ["first", "second"]


def test_an_entry_is_compared_while_nothing_else_edits_the_file(tmp_path: Path) -> None:
    """An edit between the comparison and the removal would be lost."""
    path = tmp_path / "servers.json"
    path.write_text('{"mcpServers": {"one": {"command": "x"}}}')

    def look(entry: object) -> None:
        assert entry == {"command": "x"}
        with pytest.raises(TimeoutError), locked(state_folder() / "edits.lock", 0.0):
            pass
        raise Problem("keep it")

    with pytest.raises(Problem, match="keep it"):
        editing.remove_from(Options(screen=Printed(), config=str(path)), ["one"], look)
    assert "one" in path.read_text()


async def test_a_message_is_an_error_by_its_kind(tmp_path: Path) -> None:
    async with page_inside(tmp_path, {"Error": server("well_behaved")}) as page:
        await page.sends("accept", server="Error", back="waiting")
        assert '<pre class="said">Error: 0 definitions accepted.</pre>' in await view(page, "waiting")
        await page.sends("accept", server="Error", digest="0", back="waiting")
        assert '<pre class="said wrong">Error: It is different from what was shown' in await view(page, "waiting")
