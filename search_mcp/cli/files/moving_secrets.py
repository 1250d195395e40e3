"""`secret`: moves the value of a variable or a header out of the configuration file, which gets a placeholder.

Decides which values can move: those without a placeholder. For the text of an example, or `${VARIABLE}` alone, the user
types the secret.
"""

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from search_mcp.cli import completion
from search_mcp.cli.files import stored_secrets
from search_mcp.cli.files.editing import unknown_server
from search_mcp.cli.files.own_file import in_turn, own_file, save
from search_mcp.cli.options import Options, takes
from search_mcp.cli.problem import FINE, Misuse, did_you_mean, similar_names
from search_mcp.clients import found, moved, storage
from search_mcp.clients.document import Document
from search_mcp.clients.known import CLIENTS
from search_mcp.clients.merging import ROOT
from search_mcp.clients.registered import this_machine
from search_mcp.config.blanks import PARTS, is_blank
from search_mcp.folders import state_folder
from search_mcp.model.errors import ConfigError

_VARIABLE = re.compile(r"\$\{(?:env:)?[A-Z_][A-Z0-9_]*\}")


@takes("config", "dry_run", "debug")
@in_turn()
def secret(
    options: Options,
    server: Annotated[
        str, typer.Argument(metavar="SERVER", help="Name of the server.", autocompletion=completion.server_names)
    ],
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The environment variable, or the header of a remote server.")
    ],
) -> int:
    """Move a secret from the config file to the system's keyring.

    Without a keyring, it goes to a file that only you can read.
    """
    screen, file = options.screen, own_file(options)
    path, value = _found(file.document, server, name)
    before, hidden = stored_secrets.parted(path[-1], value)
    stored = stored_secrets.placed(server, path[-1], hidden)
    changed = file.document.put(path, before + stored.placeholder)
    if options.dry_run:
        save(file, changed, options)
        return FINE
    if is_asked := _is_asked(path[-1], value):
        (typed,) = stored_secrets.asked([path[-1]], screen, stored.place)
        stored = replace(stored, value=typed.removeprefix(before))
    with stored_secrets.stored([stored]):
        save(file, changed, options)
    stored_secrets.tell([stored], screen)
    screen.paragraph(f"{file.path} has {stored.placeholder} in its place.")
    others = [] if is_asked else [str(each) for each in _with_copies(file.path) if _holds(each, hidden)]
    if others:
        screen.warning(f"the value is still in {', '.join(others)}; delete the backups once {server} works")
    return FINE


def _is_asked(name: str, value: str) -> bool:
    """Return whether the user has to type the secret in place of a value."""
    return is_blank(value) or _VARIABLE.fullmatch(stored_secrets.parted(name, value)[1]) is not None


def _with_copies(own: Path) -> Iterator[Path]:
    """Yield the files that may have a copy of a value: ours, those of clients, backups, and moved servers."""
    of_clients = (path for client in CLIENTS for path in found.files(client, this_machine()))
    for path in dict.fromkeys((own, *of_clients)):
        yield from (path, *storage.backups(path))
    yield state_folder() / moved.FILE_NAME


def _holds(path: Path, secret: str) -> bool:
    """Return whether a file has a secret, as it is or within a string of JSON; false if it cannot be read."""
    forms = (secret, *(json.dumps(secret, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False)))
    with contextlib.suppress(ConfigError):
        data = storage.read(path) or b""
        return any(form.encode(errors="surrogateescape") in data for form in forms)
    return False


def _found(own: Document, server: str, name: str) -> tuple[tuple[str, ...], str]:
    """Return the place of a value in the file, and the value.

    Raises:
        Misuse: it is missing, no string, or has a placeholder.
    """
    if server not in own.members((ROOT,)):
        raise unknown_server(own, server)
    present = {key: (ROOT, server, place, key) for place in PARTS for key in own.members((ROOT, server, place))}
    headers = (each for each in present if each.lower() == name.lower() and present[each][2] == "headers")
    key = name if name in present else next(headers, None)
    if key is None:
        otherwise = f"it has {', '.join(present)}" if present else "it has none"
        raise Misuse(
            f"{server} has no variable or header {name!r}", did_you_mean(similar_names(name, present), otherwise)
        )
    value = own.members(present[key][:-1])[key]
    if not isinstance(value, str) or not value:
        raise Misuse(f"{name} of {server} is empty, or not a string", "write its value as a string")
    if "${" in value and not _is_asked(key, value):
        raise Misuse(f"{name} of {server} is a placeholder already", "there is nothing to move")
    return present[key], value
