"""The models of the configuration: the file as it is written, and the servers and settings that it means."""

import re
import sys
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Final, Literal

from search_mcp.config.placeholders import Places, Source
from search_mcp.config.secrets import Redactor
from search_mcp.model.errors import ConfigError, for_shell
from search_mcp.model.names import Kind
from search_mcp.wire.structs import Meta, Struct, field

MAX_MESSAGE_BYTES = 64 << 20
"""The default limit for one message, in bytes."""

LOCAL_TYPES = {"stdio", "local"}
WEBSOCKETS = {"ws", "websocket"}
REMOTE_TYPES = {"http", "https", "sse", "streamable-http", "streamablehttp", "remote", *WEBSOCKETS}

Strings = tuple[str, ...]
_Seconds = Annotated[float, Meta(gt=0, le=sys.float_info.max)]
_Number = Annotated[int, Meta(gt=0)]
_NameLength = Annotated[int, Meta(ge=16)]
_ResultCharacters = Annotated[int, Meta(ge=1000)]
_ResultSize = Annotated[int, Meta(ge=1, le=500_000)]
_Separator = Annotated[str, Meta(pattern="^(auto|[._-]{1,4})$")]
_Name = Annotated[str, Meta(min_length=1)]
_Port = Annotated[int, Meta(ge=1, le=65535)]
_Path = Annotated[str, Meta(pattern="^/[A-Za-z0-9._~/-]*$")]
_Protocol = Literal["auto", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]

PROTECTIVE = frozenset({"allow", "deny", "tools", "readOnly", "pinTools", "callTool", "confirmCommands"})
"""Keys that restrict or protect; a misspelt one is an error, because ignoring it would drop the protection."""


def camel(name: str) -> str:
    """Return the key in the file for a field."""
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)


class ServerDefaults(Struct, frozen=True, kw_only=True):
    """Fields that an entry can set for its server, and `settings` for all servers."""

    startup: Literal["auto", "eager", "lazy"] = "auto"
    call_timeout_seconds: _Seconds | None = None
    max_call_seconds: _Seconds | None = None
    start_timeout_seconds: _Seconds = 60.0
    idle_stop_seconds: _Seconds | None = None
    protocol: _Protocol = "auto"
    inherit_env: bool | Strings = False
    pin_tools: bool = False
    read_only: bool = False
    max_result_characters: _ResultCharacters | None = None


class _Discreet:
    """Keeps Rich from printing the fields, as it does for a `Struct`: they may be secrets."""

    __slots__ = ()

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return []


class Embeddings(_Discreet, Struct, frozen=True, kw_only=True):
    """The `semantic` of the search as an object: an address that makes vectors of texts, as the file has it."""

    url: str
    model: str
    api_key: str = ""
    ca_file: str = ""

    def __repr__(self) -> str:  # without the key
        return f"<Embeddings {self.model}>"


class Search(Struct, frozen=True, kw_only=True):
    """The `search` of the settings."""

    semantic: Literal["off", "local"] | Embeddings | None = None
    """`None` for the local model if one is installed."""


class Settings(ServerDefaults, frozen=True, kw_only=True):
    """The `settings` of the file."""

    listing: Literal["auto", "light", "full", "search"] = "auto"
    separator: _Separator = "auto"
    max_name_length: Literal["auto"] | _NameLength = "auto"
    description_length: _Number = 120
    max_message_bytes: _Number = MAX_MESSAGE_BYTES
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    first_list_seconds: Literal["auto"] | _Seconds = "auto"
    call_tool: Literal["all", "read-only", "off"] = "all"
    confirm_commands: bool | None = None
    engine: Literal["shared", "own"] = "shared"
    usage: bool = True
    search: Search = Search()


class OAuth(_Discreet, Struct, frozen=True, kw_only=True):
    """The `oauth` of an entry: what the user decides about the login at a remote server."""

    client_id: str = ""
    """The id of a client that was registered beforehand; empty to register one."""
    client_secret: str = ""
    client_metadata_url: str = ""
    """The address of a Client ID Metadata Document, which is the client's id at servers that support it."""
    grant: Literal["authorization_code", "client_credentials"] = "authorization_code"
    issuer: str = ""
    """The only authorization server to log in at; empty for the one that the server names."""
    scopes: Strings = ()
    """The scopes to ask for; empty for those that the server names."""
    resource: str | bool = True
    """The `resource` of the requests: a text, the server's own (true), or none (false)."""
    callback_host: Literal["127.0.0.1", "localhost"] = "127.0.0.1"
    callback_port: _Port | None = None
    callback_path: _Path = "/callback"

    def __repr__(self) -> str:  # without the secret
        return "<OAuth>"


class Remote(_Discreet, Struct, frozen=True, kw_only=True):
    """The address of a remote server and how to reach it, with placeholders filled in."""

    url: str
    transport: Literal["auto", "http", "sse"] = "auto"
    headers: Mapping[str, str] = field(default_factory=dict)
    oauth: OAuth | None = OAuth()
    """`None` if the user wants no login."""
    ca_file: str | None = None
    """A file with certificates to trust besides those of the system."""
    public_url: str = ""
    """The address without its user, password and keys."""
    has_secret_url: bool = False
    """Whether a part of the address comes from a source of secrets."""

    @property
    def may_log_in(self) -> bool:
        """Whether a login may be made: not where the entry itself has credentials for the `Authorization` header.

        An address with a secret in it is not sent to authorization servers.
        """
        has_user = "@" in re.split("[/?#]", self.url.partition("://")[2], maxsplit=1)[0]
        has_header = any(name.lower() == "authorization" for name in self.headers)
        return self.oauth is not None and not has_header and not has_user and not self.has_secret_url

    def __repr__(self) -> str:  # without `headers`
        return f"<Remote {self.public_url}>"


class EmbeddingsAddress(_Discreet, Struct, frozen=True, kw_only=True):
    """An address that makes vectors of texts, with placeholders filled in."""

    url: str
    model: str
    api_key: str = ""
    ca_file: str = ""
    """File with certificates to trust besides those of the system; empty without one."""
    public_url: str = ""
    """The address without its user, password and keys."""
    problem: str | None = None
    """The reason why it is not used, and the remedy, in one sentence."""
    secrets: frozenset[str] = frozenset()
    """Texts that messages must not show."""
    unfilled: "Unfilled | None" = None
    """The sources of secrets, which are still placeholders in the other fields; `None` if there are none."""
    written: Embeddings
    """As the file has it."""

    def __repr__(self) -> str:  # without `api_key`
        return f"<EmbeddingsAddress {self.public_url}>"


class Unfilled(_Discreet, Struct, frozen=True, kw_only=True):
    """The sources of secrets in an entry, and what is needed to fill in their values."""

    sources: tuple[Source, ...]
    places: Places
    entry: "Entry"

    def __repr__(self) -> str:  # without variables, which may be secrets
        return f"<Unfilled {len(self.sources)}>"


class Held(Struct, frozen=True):
    """The reason why a server is held, and the command with which the user accepts its program."""

    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.reason}; run `{self.remedy}`"


class ServerConfig(_Discreet, ServerDefaults, frozen=True, kw_only=True):
    """One server of the file, with placeholders filled in and the defaults of `settings` applied."""

    name: str
    command: str
    remote: Remote | None = None
    """Where it is reached; `None` if `command` starts it."""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    enabled: bool = True
    problem: str | None = None
    """The reason why it cannot be started, and the remedy, in one sentence."""
    description: str | None = None
    tags: tuple[str, ...] = ()
    share: Literal["all"] | bool | None = None
    """Whether clients may share its process, with "all" also those of several principals; `None`: as is known of it."""
    watch: tuple[str, ...] = ()
    """Patterns of the files whose changes restart it; see `watch_patterns`."""
    watch_folder: str = ""
    """The folder that they are relative to."""
    prefix: str | None = None
    """As the file has it; see `effective_prefix`."""
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    switched_off: frozenset[Kind] = frozenset()
    """The kinds of its lists that clients are not shown."""
    rename: Mapping[str, str] = field(default_factory=dict)
    describe: Mapping[str, str] = field(default_factory=dict)
    result_size: int | None = None
    """The size of results, in characters, that Claude Code is asked to take whole; `None` for its own limit."""
    secrets: frozenset[str] = frozenset()
    """Texts that messages must not show; see `redactor`."""
    unfilled: Unfilled | None = None
    """The sources of secrets, which are still placeholders in the other fields; `None` if there are none."""
    program: bytes = b""
    """The program or address, as JSON with placeholders; this is the text that a user trusts."""
    held: Held | None = None
    """The reason why it must not be started before the user accepts its program."""
    principal: str = ""
    """The name of the client over HTTP for which it runs, and whose login it uses; empty for the user's own clients."""
    file: str = ""
    """The path that commands have to pass with `--config`; empty for the user's own file."""

    @property
    def effective_prefix(self) -> str:
        """The first part of its tools' names: the `prefix` of its entry, else its name; empty for bare names."""
        return self.name if self.prefix is None else self.prefix

    def command_for(self, *words: str, tool: str = "") -> str:
        """Write a search-mcp command about this server, or its tool of this whole name, for a person to copy."""
        named = ("--config", for_shell(self.file)) if self.file else ()
        return " ".join(("search-mcp", *words, for_shell(tool or self.name), *named))

    def check(self, *options: str) -> str:
        """Write the command that checks this server, for a person to copy."""
        return self.command_for("check", *options)

    def review(self, them: str) -> str:
        """Write the commands that show its unaccepted definitions, and that accept them; `them` is a pronoun."""
        return f"`{self.check()}` shows {them}, `{self.check('--accept')}` accepts {them}"

    @property
    def login(self) -> str:
        """The command that logs in to it, for a person to copy."""
        return self.login_with()

    def login_with(self, *options: str) -> str:
        """Write this command with more options."""
        return self.command_for("auth", "login", *options) + (f" --for {self.principal}" if self.principal else "")

    @property
    def noun(self) -> str:
        """The word for the part of its entry that decides what runs or is reached."""
        return "command" if self.remote is None else "address"

    @property
    def redactor(self) -> Redactor:
        """The function that replaces this server's secrets in a text."""
        return Redactor(self.secrets)

    @property
    def may_run(self) -> bool:
        """Whether it is enabled and not held."""
        return self.enabled and self.held is None

    def __repr__(self) -> str:  # without `args` and `env`, which may contain secrets
        state = "disabled" if not self.enabled else self.problem or "enabled"
        return f"<ServerConfig {self.name}: {state}>"


class Config(Struct, frozen=True, eq=False):
    """The configuration of a file, with its servers in order."""

    servers: tuple[ServerConfig, ...]
    settings: Settings
    warnings: tuple[str, ...]
    problems: tuple[ConfigError, ...] = ()
    """The problems that prevent enabled servers from starting, in the order of the servers."""
    outside: tuple[ServerConfig, ...] = ()
    """The servers of the file that this client does not use; no other server gets a name with one of their prefixes."""
    notice: str = ""
    """A sentence for the model about the selection of these servers, if a part of it has no effect."""
    embeddings: EmbeddingsAddress | None = None
    """The address that search by meaning uses; `None` if `settings.search.semantic` is none."""

    def __eq__(self, other: object) -> bool:  # `problems` are derived from the servers
        return isinstance(other, Config) and self._meaning == other._meaning

    __hash__ = None  # type: ignore[assignment]

    @property
    def _meaning(self) -> object:
        prefixes = [(each.name, each.effective_prefix) for each in self.outside]
        return self.servers, self.settings, self.warnings, prefixes, self.notice, self.embeddings

    @property
    def redactor(self) -> Redactor:
        """The function that replaces the secrets of all servers in a text."""
        return Redactor(self.secrets)

    @property
    def secrets(self) -> frozenset[str]:
        """Texts that messages about it must not show."""
        of_search = self.embeddings.secrets if self.embeddings is not None else ()
        return frozenset[str]().union(of_search, *(server.secrets for server in self.servers))


EMPTY_CONFIG: Final = Config((), Settings(), ())
"""The configuration of a file that cannot be read: no servers, and default settings."""


# The file as it is written


class ToolFilter(Struct, frozen=True, kw_only=True):
    """Globs over the names of a server's tools."""

    allow: Strings | None = None
    deny: Strings = ()


class Entry(ServerDefaults, frozen=True, kw_only=True):
    """The entry of one server."""

    command: str = ""
    args: Strings = ()
    env: dict[str, str] = field(default_factory=dict)
    cwd: str = ""
    enabled: bool = True
    disabled: bool = False
    type: str = ""
    description: str | None = None
    tags: Strings = ()
    share: Literal["all"] | bool | None = None
    watch: Strings = ()
    prefix: str | None = None
    tools: ToolFilter = ToolFilter()
    pinned: Strings = ()
    prompts: bool = True
    resources: bool = True
    rename: dict[str, str] = field(default_factory=dict)
    describe: dict[str, str] = field(default_factory=dict)
    result_size: _ResultSize | None = None
    url: str | None = None
    server_url: str | None = None
    http_url: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    oauth: OAuth | bool = True
    ca_file: str = ""

    @property
    def is_remote(self) -> bool:
        kind = self.type.lower().replace("_", "-")
        return kind in REMOTE_TYPES or (self.has_url and kind not in LOCAL_TYPES)

    @property
    def has_url(self) -> bool:
        return any(url is not None for url in (self.url, self.server_url, self.http_url))

    @property
    def address(self) -> str:
        """The address under any of its keys; empty if there is none."""
        return self.http_url or self.url or self.server_url or ""  # Gemini CLI prefers httpUrl


class File(Struct, frozen=True, kw_only=True):
    """The whole file."""

    mcp_servers: dict[_Name, Entry]
    settings: Settings = Settings()


@cache
def keys(model: type[Struct]) -> Mapping[str, str]:
    """Return the field names of a model by their keys in the file."""
    return {camel(name): name for name in model.__struct_fields__}


SERVER_KEYS = frozenset(keys(Entry))
"""The known keys of a server's entry."""
