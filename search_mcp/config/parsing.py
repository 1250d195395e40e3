"""Read the text of an `mcp-servers.json` into a `Config`.

Text, environment variables and folders are passed in. A fault of one server is that server's `problem`, a fault of the
file a `ConfigError`; both name the place and the remedy, and neither shows a value of `env` or `headers`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from search_mcp.config import blanks, entries, jsonc, unknown_keys
from search_mcp.config.jsonc import Document, KeyPath
from search_mcp.config.placeholders import Complaint, Places
from search_mcp.config.schema import (
    LOCAL_TYPES,
    Config,
    Embeddings,
    EmbeddingsAddress,
    Entry,
    File,
    OAuth,
    Search,
    ServerConfig,
    Settings,
    ToolFilter,
    keys,
)
from search_mcp.model.errors import ConfigError, for_shell
from search_mcp.wire import payload
from search_mcp.wire.structs import Struct

_ROOTS_OF_OTHER_CLIENTS = {
    "servers": "VS Code",
    "mcp": "opencode",
    "context_servers": "Zed",
    "extensions": "goose",
}
LONGEST_TEXT = 32 << 10
"""Most characters of a text of an entry; Linux takes at most 128 KiB, and the longest texts in use are keys."""
_LIMITS = {"callTimeoutSeconds", "maxCallSeconds", "idleStopSeconds", "maxResultCharacters"}


class FaultyFile(ConfigError):
    """A configuration file with faults; the message is that of the first."""

    def __init__(self, faults: Sequence[ConfigError], rest: Config) -> None:
        first = faults[0]
        super().__init__(first.source, first.problem, first.remedy, line=first.line, key=first.key)
        self.faults = tuple(faults)
        """All faults, in the order of their lines."""
        self.rest = rest
        """The configuration of the parts of the file without faults."""

    def __str__(self) -> str:
        first, *others = self.faults
        if not others:
            return str(first)
        return (
            f"{first} (and {len(others)} more: search-mcp config validate --config {for_shell(self.source)} names all)"
        )


def parse(
    text: str | bytes,
    *,
    source: str,
    variables: Mapping[str, str],
    home: str,
    config_dir: str,
    python: str,
    named: str = "",
) -> Config:
    """Read the text of an mcp-servers.json.

    `variables` looks up names as the platform does: on Windows it is `os.environ`, which ignores case.
    `named` is the path that commands have to pass with `--config`, if the file is not the user's own.

    Raises:
        FaultyFile: it is an object with servers, with faults in some places.
        ConfigError: it is not such an object.
    """
    document = jsonc.parse(text, source=source)
    faulty = _without_long_texts(document.value) if len(document.plain) > LONGEST_TEXT else []
    words = _with_field_names(document)
    file, faults = _read(document, words)
    places = Places(variables, home, config_dir, python, named)
    servers, problems = [], []
    of_servers: dict[object, list[Complaint]] = {}
    unknown = unknown_keys.find(document)
    for path, problem, remedy in (*faulty, *unknown_keys.misspelt(unknown)):
        if path[0] == "settings" or len(path) == 1:
            faults.append(document.error(path, problem, remedy))
        else:
            of_servers.setdefault(path[1], []).append((path[2:], problem, remedy))
    for name, entry in file.mcp_servers.items():
        defaults = entries.server_defaults(entry, words["mcp_servers"][name], file.settings)
        server, complaints = entries.resolve(name, entry, defaults, places, of_servers.get(name, ()))
        servers.append(server)
        problems += [_placed(document, name, complaint) for complaint in complaints if server.enabled]
    embeddings, about_embeddings = _embeddings(document, file, places)
    warnings = (*unknown_keys.warnings(document, unknown), *_warnings(document, file, named), *about_embeddings)
    config = Config(tuple(servers), file.settings, warnings, tuple(problems), embeddings=embeddings)
    faults += [*_unprintable_names(document, servers), *_equal_prefixes(document, servers)]
    if faults:
        raise FaultyFile(sorted(faults, key=lambda fault: fault.line or 0), config)
    return config


def _read(document: Document, words: object) -> tuple[File, list[ConfigError]]:
    """Return the valid parts of a file, and its faults."""
    try:
        return payload.convert(words, File), []
    except ValueError:
        # Pydantic locates the faults; importing it is slow, so this is done for a faulty file only.
        from search_mcp.config.validation import examine

        complaints, rest = examine(words)
        faults = [document.error(*complaint) for complaint in complaints]
        return payload.convert(rest, File), [*{str(fault): fault for fault in faults}.values()]


def _without_long_texts(root: Any) -> list[Complaint]:
    """Cut the texts of servers that are longer than `LONGEST_TEXT`, before any expression reads them."""
    complaints: list[Complaint] = []
    servers = root.get("mcpServers") if isinstance(root, dict) else None
    unread: list[tuple[KeyPath, Any]] = [(("mcpServers",), servers)]
    while unread:
        path, value = unread.pop()
        members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, inner in [*members]:
            if isinstance(key, str) and len(key) > LONGEST_TEXT:
                del value[key]
                complaints.append((path, f"a key in it is longer than {LONGEST_TEXT:,} characters", "shorten it"))
            elif isinstance(inner, str) and len(inner) > LONGEST_TEXT:
                value[key] = inner[:LONGEST_TEXT]
                problem = f"{'.'.join(map(str, (*path[2:], key)))} is longer than {LONGEST_TEXT:,} characters"
                complaints.append(((*path, key), problem, 'keep it in a file, and write "${file:PATH}"'))
            else:
                unread.append(((*path, key), inner))
    return complaints


def _with_field_names(document: Document) -> Any:
    """Replace the keys of a file by the field names of the models, and remove unknown keys."""
    if not isinstance(document.value, dict):
        return document.value
    if document.value.get("mcpServers") is None:
        raise _without_servers(document, document.value)
    file = _renamed(document.value, File)
    if isinstance(file["mcp_servers"], dict):
        file["mcp_servers"] = {name: _entry_with_field_names(entry) for name, entry in file["mcp_servers"].items()}
    if "settings" in file:
        file["settings"] = _settings_with_field_names(file["settings"])
    return file


def _settings_with_field_names(settings: Any) -> Any:
    settings = _renamed(settings, Settings)
    if isinstance(settings, dict) and isinstance(settings.get("search"), dict):
        search = settings["search"] = _renamed(settings["search"], Search)
        if "semantic" in search:
            search["semantic"] = _renamed(search["semantic"], Embeddings)
    return settings


def _entry_with_field_names(entry: Any) -> Any:
    entry = _renamed(entry, Entry)
    if isinstance(entry, dict) and "tools" in entry:
        tools = entry["tools"]
        # In Copilot CLI, `"tools": ["*"]` is a plain list of the allowed tools.
        entry["tools"] = {"allow": tools} if isinstance(tools, list) else _renamed(tools, ToolFilter)
    if isinstance(entry, dict) and isinstance(entry.get("oauth"), dict):
        entry["oauth"] = _renamed(entry["oauth"], OAuth)
        scopes = entry["oauth"].get("scopes")
        if isinstance(scopes, str):  # as Claude Code has them
            entry["oauth"]["scopes"] = scopes.split()
    return entry


def _renamed(value: Any, model: type[Struct]) -> Any:
    """Replace known keys by field names. Null means absent, as in other clients, except for limits: no limit."""
    if not isinstance(value, dict):
        return value
    known = keys(model)
    return {known[key]: each for key, each in value.items() if key in known and (each is not None or key in _LIMITS)}


def _without_servers(document: Document, root: Mapping[str, object]) -> ConfigError:
    for key, client in _ROOTS_OF_OTHER_CLIENTS.items():
        if key in root:
            problem = f"this looks like {client}'s format; the root key here is mcpServers"
            return document.error((key,), problem, f'write "mcpServers" for "{key}"')
    return document.error(("mcpServers",), 'no "mcpServers"', 'write {"mcpServers": {}} and the servers inside')


def _embeddings(document: Document, file: File, places: Places) -> tuple[EmbeddingsAddress | None, list[str]]:
    """Return the address that makes vectors of texts, and warnings about it."""
    written = file.settings.search.semantic
    if not isinstance(written, Embeddings):
        return None, []
    from search_mcp.config import embeddings  # for such configurations only

    address, complaints = embeddings.resolve(written, places)
    place = ("settings", "search", "semantic")
    found = (*complaints, *embeddings.remarks(address))
    return address, [str(document.error((*place, *path), problem, remedy)) for path, problem, remedy in found]


def _placed(document: Document, server: str, complaint: Complaint) -> ConfigError:
    path, problem, remedy = complaint
    return document.error(("mcpServers", server, *path), problem, remedy)


def _unprintable_names(document: Document, servers: Iterable[ServerConfig]) -> Iterator[ConfigError]:
    """Report names and prefixes that cannot be shown on one line; they are shown unquoted in many places."""
    for server in servers:
        for name in dict.fromkeys((server.name, server.effective_prefix)):
            if not name.isprintable():
                problem = f"{name!a} has characters that cannot be printed"
                yield document.error(("mcpServers",), problem, "leave them out of names and prefixes")


def _equal_prefixes(document: Document, servers: Iterable[ServerConfig]) -> Iterator[ConfigError]:
    """Report enabled servers with equal prefixes; variants of one server may be disabled."""
    owners: dict[str, str] = {}
    for server in servers:
        prefix = server.effective_prefix
        if not server.enabled or not prefix:
            continue
        if prefix in owners:
            problem = f'servers "{owners[prefix]}" and "{server.name}" have the same prefix "{prefix}"'
            remedy = 'give one of them another "prefix", or "enabled": false'
            yield document.error(("mcpServers", server.name, "prefix"), problem, remedy)
        owners[prefix] = server.name


# Warnings


def _warnings(document: Document, file: File, named: str) -> Iterator[str]:
    if file.settings.listing == "search" and file.settings.call_tool == "off":
        problem = 'with "listing": "search" most clients can call no tool that is not pinned'
        yield str(document.error(("settings", "callTool"), problem, 'write "all" or "read-only", or another listing'))
    for name, entry in file.mcp_servers.items():
        if entry.type and not entry.is_remote and entry.type.lower() not in LOCAL_TYPES:
            path = ("mcpServers", name, "type")
            yield str(document.error(path, "unknown type, treated as stdio", 'write "stdio" or remove it'))
        yield from (str(_placed(document, name, remark)) for remark in entries.remarks(entry))
        if entry.enabled and not entry.disabled:
            for part, key in blanks.blanks({"env": entry.env, "headers": entry.headers}):
                remedy = f"`{blanks.setting(name, key, named)}` asks for its value"
                yield str(document.error(("mcpServers", name, part, key), blanks.IS_BLANK, remedy))
