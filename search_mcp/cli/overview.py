"""`servers`: all servers at a glance, from the config file and the cache; none is started."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from search_mcp.cli import command_lines, completion, inventory
from search_mcp.cli.checks.notes import of_failures, of_hidden
from search_mcp.cli.counting import summary
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import FINE, command
from search_mcp.cli.session import Session, read_cache
from search_mcp.cli.terminal import Terminal
from search_mcp.config.schema import ServerConfig
from search_mcp.model.names import Kind, State
from search_mcp.model.servers import Status
from search_mcp.model.standing import NOT_STARTED, Standing, standing_of
from search_mcp.times import iso
from search_mcp.wire.structs import replace

_HEADINGS = ("Server", "State", "Tools", "Runs")


@dataclass(frozen=True)
class Known:
    """A server's row, from the configuration and the cache."""

    state: State
    standing: Standing
    tools: int | None
    runs: str
    is_read_only: bool = False
    unmatched: Sequence[str] = ()
    """Sentences about names in its entry that fit none of its tools."""

    def row(self) -> Sequence[str]:
        """Return the row of the table; a failure has its reason in the place of the command."""
        count = f"{self.tools:,}" if self.tools is not None else ""
        runs = self.standing.reason if self.state is State.FAILED else self.runs
        return (self.standing.server, self.standing.word_and_age(time.time()), count, runs)

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.standing.server,
            "state": self.state,
            "since": iso(self.standing.since),
            "reason": self.standing.reason or None,
            "remedy": self.standing.remedy or None,
            "tools": self.tools,
            "runs": self.runs,
            "readOnly": self.is_read_only,
            **({"problems": self.unmatched} if self.unmatched else {}),
        }


@takes("config", "servers", "as_json", "debug")
def servers(
    options: Options,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Show only these servers.", autocompletion=completion.server_names),
    ] = None,
) -> int:
    """Show all servers at a glance, without starting any."""
    screen = options.screen
    loaded, path = options.configuration()
    if names:
        loaded = replace(loaded, servers=tuple(inventory.known_server(loaded, name) for name in dict.fromkeys(names)))
    found, notes = read_cache(loaded, None, lambda session: (_known_servers(session), of_hidden(session)))
    if options.as_json:
        screen.json({"config": str(path), "servers": [each.as_json() for each in found]})
    else:
        show(found, notes, loaded.servers, path, screen)
    return FINE


def _known_servers(session: Session) -> list[Known]:
    statuses = {status.server: status for status in session.statuses()}
    return [_known(server, session, statuses[server.name]) for server in session.config.servers]


def _known(server: ServerConfig, session: Session, status: Status) -> Known:
    listed = session.catalog.is_known(server.name, Kind.TOOLS)
    tools = sum(item.server == server.name for item in session.tools) if listed else None
    unmatched = [sentence for sentence, _hides in session.catalog.unmatched(server.name)]
    return Known(status.state, standing_of(status), tools, command_lines.short(server), server.read_only, unmatched)


def show(
    found: Sequence[Known], notes: Sequence[str], servers: Sequence[ServerConfig], path: Path, terminal: Terminal
) -> None:
    """Show the servers in a table; the command of a single one is not cut."""
    if not found:
        terminal.note(f"There are no servers in {path}. `search-mcp import` or `search-mcp add` adds some.")
        return
    terminal.table(_HEADINGS, [each.row() for each in found], ("Tools",), is_cut=len(found) > 1)
    terminal.text("")
    terminal.paragraph(summary([each.standing.word for each in found], sum(each.tools or 0 for each in found)))
    for note in notes:
        terminal.paragraph(note)
    for each in found:
        if each.state in (State.HELD, State.NEEDS_LOGIN):
            terminal.note(f"{each.state.capitalize()}: {each.standing.server}: {each.standing.explanation}.")
        for sentence in each.unmatched:
            terminal.paragraph(f"{each.standing.server}: {sentence}")
    if any(each.state is State.FAILED for each in found):
        terminal.note(of_failures(servers))
    if any(each.standing.word == NOT_STARTED for each in found):
        terminal.note(f"`{command(servers, 'check')}` starts the servers that were not started.")
