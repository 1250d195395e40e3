"""Read the text of an `mcp-servers.json` into a `Config`.

Text, environment variables and folders are passed in. A fault of one server is that server's `problem`, a fault of the
file a `ConfigError`; both name the place and the remedy, and neither shows a value of `env` or `headers`.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import Any

from search_mcp.config import identity, jsonc
from search_mcp.config.jsonc import Document, KeyPath
from search_mcp.config.placeholders import Complaint, Expansion, Places, Values, may_have_sources
from search_mcp.config.schema import (
    LOCAL_TYPES,
    PROTECTIVE,
    SERVER_KEYS,
    Config,
    Embeddings,
    EmbeddingsAddress,
    Entry,
    File,
    OAuth,
    Remote,
    Search,
    ServerConfig,
    ServerDefaults,
    Settings,
    ToolFilter,
    Unfilled,
    keys,
)
from search_mcp.config.secrets import Redactor, find_secrets, spellings
from search_mcp.model.errors import ConfigError, for_shell
from search_mcp.model.similar import closest
from search_mcp.wire import payload, structs
from search_mcp.wire.structs import Struct

_KEYS_OF_OTHER_CLIENTS = {  # with what to use here
    **dict.fromkeys(("alwaysAllow", "autoApprove", "trust"), "the client's own approval"),
    **dict.fromkeys(("includeTools", "enabledTools"), '"tools": {"allow": [...]}'),
    **dict.fromkeys(("excludeTools", "disabledTools"), '"tools": {"deny": [...]}'),
    **dict.fromkeys(("timeout", "tool_timeout_sec"), '"callTimeoutSeconds"'),
    **dict.fromkeys(("envFile", "environment", "envs"), '"env"'),
    **dict.fromkeys(("transport", "transportType"), '"type"'),
    "alwaysLoad": '"pinned"',
    "cmd": '"command"',
    "env_vars": '"inheritEnv"',
    "startup_timeout_sec": '"startTimeoutSeconds"',
}
_ROOTS_OF_OTHER_CLIENTS = {
    "servers": "VS Code",
    "mcp": "opencode",
    "context_servers": "Zed",
    "extensions": "goose",
}
_SHORT_KEY = 4
"""Characters of a short key, in which one transposition is a large part of the key."""
_MOST_UNKNOWN = 200
"""Different unknown keys of a file. Each is compared with the known ones, which takes 0.2 ms; all may be misspelt."""
_MOST_NAMED = 20
"""Unknown keys that warnings name; the others are counted."""
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
    places = Places(variables, home, config_dir, python)
    servers, problems = [], []
    of_servers: dict[object, list[Complaint]] = {}
    unknown = _unknown(document)
    for path, problem, remedy in (*faulty, *_misspelt(unknown)):
        if path[0] == "settings" or len(path) == 1:
            faults.append(document.error(path, problem, remedy))
        else:
            of_servers.setdefault(path[1], []).append((path[2:], problem, remedy))
    for name, entry in file.mcp_servers.items():
        defaults = _defaults(entry, words["mcp_servers"][name], file.settings)
        server, complaints = _resolve(name, entry, defaults, places, of_servers.get(name, ()))
        servers.append(_in_file(server, named) if named else server)
        problems += [_placed(document, name, complaint) for complaint in complaints if server.enabled]
    embeddings, about_embeddings = _embeddings(document, file, places, named)
    warnings = (*_warnings(document, file, unknown), *about_embeddings)
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


# From an entry of the file to a server that can be started


def _defaults(entry: Entry, said: Collection[str], settings: Settings) -> dict[str, Any]:
    """Return the fields that an entry and `settings` share, from the entry if it sets them."""
    return {name: getattr(entry if name in said else settings, name) for name in ServerDefaults.__struct_fields__}


def _in_file(server: ServerConfig, named: str) -> ServerConfig:
    """Return a server as one of another file than the user's own."""
    unfilled = server.unfilled
    if unfilled is not None:
        unfilled = structs.replace(unfilled, is_own_file=False)
    return structs.replace(server, file=named, unfilled=unfilled)


def filled(server: ServerConfig, values: Values) -> ServerConfig:
    """Fill in the values of a server's sources of secrets; its `problem` says whether one does not fit its place."""
    assert server.unfilled is not None
    defaults = {name: getattr(server, name) for name in ServerDefaults.__struct_fields__}
    found, _ = _resolve(server.name, server.unfilled.entry, defaults, server.unfilled.places, values=values)
    remote = found.remote
    if remote is not None and server.remote is not None:
        remote = structs.replace(remote, public_url=server.remote.public_url)  # with the placeholders
    return structs.replace(
        server,
        remote=remote,
        args=found.args,
        env=found.env,
        secrets=server.secrets | found.secrets,
        problem=found.problem,
        unfilled=None,
    )


def _resolve(
    name: str,
    entry: Entry,
    defaults: Mapping[str, Any],
    places: Places,
    faulty: Sequence[Complaint] = (),
    values: Values | None = None,
) -> tuple[ServerConfig, Sequence[Complaint]]:
    """Make the server of an entry; also return the faults that prevent its start.

    `values` are those of its sources of secrets; without them, the sources stay placeholders.
    """
    expansion = Expansion(places, values)
    command = expansion.expand(entry.command, "command")
    args = tuple(expansion.expand(arg, "args") for arg in entry.args)
    env = {key: expansion.expand(value, "env", key) for key, value in entry.env.items()}
    cwd = str(PurePath(places.config_dir) / expansion.expand(entry.cwd, "cwd")) if entry.cwd else None
    remote = None
    if entry.is_remote:
        from search_mcp.config.addresses import resolve  # for remote servers only

        remote = resolve(entry, expansion, places.config_dir)
    is_filled = values is not None or not expansion.sources
    complaints = [*faulty, *_complaints(name, entry, command, remote, is_filled=is_filled), *expansion.complaints]
    # A command may contain its arguments, by mistake.
    written = {"command": command.split()[1:], "args": args, "env": env, **_secret_parts(entry, remote)}
    found, unfilled = find_secrets(written), None
    if expansion.sources and values is None:
        unfilled = Unfilled(sources=tuple(expansion.sources), places=places, entry=entry)
        found = (each for each in found if not may_have_sources(each))
    server = ServerConfig(
        name=name,
        command="" if remote is not None else command,
        remote=remote,
        args=args,
        env=env,
        cwd=cwd,
        enabled=entry.enabled and not entry.disabled,
        problem=next((f"{problem}; {remedy}" for _, problem, remedy in complaints), None),
        description=entry.description,
        tags=entry.tags,
        share=entry.share,
        **(_watched(entry, cwd or places.config_dir) if entry.watch and not entry.is_remote else {}),
        prefix=entry.prefix,
        allow=entry.tools.allow or (),
        deny=("*",) if entry.tools.allow == () else entry.tools.deny,  # an empty list allows nothing
        pinned=entry.pinned,
        rename=entry.rename,
        describe=entry.describe,
        result_size=entry.result_size,
        secrets=_secrets((*expansion.secrets, *found), places, name),
        unfilled=unfilled,
        program=identity.program(entry, defaults["inherit_env"]),
        **defaults,
    )
    return server, complaints


def _watched(entry: Entry, folder: str) -> dict[str, Any]:
    from search_mcp.config.watch_patterns import usable  # for servers under development only

    return {"watch": usable(entry.watch), "watch_folder": folder}


def _embeddings(
    document: Document, file: File, places: Places, named: str
) -> tuple[EmbeddingsAddress | None, list[str]]:
    """Return the address that makes vectors of texts, and warnings about it."""
    written = file.settings.search.semantic
    if not isinstance(written, Embeddings):
        return None, []
    from search_mcp.config import embeddings  # for such configurations only

    address, complaints = embeddings.resolve(written, places)
    if named and address.unfilled is not None:
        address = structs.replace(address, unfilled=structs.replace(address.unfilled, is_own_file=False))
    place = ("settings", "search", "semantic")
    found = (*complaints, *embeddings.remarks(address))
    return address, [str(document.error((*place, *path), problem, remedy)) for path, problem, remedy in found]


def _secret_parts(entry: Entry, remote: Remote | None) -> dict[str, object]:
    """Return the parts of an address that may be secret, with placeholders filled in."""
    if remote is None:
        return {"headers": entry.headers}
    secret = remote.oauth.client_secret if remote.oauth is not None else ""
    return {"headers": remote.headers, "url": remote.url, "clientSecret": secret}


def _complaints(
    name: str, entry: Entry, command: str, remote: Remote | None, *, is_filled: bool
) -> Iterable[Complaint]:
    if entry.is_remote:
        from search_mcp.config import addresses

        return addresses.complaints(entry, remote, is_filled=is_filled)
    if command.startswith(("http://", "https://")):
        remedy = f"`search-mcp enable {for_shell(name)}` writes it as its url"
        return [(("command",), "its command is the address of a remote server", remedy)]
    if not command.strip():
        remedy = 'write the program that starts it, such as "command": "npx", or the "url" of a remote server'
        return [(("command",), 'it has no "command"', remedy)]
    return []


def in_words(command: str, is_there: Callable[[str], bool] = lambda _program: False) -> str | None:
    """Write the remedy for a command that contains its arguments; `None` for any other.

    `is_there` returns whether a program exists.
    """
    program, *args = command.split() or [""]
    # Paths and placeholders may contain spaces.
    if not args or (re.search(r"[/\\$]", program) and not is_there(program)):
        return None
    redact = Redactor(spellings(find_secrets({"args": args, "env": {}, "headers": {}})))
    written = ", ".join(redact(payload.encode_bytes(arg).decode()) for arg in args)
    return f'write "command": "{program}", "args": [{written}]'


def _placed(document: Document, server: str, complaint: Complaint) -> ConfigError:
    path, problem, remedy = complaint
    return document.error(("mcpServers", server, *path), problem, remedy)


def _secrets(values: Iterable[str], places: Places, server: str) -> frozenset[str]:
    """Return the spellings of secret values, except parts of the server's name, which messages and logs contain."""
    public = {places.home, places.config_dir, places.python, places.variables.get("HOME")}
    return spellings(value for value in values if value not in public and value not in server)


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


def _unknown(document: Document) -> Mapping[KeyPath, str | None]:
    """Find unknown keys, each with the known key that it probably is a misspelling of.

    Raises:
        ConfigError: there are too many.
    """
    unknown = {
        (*path, key): known
        for path, found, known in _objects(document.value)
        if isinstance(found, dict)
        for key in found
        if key not in known
    }
    different = {path[-1] for path in unknown}
    if len(different) > _MOST_UNKNOWN:
        raise ConfigError(document.source, f"it has {len(different):,} different unknown keys", "remove them")
    return {path: _meant(str(path[-1]), frozenset(known)) for path, known in unknown.items()}


def _misspelt(unknown: Mapping[KeyPath, str | None]) -> list[Complaint]:
    """Return the unknown keys that are probably misspellings of a protective key."""
    return [
        (path, f'unknown key "{path[-1]}", similar to "{key}"', f'write "{key}", or remove it')
        for path, key in unknown.items()
        if key in PROTECTIVE
    ]


def _warnings(document: Document, file: File, unknown: Mapping[KeyPath, str | None]) -> Iterator[str]:
    in_order = document.lines if unknown else ()  # of the text
    ignored = [path for path in in_order if path in unknown and unknown[path] not in PROTECTIVE]
    for path in ignored[:_MOST_NAMED]:
        yield str(document.error(path, *_about_unknown(str(path[-1]), unknown[path])))
    if len(ignored) > _MOST_NAMED:
        yield f"{document.source}: {len(ignored) - _MOST_NAMED:,} more unknown keys are ignored"
    if file.settings.listing == "search" and file.settings.call_tool == "off":
        problem = 'with "listing": "search" most clients can call no tool that is not pinned'
        yield str(document.error(("settings", "callTool"), problem, 'write "all" or "read-only", or another listing'))
    for name, entry in file.mcp_servers.items():
        if entry.type and not entry.is_remote and entry.type.lower() not in LOCAL_TYPES:
            path = ("mcpServers", name, "type")
            yield str(document.error(path, "unknown type, treated as stdio", 'write "stdio" or remove it'))
        if entry.is_remote:
            from search_mcp.config import addresses

            remarks: Iterable[Complaint] = addresses.warnings(entry)
        else:
            remarks = _words_to_split(entry)
        if entry.watch:
            from search_mcp.config import watch_patterns

            remarks = [*remarks, *watch_patterns.complaints(entry.watch, is_remote=entry.is_remote)]
        yield from (str(document.error(("mcpServers", name, *path), *about)) for path, *about in remarks)


def _words_to_split(entry: Entry) -> Iterator[tuple[KeyPath, str, str]]:
    """Find words that a shell would split, and that are passed as one word here."""
    if remedy := in_words(entry.command):
        yield ("command",), "contains its arguments", remedy
    for arg in entry.args:
        if found := re.match(r"(-{1,2}[A-Za-z][\w-]*)\s+\S", arg):
            yield ("args",), f'"{found[1]} ..." is one argument', f'write two: "{found[1]}" and the rest'


def _objects(root: Any) -> Iterator[tuple[KeyPath, object, Collection[str]]]:
    """Yield the objects of a file that have fixed keys, with their path and known keys."""
    if not isinstance(root, dict):
        return
    yield (), root, {"$schema", *keys(File)}
    settings = root.get("settings")
    yield ("settings",), settings, keys(Settings)
    search = settings.get("search") if isinstance(settings, dict) else None
    yield ("settings", "search"), search, keys(Search)
    semantic = search.get("semantic") if isinstance(search, dict) else None
    yield ("settings", "search", "semantic"), semantic, keys(Embeddings)
    servers = root["mcpServers"]
    for name, entry in servers.items() if isinstance(servers, dict) else ():
        yield ("mcpServers", name), entry, SERVER_KEYS
        if isinstance(entry, dict):
            yield ("mcpServers", name, "tools"), entry.get("tools"), keys(ToolFilter)
            yield ("mcpServers", name, "oauth"), entry.get("oauth"), keys(OAuth)


def _about_unknown(key: str, meant: str | None) -> tuple[str, str]:
    if key in _KEYS_OF_OTHER_CLIENTS:
        return "a key of other clients, ignored here", f"use {_KEYS_OF_OTHER_CLIENTS[key]}"
    return "unknown key, ignored", "remove it" if meant is None else f'did you mean "{meant}"?'


@lru_cache(8 * _MOST_UNKNOWN)  # there are eight kinds of objects
def _meant(key: str, known: frozenset[str]) -> str | None:
    """Return the known key that a misspelt key is most similar to, if it is similar enough."""
    if key in _KEYS_OF_OTHER_CLIENTS:
        return None
    folded = {_fold(name): name for name in known}
    meant = closest(_fold(key), folded, 0.75 if len(key) > _SHORT_KEY else 0.65)  # "evn" is "env" to two thirds
    return None if meant is None else folded[meant]


def _fold(key: str) -> str:
    return re.sub("[^a-z]", "", key.lower())
