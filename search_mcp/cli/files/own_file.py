"""The configuration file that a command edits.

Decides which file is edited, that commands edit one after the other, and what is reported of every edit.
"""

import contextlib
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from search_mcp import files
from search_mcp.catalog.profiles import BY_NAME
from search_mcp.cli import consent
from search_mcp.cli.clients import client_servers
from search_mcp.cli.counting import enumerated
from search_mcp.cli.options import Options
from search_mcp.cli.problem import Problem
from search_mcp.cli.terminal import Terminal
from search_mcp.clients import difference, entries, installation, mcp_remote, storage
from search_mcp.clients.document import Document
from search_mcp.clients.merging import ROOT
from search_mcp.clients.registered import registered
from search_mcp.clients.storage import File
from search_mcp.config import location
from search_mcp.folders import state_folder
from search_mcp.model.errors import for_shell

PATIENCE_SECONDS = 10.0
"""Time limit for another command's edit, which takes milliseconds unless it was stopped before its end."""


@contextlib.contextmanager
def in_turn() -> Iterator[None]:
    """Wait until no other command edits: if both had read the same file, one edit would be lost.

    Raises:
        Problem: another command does not finish its edit.
    """
    with contextlib.ExitStack() as turn:
        try:
            turn.enter_context(files.locked(state_folder() / "edits.lock", PATIENCE_SECONDS))
        except TimeoutError as exc:
            raise Problem(
                "another search-mcp is editing the config file", "wait until it has finished, or stop it"
            ) from exc
        yield


def own_file(options: Options) -> File:
    """Read the configuration to edit: the one that is named, else the user's own, which need not exist yet.

    A file in the current folder is not edited, which a note reports: it may be shared, and edits may hold secrets.

    Raises:
        ConfigError: the file cannot be read, or is not JSON.
    """
    path = location.places(options.config, os.environ)[-1]
    if (other := location.unused(options.config, os.environ, path)) is not None:
        options.screen.note(f"This edits your own file. To edit {other}, name it with --config.")
    return storage.load(path, "jsonc")


def command_to_check(options: Options, path: Path) -> str:
    """Write the command that checks the edited file, with `--config` if commands would read another file."""
    read = next((place for place in location.places(options.config, os.environ) if place.is_file()), path)
    if read == path and options.config is None:
        return "search-mcp check"
    return f"search-mcp check --config {for_shell(str(path))}"


def save(file: File, changed: Document, options: Options) -> None:
    """Write an edited file, or show the difference in a dry run.

    Raises:
        ConfigError: the file has changed since it was read, or cannot be written.
    """
    if changed == file.document:
        return
    if options.dry_run:
        options.screen.text(difference.unified(file.document, changed))
        return
    consent.accept_written(file, changed, options)
    file.save(changed)


def bridged(before: Document, after: Document) -> list[str]:
    """List the servers that an edit makes run through mcp-remote."""
    present = before.members((ROOT,))
    return [
        name
        for name, entry in after.members((ROOT,)).items()
        if entries.is_bridge(entry) and not entries.is_bridge(present.get(name))
    ]


def tell_of_bridges(names: Sequence[str], screen: Terminal) -> None:
    if names:
        runs = "runs" if len(names) == 1 else "run"
        screen.note(f"{', '.join(names)}: {runs} through {mcp_remote.ABOUT}.")


def tell_of_restarts(path: Path, own: Document, servers: Collection[str], screen: Terminal) -> None:
    """Name the clients to restart: those with one of these servers that read the list of tools only when they start."""
    restarted = []
    for client, document in registered(path):
        choice = client_servers.choose(document, client, None, installation.tags(own))
        has_one = choice is None or not {*choice.names}.isdisjoint(servers)
        if has_one and client.name in BY_NAME and BY_NAME[client.name].reads_later_lists is False:
            restarted.append(client.title)
    if restarted:
        screen.note(f"{enumerated(restarted)} notice{'s' * (len(restarted) == 1)} this after a restart.")
