"""The parts of an entry that make it the same server, for each purpose.

    purpose           question                              what counts
    is_started_alike  does an edit need no new start?       all that the process is given or is sent, protocol, problem
    cached            do lists of an earlier start serve?   command, args, cwd, names in env, protocol
                                                            address, names of headers, protocol
    last_failure      does the last start's failure count?  every field but switches and derived ones
    last_use          was it called lately?                 command, args, cwd; address
    definitions       are its definitions accepted?         name, command, args, cwd; name, address
    program           is its command accepted?              all that decides what runs or is reached, as written
    reached_by        do clients reach the same server?     all that a remote server is sent by the entry
    texts             are its texts accepted?               description, rename, describe, tags, prefix

Values in env may be secrets, so no file's name depends on them. A renamed server lists the same tools and is used as
before. A new token changes no definition, so an address counts without its user, password and keys. Of a command the
written file is accepted, before placeholders are filled in, together with the server's name. A model reads no other
texts of the file. Sources of secrets, such as `${file:PATH}`, count as they are written, except for `reached_by`, which
compares their values. The cache adds the executable's date and size and the kind of client; approvals and failures are
salted. Pure.
"""

from search_mcp.config.placeholders import may_have_sources
from search_mcp.config.schema import Entry, OAuth, Remote, ServerConfig, Strings, keys
from search_mcp.wire import payload

_STARTED_BY = ("name", "command", "args", "env", "cwd", "remote", "problem", "protocol", "inherit_env")
_IRRELEVANT_TO_A_FAILURE = frozenset(
    {"enabled", "startup", "secrets", "unfilled", "program", "held", "watch", "watch_folder"}
    | {"max_result_characters", "result_size", "switched_off"}
)


def is_started_alike(one: ServerConfig, other: ServerConfig) -> bool:
    """Return whether two entries are served by the same process or connection."""
    if one.unfilled is not other.unfilled and one.program != other.program:
        return False  # the same text can be a source of secrets in one of them, and plain text in the other
    return all(getattr(one, name) == getattr(other, name) for name in _STARTED_BY)


def cached(config: ServerConfig) -> list[object]:
    """Return the parts of an entry that cached capabilities and lists depend on."""
    if (remote := config.remote) is not None:
        return [remote.public_url, sorted(name.lower() for name in remote.headers), config.protocol]
    return [config.command, config.args, config.cwd, sorted(config.env), config.protocol]


def reached_by(remote: Remote) -> list[object]:
    """Return everything that a remote server is sent by its entry; it holds secrets."""
    login = None if remote.oauth is None else [getattr(remote.oauth, name) for name in remote.oauth.__struct_fields__]
    return [remote.url, remote.transport, sorted(remote.headers.items()), remote.ca_file, login]


def last_failure(config: ServerConfig) -> dict[str, object]:
    """Return the parts of an entry that a failed start depends on; they hold secrets."""
    names = (name for name in config.__struct_fields__ if name not in _IRRELEVANT_TO_A_FAILURE)
    return {name: getattr(config, name) for name in names}


def last_use(config: ServerConfig) -> bytes:
    """Return the parts of an entry that the date of its last call belongs to."""
    if config.remote is not None:
        return payload.encode_bytes([config.remote.public_url])
    return payload.encode_bytes([config.command, config.args, config.cwd])


def definitions(config: ServerConfig) -> bytes:
    """Return the parts of an entry that its accepted definitions belong to."""
    if config.remote is not None:
        return payload.encode_bytes([config.name, config.remote.public_url])
    return payload.encode_bytes([config.name, config.command, config.args, config.cwd])


def program(entry: Entry, inherit_env: bool | Strings) -> bytes:
    """Return how a server is started or reached; the order of its variables and headers does not matter."""
    parts: dict[str, object] = {
        "command": entry.command,
        "args": entry.args,
        "env": dict(sorted(entry.env.items())),
        "cwd": entry.cwd,
        "url": entry.url,
        "serverUrl": entry.server_url,
        "httpUrl": entry.http_url,
        "headers": dict(sorted(entry.headers.items())),
        "oauth": _login(entry.oauth),
        "caFile": entry.ca_file,
        "inheritEnv": inherit_env,
    }
    parts = {key: value for key, value in parts.items() if value}
    written = payload.encode_bytes(parts)
    if may_have_sources(written.decode()):
        # Text that was accepted when it was not run or read is not accepted as a source.
        written = payload.encode_bytes({**parts, "sources": True})
    return written


def _login(oauth: OAuth | bool) -> object:
    """Return what the user decides about the login, as far as it is not the default."""
    if isinstance(oauth, bool):
        return None if oauth else "off"
    defaults = OAuth()
    fields = {key: getattr(oauth, name) for key, name in keys(OAuth).items()}
    return {key: value for key, value in fields.items() if value != getattr(defaults, keys(OAuth)[key])}


def texts(server: ServerConfig) -> bytes:
    """Return the texts about a server that a model reads, which its file may set."""
    rename, describe = (dict(sorted(each.items())) for each in (server.rename, server.describe))
    return payload.encode_bytes([server.description, rename, describe, server.tags, server.prefix])
