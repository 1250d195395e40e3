"""Servers that are added to the configuration file: planned, shown, written and reported.

Decides which servers can be added. Nothing is started here.
"""

import contextlib
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from search_mcp.cli import consent
from search_mcp.cli.files import stored_secrets
from search_mcp.cli.files.own_file import bridged, save, tell_of_bridges
from search_mcp.cli.files.stored_secrets import Secret
from search_mcp.cli.options import Options
from search_mcp.cli.problem import Misuse
from search_mcp.cli.terminal import Terminal
from search_mcp.clients import found, installation, merging
from search_mcp.clients.document import Document
from search_mcp.clients.found import Server
from search_mcp.clients.merging import ROOT, Merged
from search_mcp.clients.storage import File
from search_mcp.config.blanks import IS_BLANK, blanks, setting


@dataclass(frozen=True)
class Addition:
    """An edit of the configuration file that adds servers."""

    file: File
    changed: Document
    merged: tuple[Merged, ...]
    """The result for each server that was given."""

    @property
    def entries(self) -> dict[str, Any]:
        """The new entries, by name."""
        return {each.name: self.changed.members((ROOT, each.name)) for each in self.merged if each.result == "added"}

    @property
    def names(self) -> list[str]:
        """The names of the servers that are new, or were disabled and are not any more."""
        return [each.name for each in self.merged if each.result in ("added", "enabled")]

    @property
    def enabled(self) -> list[str]:
        """The names of the new servers that are enabled."""
        return [each.name for each in self.merged if each.result == "added" and not each.is_disabled]

    def with_secrets(self, secrets: Mapping[tuple[str, ...], Secret]) -> "Addition":
        """Write the placeholders of secrets in the places of values."""
        changed = self.changed
        for path, secret in secrets.items():
            before, _ = stored_secrets.parted(secret.name, changed.members(path[:-1])[path[-1]])
            changed = changed.put(path, before + secret.placeholder if before else secret.header)
        return replace(self, changed=changed)

    def show(self, screen: Terminal) -> None:
        """Show the whole command or address of each new server."""
        for name, entry in self.entries.items():
            consent.show(name, entry, screen)

    def write(self, options: Options, secrets: Sequence[Secret] = ()) -> None:
        """Write the file, unless it is a dry run, after the secrets of the new servers.

        Raises:
            ConfigError: the file has changed since it was read, or cannot be written.
            Problem: a secret cannot be stored.
        """
        with stored_secrets.stored(secrets) if self.entries and not options.dry_run else contextlib.nullcontext():
            save(self.file, self.changed, options)

    def tell(self, options: Options, tags: Sequence[str] = ()) -> None:
        """Report what is added, or would be; `tags` are those that each server should have."""
        screen = options.screen
        for each in self.merged:
            if each.result == "present":
                screen.text(f"{each.server.name} is already there{_under_another_name(each)}.")
                if set(tags) - {*installation.tags(self.changed)[each.name]}:
                    listed = ", ".join(f'"{tag}"' for tag in tags)
                    screen.warning(f'{each.name} has no new tags; to add them, write "tags": [{listed}] into its entry')
            elif each.result == "added":
                added = "Would add" if options.dry_run else "Added"
                screen.text(f"{added} {each.name}{', disabled,' if each.is_disabled else ''} to {self.file.path}.")
            for note in each.notes:
                screen.warning(f"{each.server.name}: {note}")
        for server, entry in self.entries.items():
            for _, name in blanks(entry):
                set_by = setting(server, name, options.config or "")
                screen.warning(f"{server}: {name} {IS_BLANK}; `{set_by}` asks for its value")
        tell_of_bridges(bridged(self.file.document, self.changed), screen)


def plan(file: File, servers: Sequence[Server], chosen: Container[str]) -> Addition:
    """Plan to add servers; the user has chosen some of their names, and not taken them over from the entries.

    Raises:
        Misuse: one of them cannot be added, or there is none.
        ConfigError: the file cannot be edited.
    """
    refuse_taken_names(servers, file)
    changed, merged = merging.merge(file.document, servers, chosen)
    for each in merged:
        if each.result == "skipped":
            raise Misuse(f"{each.server.name or 'the entry'} is not a server: {each.notes[0]}")
    if not merged:
        raise Misuse(
            "there is no server to add besides search-mcp itself", "name the servers that search-mcp is to run"
        )
    return Addition(file, changed, (*merged,))


def plan_change(file: File, name: str, servers: Sequence[Server]) -> Addition:
    """Plan to replace the entry of a server by another one of the same name.

    Raises:
        Misuse: it is not one server of this name, or the same as before.
        ConfigError: the file cannot be edited.
    """
    if name not in file.document.members((ROOT,)):
        raise Misuse(f"there is no server {name!r} any more")
    if [each.name for each in servers] != [name]:
        raise Misuse(f"this is not one server called {name}", "only its own entry is changed here")
    without = replace(file, document=file.document.drop((ROOT, name)))
    planned = plan(without, [_as_ours(each) for each in servers], [name])
    changed = file.document.put((ROOT, name), planned.entries[name])
    if changed == file.document:
        raise Misuse(f"{name} is the same as before", "there is nothing to change")
    return Addition(file, changed, planned.merged)


def _as_ours(server: Server) -> Server:
    """Return a server whose entry is taken as it is written, if it is valid in our file."""
    is_valid = server.translation is not None and merging.fault(server.name, server.raw) is None
    return found.written(server.name, server.raw) if is_valid else server


def refuse_taken_names(servers: Sequence[Server], file: File) -> None:
    """Refuse servers without a name, and those whose name another server has.

    Raises:
        Misuse: there is one.
    """
    present = file.document.members((ROOT,))
    for each in servers:
        if not each.name:
            raise Misuse("the server has no name", "write search-mcp add NAME --json ...")
        if each.name in present and not merging.is_same(each, present[each.name]):
            raise Misuse(f"the config file already has a server {each.name}", "remove it first, or use another name")


def _under_another_name(merged: Merged) -> str:
    return f", as {merged.name}" if merged.name != merged.server.name else ""
