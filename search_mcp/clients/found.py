"""The clients' files on this machine, and the servers in them.

Decides which files belong to a client, and at which paths in a file its entries are.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from search_mcp.clients import document, entries
from search_mcp.clients.document import Document, Format
from search_mcp.clients.entries import Translation
from search_mcp.clients.known import CLIENTS, PASTED, Client, Machine
from search_mcp.model.errors import ConfigError

_PROJECTS = "projects"
_RELATIVE = ("./", "../", ".\\", "..\\")
_FORMATS: Mapping[str, Format] = {".toml": "toml", ".yaml": "yaml", ".yml": "yaml"}


def files(client: Client, machine: Machine) -> list[Path]:
    """Find the existing files in which a client keeps servers."""
    return [path for path, is_there in _places(client, machine) if is_there]


def targets(client: Client, machine: Machine) -> list[Path]:
    """Find the files to write a server into: one per folder, existing or new.

    A client that seems not to be installed has none.
    """
    chosen: dict[Path, Path] = {}
    home = Path(machine.home)
    for path, is_there in sorted(_places(client, machine), key=lambda place: not place[1]):
        if is_there or (path.parent.is_dir() and path.parent != home):
            chosen.setdefault(path.parent, path)
    return list(chosen.values())


def usual_file(client: Client, machine: Machine) -> Path:
    """Return the path that a client reads first, for a client that is not installed yet."""
    place = next(machine.places(client))
    return Path(place.base, place.name)


def _places(client: Client, machine: Machine) -> list[tuple[Path, bool]]:
    found: list[Path] = []
    for place in machine.places(client):
        folders = Path(place.base).glob(place.pattern) if place.pattern else [Path(place.base)]
        found += [folder / place.name for folder in sorted(folders)]
    return [(path, path.is_file()) for path in found]


def owner(path: Path, machine: Machine) -> Client:
    """Return the client that a file belongs to by its path; `PASTED` if it is no known client's."""
    for client in CLIENTS:
        if path in files(client, machine) or project_of(path, client, machine) is not None:
            return client
    return PASTED


def project_of(path: Path, client: Client, machine: Machine) -> str | None:
    """Return the folder of the project if the file is this client's file in a project; None otherwise."""
    parts = PurePath(client.project_file or "").parts
    if not parts or path.parts[-len(parts) :] != parts or path in files(client, machine):
        return None
    return str(path.parents[len(parts) - 1].resolve())


def format_of(path: Path, client: Client) -> Format:
    """Return the format of a file."""
    return _FORMATS.get(path.suffix.lower(), client.format)


def reader(file: Document, client: Client) -> Client:
    """Return the client whose root key a file of unknown origin has."""
    if client is not PASTED:
        return client
    return next((each for each in CLIENTS if each.root != PASTED.root and each.root in file.value), PASTED)


@dataclass(frozen=True)
class Server:
    """A server in a client's file."""

    client: Client
    source: str
    name: str
    path: tuple[str, ...]
    """Keys from the top of the file to its entry."""
    raw: Any
    translation: Translation | None

    @property
    def is_ours(self) -> bool:
        return entries.is_ours(self.raw)


def servers(file: Document, client: Client, project: str | None = None) -> Iterator[Server]:
    """Yield the servers in a file, with those of Claude Code's single projects last.

    `project` is the folder of the project, if it is a project's file.

    Raises:
        ConfigError: a value that should hold servers is not an object.
    """
    inputs, roots = _inputs(file), [*_roots(file, client)]
    for path in roots:
        folder = path[1] if path[0] == _PROJECTS else project
        for name, raw in file.members(path).items():
            if (*path, name) in roots:
                continue
            placed = raw if folder is None else _in_project(raw, folder)
            translation = entries.translate(placed, client, inputs, os.sep) if isinstance(placed, dict) else None
            yield Server(client, file.source, name, (*path, name), raw, translation)


def typed(name: str, entry: Mapping[str, Any]) -> Server:
    """Return a server from an entry given on the command line."""
    return Server(PASTED, "the command line", name, (name,), entry, entries.translate(entry, PASTED, {}, os.sep))


def written(name: str, entry: Mapping[str, Any]) -> Server:
    """Return a server from an entry that is ours already."""
    return Server(PASTED, "the command line", name, (name,), entry, Translation(entry, (), runs=True))


def tagged(server: Server, tags: Sequence[str]) -> Server:
    """Return a server with more tags in our entry."""
    translation = server.translation
    if not tags or translation is None:
        return server
    given = translation.entry.get("tags")
    every = list(dict.fromkeys([*(given if isinstance(given, list) else []), *tags]))
    return replace(server, translation=replace(translation, entry={**translation.entry, "tags": every}))


def pasted(text: str, name: str | None, source: str = "--json") -> list[Server]:
    """Parse servers copied from a README: with or without a client's root key, or a single entry.

    `name`, if given, replaces the name of a single server. Errors name the `source`.

    Raises:
        ConfigError: the text is not JSON, or holds no servers.
    """
    text = text.strip()
    file = document.read((f"{{{text}\n}}" if text.startswith('"') else text).encode(), "jsonc", source)
    value = file.value
    if isinstance(value.get("mcp"), dict) and "servers" in value["mcp"]:  # VS Code's settings
        file = Document(file.source, file.format, "", {**value, **value["mcp"]})
    client = reader(file, PASTED)
    if client.root not in file.value:
        inner = {value.get("name", ""): value} if entries.translate(value, client, {}, os.sep) else value
        file = Document(file.source, file.format, "", {client.root: inner})
    found = list(servers(file, client))
    if name is not None and len(found) != 1:
        raise ConfigError(source, f"it holds {len(found)} servers, which cannot all be {name}", "leave the name out")
    return [replace(server, name=name or server.name) for server in found]


def _roots(file: Document, client: Client) -> Iterator[tuple[str, ...]]:
    yield (client.root,)
    nested = file.members((client.root,)).get("servers")
    if client.shape == "opencode" and isinstance(nested, dict) and not {"type", "command", "url"} & nested.keys():
        yield (client.root, "servers")  # of its second version
    if client.name == "claude-code":
        for project, settings in file.members((_PROJECTS,)).items():
            if isinstance(settings, dict) and settings.get(client.root):
                yield (_PROJECTS, project, client.root)


def _in_project(raw: Any, project: str) -> Any:
    """Set the `cwd` of a project's server if its command names files in the project."""
    words = entries.program(raw) if isinstance(raw, dict) else None
    if words is None:
        return raw
    if isinstance(raw.get("cwd"), str):
        folder = os.path.join(project, raw["cwd"])  # noqa: PTH118
        return {**raw, "cwd": folder} if os.path.isdir(folder) else raw  # noqa: PTH112
    return {**raw, "cwd": project} if any(_is_path_from(word, project) for word in words) else raw


def _is_path_from(word: str, project: str) -> bool:
    """Return whether a word of a command line is a path relative to the project; `./` needs no existing file."""
    if word.startswith(_RELATIVE):
        return True
    # Unlike a path's own method, `exists` never raises.
    return word != "" and not os.path.isabs(word) and os.path.exists(os.path.join(project, word))  # noqa: PTH110, PTH117, PTH118


def _inputs(file: Document) -> dict[str, dict[str, Any]]:
    asked = file.value.get("inputs")
    named = [each for each in asked if isinstance(each, dict)] if isinstance(asked, list) else []
    return {each["id"]: each for each in named if isinstance(each.get("id"), str)}
