"""The configuration: what mcp-servers.json means.

Decides which servers there are and how each is started, with placeholders filled in and defaults applied;
which keys are errors, which only warnings. It must not know where text, environment variables and folders
come from: all are passed in. A fault of one server is that server's `problem`, a fault of the file is a
`ConfigError`; both say where and what to do, and neither ever shows a value out of `env` or `headers`.
"""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from search_mcp import jsonc
from search_mcp.errors import ConfigError
from search_mcp.jsonc import Document, KeyPath

FILE_NAME = "mcp-servers.json"
FILE_VARIABLE = "SEARCH_MCP_CONFIG"

_SHORTEST_SECRET = 4
"""Characters. Shorter values (a port, "yes") are no secrets; blotted out they would garble every message."""

_LOCAL_TYPES = {"stdio", "local"}
_REMOTE_TYPES = {"http", "https", "sse", "streamable-http", "streamablehttp", "ws", "websocket"}

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

_TILDE = r"\A~(?=[/\\]|\Z)"
# Other things in braces, such as `${name%.*}` in a shell's script, are no placeholders and stay.
_PLACEHOLDER = re.compile(_TILDE + r"|\$\{((?P<scheme>[A-Za-z]+):)?(?P<name>[A-Za-z_][\w()]*)(:-(?P<default>[^}]*))?\}")

_Strings = Annotated[tuple[str, ...], Field(strict=False)]  # strict would refuse a JSON list
_Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Number = Annotated[int, Field(gt=0)]
_Protocol = Literal["auto", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
_Startup = Literal["eager", "lazy"]
_Listing = Literal["auto", "light", "full", "search"]
_Level = Literal["debug", "info", "warning", "error"]

_LIMITS = {"callTimeoutSeconds", "maxCallSeconds", "idleStopSeconds"}
_LIMIT = ("a positive number", "60 for a minute, or null for no limit")
_STRINGS = ("a list of strings", '["one", "two"]')
_TEXTS = ("an object of strings", '{"itsName": "yours"}')


def _key(default: object, must_be: str, write: str) -> Any:
    """Declare a key of the file: what its value must be, and what somebody who got it wrong should write."""
    return Field(default, description=must_be, examples=[write])


def _choice(default: str, kind: Any) -> Any:
    """Declare a key whose value is one word of a `Literal`."""
    *words, last = (f'"{word}"' for word in get_args(kind))
    return _key(default, f"{', '.join(words)} or {last}", f'"{default}"')


class _Model(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel,
        strict=True,
        frozen=True,
        validate_by_name=True,
        validate_by_alias=True,
        hide_input_in_errors=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, data: object) -> object:
        """Treat null as other clients do; only of a limit it says something: none, whatever the default."""
        if not isinstance(data, dict):
            return data
        return {key: value for key, value in data.items() if value is not None or key in _LIMITS}


class ServerDefaults(_Model):
    """What a server may say for itself and `settings` for all."""

    startup: _Startup = _choice("eager", _Startup)
    call_timeout_seconds: _Seconds | None = _key(None, *_LIMIT)
    max_call_seconds: _Seconds | None = _key(None, *_LIMIT)
    start_timeout_seconds: _Seconds = _key(60.0, "a positive number", "60 for a minute")
    idle_stop_seconds: _Seconds | None = _key(None, *_LIMIT)
    protocol: _Protocol = _choice("auto", _Protocol)
    inherit_env: bool | _Strings = _key(False, "true, false or a list of names", '["SSH_AUTH_SOCK"]')
    pin_tools: bool = _key(False, "true or false", "true without quotes")


class Settings(ServerDefaults):
    """The `settings` of the file; may also be built from Python, by field names."""

    listing: _Listing = _choice("auto", _Listing)
    separator: Annotated[str, Field(pattern=r"^(auto|[._-]{1,4})$")] = _key(
        "auto", '"auto" or one to four of the characters . _ -', '"__"'
    )
    max_name_length: Literal["auto"] | Annotated[int, Field(ge=16)] = _key(
        "auto", '"auto" or a whole number, 16 or more', "64"
    )
    description_length: _Number = _key(120, "a positive whole number", "120")
    max_message_bytes: _Number = _key(64 * 1024 * 1024, "a positive whole number", "67108864 for 64 MiB")
    log_level: _Level = _choice("info", _Level)
    first_list_seconds: _Seconds = _key(5.0, "a positive number", "5")


@dataclass(frozen=True, kw_only=True, repr=False)
class ServerConfig:
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
    startup: _Startup = "eager"
    call_timeout_seconds: float | None = None
    max_call_seconds: float | None = None
    start_timeout_seconds: float = 60.0
    idle_stop_seconds: float | None = None
    protocol: str = "auto"
    inherit_env: bool | tuple[str, ...] = False
    pin_tools: bool = False
    """Whether a tool that is not what it was when first seen is withheld until it is accepted."""
    secrets: frozenset[str] = frozenset()
    """What messages must not show: see `redact`."""

    def __repr__(self) -> str:  # args and env hold secrets too
        state = "disabled" if not self.enabled else self.problem or "enabled"
        return f"<ServerConfig {self.name}: {state}>"


@dataclass(frozen=True)
class Config:
    """A whole file; `servers` in its order."""

    servers: tuple[ServerConfig, ...]
    settings: Settings
    warnings: tuple[str, ...]


def parse(
    text: str | bytes, *, source: str, variables: Mapping[str, str], home: str, config_dir: str, python: str
) -> Config:
    """Read the text of an mcp-servers.json.

    `variables` looks names up as the platform does: on Windows `os.environ` itself, which ignores case.

    Raises:
        ConfigError: the file as a whole cannot be used.
    """
    document = jsonc.parse(text, source=source)
    file = _validate(document)
    places = _Places(variables, home, config_dir, python)
    servers = tuple(_resolve(name, entry, file.settings, places) for name, entry in file.mcp_servers.items())
    _refuse_equal_prefixes(document, servers)
    return Config(servers, file.settings, tuple(_warnings(document, file)))


def candidates(explicit: str | None, variables: Mapping[str, str], cwd: Path, user_dir: Path) -> tuple[Path, ...]:
    """Name the files to look for, best first; one that was asked for is the only one."""
    if asked_for := explicit or variables.get(FILE_VARIABLE):
        # No shell has expanded what stands in a client's config file.
        home = variables.get("HOME") or variables.get("USERPROFILE") or "~"
        return (cwd / re.sub(_TILDE, lambda _: home, asked_for),)
    return (cwd / "config" / FILE_NAME, user_dir / FILE_NAME)


def redact(text: str, secrets: Iterable[str]) -> str:
    """Blot out secrets; the longest first, so that no part of one is left where another begins it."""
    for secret in sorted(filter(None, secrets), key=lambda secret: (-len(secret), secret)):
        text = text.replace(secret, "***")
    return text


# From JSON to models.


def _as_tool_filter(value: object) -> object:
    """Accept Copilot CLI's `"tools": ["*"]`, a plain list of what is allowed."""
    return {"allow": value} if isinstance(value, list) else value


class _ToolFilter(_Model):
    allow: _Strings | None = None
    deny: _Strings = ()


class _Entry(ServerDefaults):
    command: str = _key("", "a string", '"npx", and what follows it in "args"')
    args: _Strings = _key((), "a list of strings", '["-y", "pkg"]')
    env: dict[str, str] = _key({}, "an object of strings", '{"NAME": "value"}, numbers in quotes too')
    cwd: str = _key("", "a string", '"${home}/project"')
    enabled: bool = _key(True, "true or false", "true without quotes")
    disabled: bool = _key(False, "true or false", "true without quotes")
    type: str = _key("", "a string", '"stdio"')
    description: str | None = _key(None, "a string", '"What the server is for"')
    tags: _Strings = _key((), *_STRINGS)
    prefix: str | None = _key(None, "a string", '"fs", or "" for bare names')
    tools: Annotated[_ToolFilter, BeforeValidator(_as_tool_filter)] = _key(
        _ToolFilter(), "an object of lists of strings", '{"allow": ["read_*"], "deny": ["write_*"]}'
    )
    pinned: _Strings = _key((), *_STRINGS)
    rename: dict[str, str] = _key({}, *_TEXTS)
    describe: dict[str, str] = _key({}, *_TEXTS)
    headers: dict[str, str] = _key({}, "an object of strings", '{"Name": "value"}')
    url: object = None
    server_url: object = None
    http_url: object = None

    @property
    def is_remote(self) -> bool:
        kind = self.type.lower().replace("_", "-")
        has_url = any(url is not None for url in (self.url, self.server_url, self.http_url))
        return kind in _REMOTE_TYPES or (has_url and kind not in _LOCAL_TYPES)


class _File(_Model):
    mcp_servers: dict[Annotated[str, Field(min_length=1)], _Entry]
    settings: Settings = Settings()


def _validate(document: Document) -> _File:
    if isinstance(document.value, dict) and document.value.get("mcpServers") is None:
        raise _without_servers(document, document.value)
    try:
        return _File.model_validate(document.value, by_alias=True, by_name=False)
    except ValidationError as exc:
        path = exc.errors(include_url=False, include_input=False)[0]["loc"]
        raise document.error(path, *_expectation(path)) from exc


def _without_servers(document: Document, root: Mapping[str, object]) -> ConfigError:
    for key, client in _ROOTS_OF_OTHER_CLIENTS.items():
        if key in root:
            problem = f"this looks like {client}'s format; the root key here is mcpServers"
            return document.error((key,), problem, f'write "mcpServers" for "{key}"')
    return document.error(("mcpServers",), 'no "mcpServers"', 'write {"mcpServers": {}} and the servers inside')


def _expectation(path: KeyPath) -> tuple[str, str]:
    """Say what must stand at the innermost key on `path` that is one of ours, and what to write."""
    match path:
        case ("mcpServers", "", "[key]"):
            return "a server's name must not be empty", 'write a name, such as "files"'
        case ("mcpServers", _, str(key), *_):
            return _form(key, _fields(_Entry)[key])
        case ("settings", str(key), *_):
            return _form(key, _fields(Settings)[key])
        case ("mcpServers", _):
            return "a server must be an object", 'write {"command": "npx", "args": ["-y", "pkg"]}'
        case (str(key),):
            return f'"{key}" must be an object', f'write "{key}": {{}}'
        case _:
            return "the file must hold one object", 'write {"mcpServers": {}}'


def _form(key: str, field: FieldInfo) -> tuple[str, str]:
    return f'"{key}" must be {field.description}', f"write {(field.examples or [''])[0]}"


def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Give the fields of a model by their keys in the file."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


# From an entry of the file to a server that can be started.


@dataclass(frozen=True)
class _Places:
    variables: Mapping[str, str]
    home: str
    config_dir: str
    python: str


class _Expansion:
    """Fills in one server's placeholders; keeps what must stay secret, and what could not be had."""

    def __init__(self, places: _Places) -> None:
        self.problems: list[str] = []
        self.secrets: set[str] = set()
        self._home = places.home
        self._variables = places.variables
        self._fixed = {
            "home": places.home,
            "userHome": places.home,  # Cursor's word
            "configDir": places.config_dir,
            "python": places.python,
        }

    def expand(self, text: str, key: str) -> str:
        return _PLACEHOLDER.sub(lambda match: self._value(match, key), text)

    def _value(self, match: re.Match[str], key: str) -> str:
        scheme, name, default = match["scheme"], match["name"], match["default"]
        if name is None:  # a leading ~
            return self._home
        if scheme is None and name in self._fixed:
            return self._fixed[name]
        value = self._variables.get(name, self._home if name == "HOME" else None)
        if scheme not in (None, "env"):
            reason = f"${{{scheme}:{name}}} in {key} is a placeholder of another client"
            self.problems.append(f"{reason}; set an environment variable and write ${{VAR}}")
        elif default is not None and "${" in default:
            reason = f"the default of {name} in {key} holds a placeholder"
            self.problems.append(f"{reason}; write plain text there")
        elif value or (value is not None and default is None):
            self.secrets.add(value)
            return value
        elif default is not None:  # POSIX on `:-`: "If parameter is unset or null"
            return default
        else:
            reason = f"environment variable {name}, used in {key}, is not set"
            self.problems.append(f"{reason}; set it or write ${{{name}:-default}}")
        return match[0]


def _resolve(name: str, entry: _Entry, settings: Settings, places: _Places) -> ServerConfig:
    expansion = _Expansion(places)
    command = expansion.expand(entry.command, "command")
    args = tuple(expansion.expand(arg, "args") for arg in entry.args)
    env = {key: expansion.expand(value, f"env.{key}") for key, value in entry.env.items()}
    cwd = str(PurePath(places.config_dir) / expansion.expand(entry.cwd, "cwd")) if entry.cwd else None
    defaults: dict[str, Any] = {
        key: getattr(entry if key in entry.model_fields_set else settings, key) for key in ServerDefaults.model_fields
    }
    return ServerConfig(
        name=name,
        command=command,
        args=args,
        env=env,
        cwd=cwd,
        enabled=entry.enabled and not entry.disabled,
        problem=_problem(entry, command, expansion.problems),
        description=entry.description,
        tags=entry.tags,
        prefix=entry.prefix,
        allow=entry.tools.allow or (),
        deny=("*",) if entry.tools.allow == () else entry.tools.deny,  # a list of nothing allows nothing
        pinned=entry.pinned,
        rename=entry.rename,
        describe=entry.describe,
        secrets=_secrets({*expansion.secrets, *env.values(), *entry.headers.values()}, places),
        **defaults,
    )


def _problem(entry: _Entry, command: str, unresolved: list[str]) -> str | None:
    if entry.is_remote:
        return (
            "this version runs stdio servers only; bridge to this one with "
            '"command": "npx", "args": ["-y", "mcp-remote", "<its url>"]'
        )
    if not command.strip():
        return 'it has no "command"; write the program that starts it, such as "command": "npx"'
    return unresolved[0] if unresolved else None


def _secrets(values: Iterable[str], places: _Places) -> frozenset[str]:
    public = {places.home, places.config_dir, places.python, places.variables.get("HOME")}
    return frozenset(value for value in values if len(value) >= _SHORTEST_SECRET and value not in public)


def _refuse_equal_prefixes(document: Document, servers: Iterable[ServerConfig]) -> None:
    """Raise if two servers would mix their tools; of two variants of one server, one may be switched off."""
    owners: dict[str, str] = {}
    for server in servers:
        prefix = server.name if server.prefix is None else server.prefix
        if not server.enabled or not prefix:
            continue
        if prefix in owners:
            problem = f'servers "{owners[prefix]}" and "{server.name}" have the same prefix "{prefix}"'
            remedy = 'give one of them another "prefix", or "enabled": false'
            raise document.error(("mcpServers", server.name, "prefix"), problem, remedy)
        owners[prefix] = server.name


# What deserves a word but stops nothing.


def _warnings(document: Document, file: _File) -> Iterator[str]:
    known: dict[KeyPath, set[str]] = {(): {"$schema", *_fields(_File)}, ("settings",): {*_fields(Settings)}}
    for name in file.mcp_servers:
        known["mcpServers", name] = {*_fields(_Entry)}
        known["mcpServers", name, "tools"] = {*_fields(_ToolFilter)}
    for path in document.lines:
        parent, key = path[:-1], str(path[-1])
        if parent in known and key not in known[parent]:
            yield str(document.error(path, *_about_unknown(key, known[parent])))
    for name, entry in file.mcp_servers.items():
        if entry.type and not entry.is_remote and entry.type.lower() not in _LOCAL_TYPES:
            path = ("mcpServers", name, "type")
            yield str(document.error(path, "unknown type, taken for stdio", 'write "stdio" or remove it'))


def _about_unknown(key: str, known: Iterable[str]) -> tuple[str, str]:
    if key in _KEYS_OF_OTHER_CLIENTS:
        return "a key of other clients, ignored here", f"use {_KEYS_OF_OTHER_CLIENTS[key]}"
    folded = {_fold(name): name for name in known}
    nearest = difflib.get_close_matches(_fold(key), folded, n=1, cutoff=0.75)
    return "unknown key, ignored", f'did you mean "{folded[nearest[0]]}"?' if nearest else "remove it"


def _fold(key: str) -> str:
    return re.sub("[^a-z]", "", key.lower())
