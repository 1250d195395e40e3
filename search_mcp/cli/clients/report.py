"""The results of `install` and `uninstall`: a table, notes about each client, and the JSON form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from search_mcp.cli.clients.client_servers import Choice
from search_mcp.cli.counting import counted
from search_mcp.cli.options import Options
from search_mcp.clients import difference, installation, storage
from search_mcp.clients.document import Document
from search_mcp.clients.installation import InstallResult
from search_mcp.clients.known import Client
from search_mcp.clients.storage import File
from search_mcp.model.errors import ConfigError

_RESULTS: Mapping[InstallResult, str] = {
    "added": "added",
    "updated": "updated",
    "present": "already installed",
    "removed": "removed",
    "absent": "not installed",
}
_PLANNED: Mapping[InstallResult, str] = {"added": "would add", "updated": "would update", "removed": "would remove"}


@dataclass(frozen=True)
class Done:
    """The result for one client's file."""

    client: Client
    file: File
    changed: Document
    result: InstallResult
    backup: Path | None
    moved: tuple[str, ...]
    """Servers that were moved to search-mcp, or restored."""
    warnings: tuple[str, ...]
    choice: Choice | None = None
    """The servers that it has; None for all."""

    def as_json(self) -> dict[str, Any]:
        return {
            "client": self.client.name,
            "file": str(self.file.path),
            "result": self.result,
            "moved": self.moved,
            "warnings": self.warnings,
            "difference": self.difference(),
            "backup": str(self.backup) if self.backup is not None else None,
            "nextStep": self.next_step,
            **self._servers(),
        }

    def _servers(self) -> dict[str, Any]:
        return {} if self.choice is None else {"option": self.choice.expression, "servers": self.choice.names}

    def difference(self) -> str:
        return difference.unified(self.file.document, self.changed)

    @property
    def next_step(self) -> str | None:
        if self.changed == self.file.document:
            return None
        return "restart it" if self.result == "removed" else self.client.next_step


def show(done: Sequence[Done], troubles: Sequence[ConfigError], own_changes: str, options: Options) -> None:
    """Report what was done, and the next steps; the commands that our file gets are shown already."""
    screen = options.screen
    if options.as_json:
        errors = [str(each) for each in troubles]
        screen.json({"clients": [each.as_json() for each in done], "difference": own_changes, "errors": errors})
        return
    if done:
        words = {**_RESULTS, **_PLANNED} if options.dry_run else _RESULTS
        screen.table(
            ("Client", "Result", "File"),
            [(each.client.title, words[each.result], str(each.file.path)) for each in done],
        )
    elif not troubles:
        screen.note("Nothing to do: no configuration file of these clients was found.")
    if options.dry_run:
        for changes in filter(None, map(Done.difference, done)):
            screen.text(changes)
    for each in done:
        _tell(each, options)


def _tell(done: Done, options: Options) -> None:
    screen, title = options.screen, done.client.title
    if done.moved:
        screen.note(f"{title}: {_of_moved(done, options.dry_run)}.")
    if done.choice is not None:
        screen.note(f"{title}: {done.choice.sentence(is_planned=options.dry_run)}.")
    for warning in done.warnings:
        screen.warning(warning)
    others, _ = installation.other_servers(done.changed, done.client)
    if others and done.result not in ("removed", "absent"):
        screen.note(of_others(done.client, [each.name for each in others]))
    if done.backup is not None:
        first = storage.backups(done.file.path)[0]
        before = f"; backup from before the first edit: {first}" if first != done.backup else ""
        screen.note(f"{title}: backup: {done.backup}{before}")
    if done.next_step is not None and not options.dry_run:
        screen.note(f"{title}: {done.next_step}.")


def of_others(client: Client, servers: Sequence[str]) -> str:
    """Say that a client starts other servers beside search-mcp, whose tools may be listed twice."""
    starts = f"{client.title} starts {counted(len(servers), 'other server')} itself: {', '.join(servers)}"
    them = "it" if len(servers) == 1 else "them"
    moves = f"`search-mcp install {client.name} --replace` moves {them} to search-mcp"
    return f"{starts}; {moves}, so that no tool is listed twice."


def _of_moved(done: Done, dry_run: bool) -> str:
    names = ", ".join(done.moved)
    if done.result in ("removed", "absent"):
        return f"would restore {names}" if dry_run else f"restored {names}"
    servers = counted(len(done.moved), "server")
    return f"would move {servers} to search-mcp: {names}" if dry_run else f"{servers} moved to search-mcp: {names}"
