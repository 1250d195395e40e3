"""The files of AI clients on this machine that start search-mcp, and the servers that each client has by its entry."""

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from search_mcp.clients import found, installation, storage
from search_mcp.clients.document import Document
from search_mcp.clients.known import CLIENTS, Client, Machine
from search_mcp.model.errors import ConfigError


def this_machine() -> Machine:
    """Return this platform, and the user's environment."""
    return Machine(sys.platform, str(Path.home()), os.environ)


def registered(config: Path, clients: Sequence[Client] = CLIENTS) -> Iterator[tuple[Client, Document]]:
    """Yield the clients whose files start search-mcp with a configuration; files that cannot be read are left out."""
    machine = this_machine()
    for client in clients:
        for path in found.files(client, machine):
            with contextlib.suppress(ConfigError):
                document = storage.load(path, client.format).document
                if installation.uses(document, client, config):
                    yield client, document


def stored_subset(name: str, config: Path) -> str | None:
    """Return the value of `--servers` with which a client starts search-mcp; None if it has all servers."""
    entries = registered(config, [each for each in CLIENTS if each.name == name])
    return next(filter(None, (installation.chosen_servers(file, client) for client, file in entries)), None)
