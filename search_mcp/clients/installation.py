"""Edits that add search-mcp to a client's file, move the client's other servers out of it, and undo both.

Decides what changes. The caller reads and writes the files, and records what was moved.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from search_mcp.catalog.profiles import REGISTERED_AS
from search_mcp.clients import document, entries
from search_mcp.clients.document import Document
from search_mcp.clients.found import Server, servers
from search_mcp.clients.known import Client
from search_mcp.clients.merging import ROOT
from search_mcp.clients.moved import Moved
from search_mcp.config.placeholders import references
from search_mcp.model.errors import ConfigError

InstallResult: TypeAlias = Literal["added", "updated", "present", "removed", "absent"]


def add(
    file: Document,
    client: Client,
    command: Sequence[str],
    config: str,
    variables: Sequence[str],
    servers: str | None = None,
) -> tuple[Document, InstallResult]:
    """Add search-mcp to a client's file, or update its entry; `servers` is the value of the option `--servers`.

    Raises:
        ConfigError: the name is taken by another server, or the file cannot be edited.
    """
    name = next(iter(_ours(file, client)), REGISTERED_AS)
    before = file.members((client.root,)).get(name)
    if before is not None and not entries.is_ours(before):
        raise ConfigError(file.source, f'another server is called "{name}"', "rename or remove it")
    entry = entries.registration(client, command, config, variables, before or {}, servers)
    changed = file.put((client.root, name), entry)
    return changed, "added" if before is None else "present" if changed is file else "updated"


def chosen_servers(file: Document, client: Client) -> str | None:
    """Return the value of the option `--servers` in our entry; None if there is no entry, or no such option."""
    return next(map(entries.chosen_servers, _ours(file, client).values()), None)


def is_registered(file: Document, client: Client) -> bool:
    """Return whether a client's file starts search-mcp, with whatever configuration."""
    return bool(_ours(file, client))


def uses(file: Document, client: Client, config: Path) -> bool:
    """Return whether our entry in a client's file starts search-mcp with this configuration."""
    return any(str(config.absolute()) in (entries.program(entry) or ()) for entry in _ours(file, client).values())


def other_servers(file: Document, client: Client) -> tuple[list[Server], list[Server]]:
    """List the client's other servers: those that search-mcp can run without changes, then the rest."""
    others = [server for server in servers(file, client) if server.path[:-1] == (client.root,) and not server.is_ours]
    movable = [server for server in others if server.translation is not None and server.translation.runs]
    return movable, [server for server in others if server.translation is not None and server not in movable]


def without(file: Document, moved: Sequence[Server]) -> tuple[Document, dict[str, str]]:
    """Remove servers from a client's file; returns the text of each entry as well, by the server's name."""
    texts: dict[str, str] = {}
    for server in moved:
        file, text = file.cut(server.path)
        if text is not None:
            texts[server.name] = text
    return file, texts


def remove(file: Document, client: Client, moved: Moved | None) -> tuple[Document, InstallResult, list[str]]:
    """Remove search-mcp from a client's file, and restore the servers that were moved out of it.

    Returns as well the names that could not be restored, because another server has them now.

    Raises:
        ConfigError: the file cannot be edited.
    """
    changed = file
    if moved is not None and moved.matches(file):
        changed = replace(document.read(moved.before.encode(), file.format, file.source), has_mark=file.has_mark)
    for name in _ours(changed, client):
        changed = changed.drop((client.root, name))
    kept_out = []
    servers, texts = (moved.servers, moved.texts) if moved is not None else ({}, {})
    for name, entry in servers.items():
        present = changed.members((client.root,))
        if name not in present:
            path, text = (client.root, name), texts.get(name)
            changed = changed.put(path, entry) if text is None else changed.paste(path, text, entry)
        elif present[name] != entry:
            kept_out.append(name)
    return changed, "absent" if changed == file else "removed", kept_out


def variables(own: Document) -> list[str]:
    """List the environment variables that our configuration refers to."""
    named: dict[str, None] = {}
    for entry in own.members((ROOT,)).values():
        inherited = entry.get("inheritEnv") if isinstance(entry, dict) else None
        if isinstance(inherited, list):
            named |= dict.fromkeys(name for name in inherited if isinstance(name, str))
        named |= dict.fromkeys(name for text in _texts(entry) for name in references(text))
    return list(named)


def tags(own: Document) -> dict[str, list[str]]:
    """Return the tags of each server in our configuration."""
    found: dict[str, list[str]] = {}
    for name, entry in own.members((ROOT,)).items():
        given = entry.get("tags") if isinstance(entry, dict) else None
        found[name] = [each for each in given if isinstance(each, str)] if isinstance(given, list) else []
    return found


def _ours(file: Document, client: Client) -> dict[str, Any]:
    return {name: entry for name, entry in file.members((client.root,)).items() if entries.is_ours(entry)}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
