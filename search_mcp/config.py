"""The configuration: what mcp-servers.json means.

Decides which servers there are and how each is started, with placeholders filled in and defaults applied;
which keys are errors, which only warnings. It must not know where text, environment variables and folders
come from: all are passed in. A fault of one server is that server's `problem`, a fault of the file is a
`ConfigError`; both say where and what to do, and neither ever shows a value out of `env` or `headers`.
"""

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path, PurePath
from typing import Annotated, Any, Final, Literal

from search_mcp import jsonc, secrecy
from search_mcp.jsonc import Document, KeyPath
from search_mcp.model.errors import ConfigError, for_shell
from search_mcp.placeholders import Complaint, Expansion, Places, at_home
from search_mcp.wire import payload, structs
from search_mcp.wire.structs import Meta, Struct, field

FILE_NAME = "mcp-servers.json"
FILE_VARIABLE = "SEARCH_MCP_CONFIG"

LONGEST_COMMAND = 300
"""Characters of a command in a status or a log line; `search-mcp check --accept` shows all of it."""

_LOCAL_TYPES = {"stdio", "local"}
_WEBSOCKETS = {"ws", "websocket"}
_REMOTE_TYPES = {"http", "https", "sse", "streamable-http", "streamablehttp", *_WEBSOCKETS}

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

_SEPARATOR = "^(auto|[._-]{1,4})$"


_Strings = tuple[str, ...]
_Seconds = Annotated[float, Meta(gt=0, le=sys.float_info.max)]
_Number = Annotated[int, Meta(gt=0)]
_NameLength = Annotated[int, Meta(ge=16)]
_Separator = Annotated[str, Meta(pattern=_SEPARATOR)]
_Name = Annotated[str, Meta(min_length=1)]
_Protocol = Literal["auto", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]

_PROTECTIVE = frozenset({"allow", "deny", "tools", "readOnly", "pinTools", "callTool", "confirmCommands"})
"""Keys that keep something from being done: a misspelt one is a fault, or all would be done without a word."""
_SHORT_KEY = 4
"""Characters; in a key this short a transposition is a larger part of it."""
_LIMITS = {"callTimeoutSeconds", "maxCallSeconds", "idleStopSeconds"}


def camel(name: str) -> str:
    """Spell a field's name as the file does."""
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)


class ServerDefaults(Struct, frozen=True, kw_only=True):
    """What a server may say for itself and `settings` for all."""

    startup: Literal["auto", "eager", "lazy"] = "auto"
    call_timeout_seconds: _Seconds | None = None
    max_call_seconds: _Seconds | None = None
    start_timeout_seconds: _Seconds = 60.0
    idle_stop_seconds: _Seconds | None = None
    protocol: _Protocol = "auto"
    inherit_env: bool | _Strings = False
    pin_tools: bool = False
    read_only: bool = False


class Settings(ServerDefaults, frozen=True, kw_only=True):
    """The `settings` of the file; may also be built from Python, by field names."""

    listing: Literal["auto", "light", "full", "search"] = "auto"
    separator: _Separator = "auto"
    max_name_length: Literal["auto"] | _NameLength = "auto"
    description_length: _Number = 120
    max_message_bytes: _Number = 64 * 1024 * 1024
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    first_list_seconds: Literal["auto"] | _Seconds = "auto"
    call_tool: Literal["all", "read-only", "off"] = "all"
    confirm_commands: bool | None = None


class ServerConfig(ServerDefaults, frozen=True, kw_only=True):
    """One server of the file, with placeholders filled in and the defaults of `settings` applied."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    enabled: bool = True
    problem: str | None = None
    """Why it cannot be started and what to do about it, in one sentence."""
    description: str | None = None
    tags: tuple[str, ...] = ()
    prefix: str | None = None
    """None: the server's name. Empty: its tools keep their bare names."""
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict)
    describe: Mapping[str, str] = field(default_factory=dict)
    secrets: frozenset[str] = frozenset()
    """What messages must not show: see `redact`."""
    program: bytes = b""
    """How it is started or reached, as JSON, before placeholders are filled in: this is what a user trusts."""
    held: str | None = None
    """Why it must not be started before the user has accepted its program."""
    file: str = ""
    """The configuration file that a command for it has to name; empty for the user's own."""

    def check(self, *options: str) -> str:
        """Write the command that checks this server, for a person to copy."""
        named = ("--config", for_shell(self.file)) if self.file else ()
        return " ".join(("search-mcp check", *options, for_shell(self.name), *named))

    @property
    def remedies(self) -> tuple[str, str]:
        """The commands that show what of it is not accepted, and that accept it."""
        return self.check(), self.check("--accept")

    @property
    def may_run(self) -> bool:
        """Whether it is switched on and not held."""
        return self.enabled and self.held is None

    def __repr__(self) -> str:  # args and env hold secrets too
        state = "disabled" if not self.enabled else self.problem or "enabled"
        return f"<ServerConfig {self.name}: {state}>"

    def __rich_repr__(self) -> list[tuple[str, Any]]:  # a struct's own shows everything
        return [("name", self.name)]


class Config(Struct, frozen=True, eq=False):
    """A whole file; `servers` in its order."""

    servers: tuple[ServerConfig, ...]
    settings: Settings
    warnings: tuple[str, ...]
    problems: tuple[ConfigError, ...] = ()
    """All that keeps enabled servers from being started, in their order."""

    def __eq__(self, other: object) -> bool:  # the servers know of the problems
        return isinstance(other, Config) and self._meaning == other._meaning

    __hash__ = None  # type: ignore[assignment]

    @property
    def _meaning(self) -> object:
        return self.servers, self.settings, self.warnings

    @property
    def secrets(self) -> frozenset[str]:
        """What messages about any of its servers must not show."""
        return frozenset[str]().union(*(server.secrets for server in self.servers))


NOTHING: Final = Config((), Settings(), ())
"""What a file says that cannot be read at all."""


class FaultyFile(ConfigError):
    """A file that cannot be used: reads as its first fault."""

    def __init__(self, faults: Sequence[ConfigError], rest: Config) -> None:
        first = faults[0]
        super().__init__(first.source, first.problem, first.remedy, line=first.line, key=first.key)
        self.faults = tuple(faults)
        """All of them, in the order of their lines."""
        self.rest = rest
        """What the file says where it has no fault."""

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

    `variables` looks names up as the platform does: on Windows `os.environ` itself, which ignores case.
    `named` is what a command has to name with `--config` to read this file, if it has to.

    Raises:
        FaultyFile: it is an object with servers, but wrong in some places.
        ConfigError: it is not even that.
    """
    document = jsonc.parse(text, source=source)
    words = _in_our_words(document)
    file, faults = _read(document, words)
    places = Places(variables, home, config_dir, python)
    servers, problems = [], []
    misspelt = _misspelt(document)
    faults += [document.error(*each) for each in misspelt if each[0][0] == "settings"]
    for name, entry in file.mcp_servers.items():
        said = words["mcp_servers"][name]
        of_server = [
            (path[2:], problem, remedy) for path, problem, remedy in misspelt if path[:2] == ("mcpServers", name)
        ]
        server, complaints = _resolve(name, entry, _defaults(entry, said, file.settings), places, of_server)
        servers.append(structs.altered(server, file=named) if named else server)
        problems += [_placed(document, name, complaint) for complaint in complaints if server.enabled]
    config = Config(tuple(servers), file.settings, tuple(_warnings(document, file)), tuple(problems))
    faults += _equal_prefixes(document, servers)
    if faults:
        raise FaultyFile(sorted(faults, key=lambda fault: fault.line or 0), config)
    return config


def candidates(
    explicit: str | None, variables: Mapping[str, str], cwd: Path | None, user_dir: Path
) -> tuple[Path, ...]:
    """Name the files to look for, best first; one that was asked for is the only one.

    `cwd` is `None` if the current folder was deleted.

    Raises:
        ConfigError: the one that was asked for cannot be told.
    """
    if asked_for := explicit or variables.get(FILE_VARIABLE):
        # No shell has expanded what stands in a client's config file.
        home = variables.get("HOME") or variables.get("USERPROFILE")
        path = Path(at_home(asked_for, home or "~"))
        if not home and at_home(asked_for, "/") != asked_for:
            raise ConfigError(asked_for, "HOME is not set, so ~ means nothing", "write an absolute path")
        if not path.root and not explicit:  # it would name another file in each folder, a stranger's too
            raise ConfigError(FILE_VARIABLE, f"{asked_for} is a relative path", "write an absolute one")
        if cwd is None and not path.root:
            raise ConfigError(asked_for, "the current folder is gone", "write an absolute path")
        return (path if cwd is None else cwd / path,)
    found = () if cwd is None else (cwd / "config" / FILE_NAME,)
    return (*found, user_dir / FILE_NAME)


def redact(text: str, secrets: Iterable[str]) -> str:
    """Blot out secrets; the longest first, so that no part of one is left where another begins it."""
    for secret in sorted(filter(None, secrets), key=lambda secret: (-len(secret), secret)):
        text = text.replace(secret, "***")
    return text


def command_line(server: ServerConfig) -> str:
    """Write a server's command as the file has it and a shell reads it: without secrets, on one line, cut."""
    entry = payload.value(server.program) or {}
    words = [entry.get("command", ""), *secrecy.shown_arguments(entry.get("args", ()))]
    line = import_module("shlex").join(filter(None, words))  # for the few that are held, not for every start
    line = "".join(each if each.isprintable() else " " for each in line)
    return line if len(line) <= LONGEST_COMMAND else f"{line[: LONGEST_COMMAND - 1]}…"


# From JSON to models.


class ToolFilter(Struct, frozen=True, kw_only=True):
    """Globs over the names of a server's tools."""

    allow: _Strings | None = None
    deny: _Strings = ()


class Entry(ServerDefaults, frozen=True, kw_only=True):
    """What the file says of one server."""

    command: str = ""
    args: _Strings = ()
    env: dict[str, str] = field(default_factory=dict)
    cwd: str = ""
    enabled: bool = True
    disabled: bool = False
    type: str = ""
    description: str | None = None
    tags: _Strings = ()
    prefix: str | None = None
    tools: ToolFilter = ToolFilter()
    pinned: _Strings = ()
    rename: dict[str, str] = field(default_factory=dict)
    describe: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    url: object = None
    server_url: object = None
    http_url: object = None

    @property
    def is_remote(self) -> bool:
        kind = self.type.lower().replace("_", "-")
        return kind in _REMOTE_TYPES or (self.has_url and kind not in _LOCAL_TYPES)

    @property
    def has_url(self) -> bool:
        return any(url is not None for url in (self.url, self.server_url, self.http_url))


class File(Struct, frozen=True, kw_only=True):
    """A whole file, as it is written."""

    mcp_servers: dict[_Name, Entry]
    settings: Settings = Settings()


def _read(document: Document, words: object) -> tuple[File, list[ConfigError]]:
    """Read a file; where it is wrong in places, the rest of it, and what is wrong."""
    try:
        return payload.convert(words, File), []
    except ValueError:
        # Pydantic knows where the faults are; it takes longer to load than all the rest, so only a wrong file pays.
        complaints, rest = import_module("search_mcp.diagnosis").examine(words)
        faults = [document.error(*complaint) for complaint in complaints]
        return payload.convert(rest, File), [*{str(fault): fault for fault in faults}.values()]


def _in_our_words(document: Document) -> Any:
    """Name the keys of a file as the models do, and leave out what they do not know."""
    if not isinstance(document.value, dict):
        return document.value
    if document.value.get("mcpServers") is None:
        raise _without_servers(document, document.value)
    file = _renamed(document.value, File)
    if isinstance(file["mcp_servers"], dict):
        file["mcp_servers"] = {name: _entry_in_our_words(entry) for name, entry in file["mcp_servers"].items()}
    if "settings" in file:
        file["settings"] = _renamed(file["settings"], Settings)
    return file


def _entry_in_our_words(entry: Any) -> Any:
    entry = _renamed(entry, Entry)
    if isinstance(entry, dict) and "tools" in entry:
        tools = entry["tools"]
        # Copilot CLI's `"tools": ["*"]` is a plain list of what is allowed.
        entry["tools"] = {"allow": tools} if isinstance(tools, list) else _renamed(tools, ToolFilter)
    return entry


def _renamed(value: Any, model: type[Struct]) -> Any:
    """Treat null as other clients do, as absent; only of a limit it says something: none, whatever the default."""
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


@cache
def keys(model: type[Struct]) -> Mapping[str, str]:
    """Give the names of a model's fields by their keys in the file."""
    return {camel(name): name for name in model.__struct_fields__}


SERVER_KEYS = frozenset(keys(Entry))
"""The keys of a server's entry that mean something here."""


# From an entry of the file to a server that can be started.


def _defaults(entry: Entry, said: Collection[str], settings: Settings) -> dict[str, Any]:
    """What an entry may leave to `settings`: whatever it did not say."""
    return {name: getattr(entry if name in said else settings, name) for name in ServerDefaults.__struct_fields__}


def _resolve(
    name: str, entry: Entry, defaults: Mapping[str, Any], places: Places, misspelt: Sequence[Complaint] = ()
) -> tuple[ServerConfig, Sequence[Complaint]]:
    """Fill in an entry, and say what keeps the server from being started."""
    expansion = Expansion(places)
    command = expansion.expand(entry.command, "command")
    args = tuple(expansion.expand(arg, "args") for arg in entry.args)
    env = {key: expansion.expand(value, "env", key) for key, value in entry.env.items()}
    cwd = str(PurePath(places.config_dir) / expansion.expand(entry.cwd, "cwd")) if entry.cwd else None
    complaints = [*misspelt, *_complaints(name, entry, command, expansion.complaints)]
    written = {"args": args, "env": env, "headers": entry.headers}
    server = ServerConfig(
        name=name,
        command=command,
        args=args,
        env=env,
        cwd=cwd,
        enabled=entry.enabled and not entry.disabled,
        problem=next((f"{problem}; {remedy}" for _, problem, remedy in complaints), None),
        description=entry.description,
        tags=entry.tags,
        prefix=entry.prefix,
        allow=entry.tools.allow or (),
        deny=("*",) if entry.tools.allow == () else entry.tools.deny,  # a list of nothing allows nothing
        pinned=entry.pinned,
        rename=entry.rename,
        describe=entry.describe,
        secrets=_secrets((*expansion.secrets, *secrecy.find(written)), places, name),
        program=_program(entry, defaults["inherit_env"]),
        **defaults,
    )
    return server, complaints


def _program(entry: Entry, inherit_env: bool | _Strings) -> bytes:
    """Write down how a server is started or reached; the order of its variables and headers does not matter."""
    program = {
        "command": entry.command,
        "args": entry.args,
        "env": dict(sorted(entry.env.items())),
        "cwd": entry.cwd,
        "url": entry.url,
        "serverUrl": entry.server_url,
        "httpUrl": entry.http_url,
        "headers": dict(sorted(entry.headers.items())),
        "inheritEnv": inherit_env,
    }
    return payload.encode_bytes({key: value for key, value in program.items() if value})


def _complaints(name: str, entry: Entry, command: str, unresolved: Sequence[Complaint]) -> Sequence[Complaint]:
    if entry.type.lower() in _WEBSOCKETS or str(entry.url).startswith(("ws:", "wss:")):
        return [((), "it is a WebSocket server, which this version does not reach", "use its https address")]
    if entry.is_remote:
        remedy = f"`search-mcp enable {for_shell(name)}` makes it run through npx mcp-remote"
        if not entry.has_url:
            remedy = 'write its "url"; if it is a program, remove "type"'
        return [((), "it is a remote (HTTP) server, which this version does not reach by itself", remedy)]
    if command.startswith(("http://", "https://")):
        remedy = f"`search-mcp enable {for_shell(name)}` makes it run through npx mcp-remote"
        return [(("command",), "its command is the address of a remote server", remedy)]
    if not command.strip():
        remedy = 'write the program that starts it, such as "command": "npx"'
        return [(("command",), 'it has no "command"', remedy), *unresolved]
    return unresolved


def in_words(command: str) -> str | None:
    """Write the remedy for a command that holds its arguments too; None for any other."""
    program, *args = command.split() or [""]
    if not args or re.search(r"[/\\$]", program):  # a path may have spaces, a placeholder too
        return None
    secrets = secrecy.spellings(secrecy.find({"args": args, "env": {}, "headers": {}}))
    written = ", ".join(redact(payload.encode_bytes(arg).decode(), secrets) for arg in args)
    return f'write "command": "{program}", "args": [{written}]'


def _placed(document: Document, server: str, complaint: Complaint) -> ConfigError:
    path, problem, remedy = complaint
    return document.error(("mcpServers", server, *path), problem, remedy)


def _secrets(values: Iterable[str], places: Places, server: str) -> frozenset[str]:
    """Spell what is secret; a part of the server's own name is not, which says everywhere who is speaking."""
    public = {places.home, places.config_dir, places.python, places.variables.get("HOME")}
    return secrecy.spellings(value for value in values if value not in public and value not in server)


def _equal_prefixes(document: Document, servers: Iterable[ServerConfig]) -> Iterator[ConfigError]:
    """Refuse servers that would mix their tools; of two variants of one server, one may be switched off."""
    owners: dict[str, str] = {}
    for server in servers:
        prefix = server.name if server.prefix is None else server.prefix
        if not server.enabled or not prefix:
            continue
        if prefix in owners:
            problem = f'servers "{owners[prefix]}" and "{server.name}" have the same prefix "{prefix}"'
            remedy = 'give one of them another "prefix", or "enabled": false'
            yield document.error(("mcpServers", server.name, "prefix"), problem, remedy)
        owners[prefix] = server.name


# What deserves a word but stops nothing.


def _unknown(document: Document) -> Mapping[KeyPath, Collection[str]]:
    """Find the keys that mean nothing, each with those that do in its place."""
    return {
        (*path, key): known
        for path, found, known in _objects(document.value)
        if isinstance(found, dict)
        for key in found
        if key not in known
    }


def _misspelt(document: Document) -> list[Complaint]:
    """Find the keys that are most like one that protects."""
    meant = {path: _meant(str(path[-1]), known) for path, known in _unknown(document).items()}
    return [
        (path, f'unknown key "{path[-1]}", most like "{key}"', f'write "{key}", or remove it')
        for path, key in meant.items()
        if key in _PROTECTIVE
    ]


def _warnings(document: Document, file: File) -> Iterator[str]:
    unknown = _unknown(document)
    for path in document.lines if unknown else ():  # in the order of the text
        if path in unknown and _meant(str(path[-1]), unknown[path]) not in _PROTECTIVE:
            yield str(document.error(path, *_about_unknown(str(path[-1]), unknown[path])))
    if file.settings.listing == "search" and file.settings.call_tool == "off":
        problem = 'with "listing": "search" most clients can call no tool that is not pinned'
        yield str(document.error(("settings", "callTool"), problem, 'write "all" or "read-only", or another listing'))
    for name, entry in file.mcp_servers.items():
        if entry.type and not entry.is_remote and entry.type.lower() not in _LOCAL_TYPES:
            path = ("mcpServers", name, "type")
            yield str(document.error(path, "unknown type, taken for stdio", 'write "stdio" or remove it'))
        yield from (str(document.error(("mcpServers", name, *path), *about)) for path, *about in _unsplit(entry))


def _unsplit(entry: Entry) -> Iterator[tuple[KeyPath, str, str]]:
    """Find what a shell would split and no server is started with as one word."""
    if remedy := in_words(entry.command):
        yield ("command",), "holds the arguments too", remedy
    for arg in entry.args:
        if found := re.match(r"(-{1,2}[A-Za-z][\w-]*)\s+\S", arg):
            yield ("args",), f'"{found[1]} ..." is one argument', f'write two: "{found[1]}" and what follows it'


def _objects(root: Any) -> Iterator[tuple[KeyPath, object, Collection[str]]]:
    """Give the objects of a file whose keys mean something, with the keys that do."""
    if not isinstance(root, dict):
        return
    yield (), root, {"$schema", *keys(File)}
    yield ("settings",), root.get("settings"), keys(Settings)
    servers = root["mcpServers"]
    for name, entry in servers.items() if isinstance(servers, dict) else ():
        yield ("mcpServers", name), entry, SERVER_KEYS
        if isinstance(entry, dict):
            yield ("mcpServers", name, "tools"), entry.get("tools"), keys(ToolFilter)


def _about_unknown(key: str, known: Iterable[str]) -> tuple[str, str]:
    if key in _KEYS_OF_OTHER_CLIENTS:
        return "a key of other clients, ignored here", f"use {_KEYS_OF_OTHER_CLIENTS[key]}"
    meant = _meant(key, known)
    return "unknown key, ignored", "remove it" if meant is None else f'did you mean "{meant}"?'


def _meant(key: str, known: Iterable[str]) -> str | None:
    """Give the key that a misspelt one is most like, if it is like any."""
    if key in _KEYS_OF_OTHER_CLIENTS:
        return None
    folded = {_fold(name): name for name in known}
    difflib = import_module("difflib")  # for the first unknown key, not for every start
    cutoff = 0.75 if len(key) > _SHORT_KEY else 0.65  # "evn" is "env" to two thirds
    nearest = difflib.get_close_matches(_fold(key), folded, n=1, cutoff=cutoff)
    return folded[nearest[0]] if nearest else None


def _fold(key: str) -> str:
    return re.sub("[^a-z]", "", key.lower())
