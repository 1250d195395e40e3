"""A server made from its entry in the file: placeholders filled in, or the reason why it cannot start."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from search_mcp.config import identity
from search_mcp.config.jsonc import KeyPath
from search_mcp.config.placeholders import Complaint, Expansion, Places, Values, may_have_sources
from search_mcp.config.schema import Entry, Remote, ServerConfig, ServerDefaults, Settings, Unfilled
from search_mcp.config.secrets import Redactor, find_secrets, spellings
from search_mcp.model.errors import for_shell
from search_mcp.model.names import Kind
from search_mcp.wire import payload, structs


def server_defaults(entry: Entry, said: Collection[str], settings: Settings) -> dict[str, Any]:
    """Return the fields that an entry and `settings` share, from the entry if it sets them."""
    return {name: getattr(entry if name in said else settings, name) for name in ServerDefaults.__struct_fields__}


def resolve(
    name: str,
    entry: Entry,
    defaults: Mapping[str, Any],
    places: Places,
    faulty: Sequence[Complaint] = (),
    values: Values | None = None,
) -> tuple[ServerConfig, Sequence[Complaint]]:
    """Make the server of an entry; also return all faults that prevent its start.

    `values` are those of its sources of secrets; without them, the sources stay placeholders.
    """
    expansion = Expansion(places, values, name)
    command = expansion.expand(entry.command, "command")
    args = tuple(expansion.expand(arg, "args") for arg in entry.args)
    env = {key: expansion.expand(value, "env", key) for key, value in entry.env.items()}
    cwd = str(PurePath(places.config_dir) / expansion.expand(entry.cwd, "cwd")) if entry.cwd else None
    remote = None
    if entry.is_remote:
        from search_mcp.config import addresses  # for remote servers only

        remote = addresses.resolve(entry, expansion, places.config_dir)
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
        switched_off=_switched_off(entry),
        rename=entry.rename,
        describe=entry.describe,
        result_size=entry.result_size,
        secrets=_secrets((*expansion.secrets, *found), places, name),
        unfilled=unfilled,
        program=identity.program(entry, defaults["inherit_env"]),
        file=places.file,
        **defaults,
    )
    return server, complaints


def filled(server: ServerConfig, values: Values) -> ServerConfig:
    """Fill in the values of a server's sources of secrets; its `problem` says whether one does not fit its place."""
    assert server.unfilled is not None
    defaults = {name: getattr(server, name) for name in ServerDefaults.__struct_fields__}
    found, _ = resolve(server.name, server.unfilled.entry, defaults, server.unfilled.places, values=values)
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


def _switched_off(entry: Entry) -> frozenset[Kind]:
    is_shown = {Kind.PROMPTS: entry.prompts, Kind.RESOURCES: entry.resources, Kind.TEMPLATES: entry.resources}
    return frozenset(kind for kind, shown in is_shown.items() if not shown)


def _watched(entry: Entry, folder: str) -> dict[str, Any]:
    from search_mcp.config.watch_patterns import usable  # for servers under development only

    return {"watch": usable(entry.watch), "watch_folder": folder}


def _secret_parts(entry: Entry, remote: Remote | None) -> dict[str, object]:
    """Return the parts of an address that may be secret, with placeholders filled in."""
    if remote is None:
        return {"headers": entry.headers}
    secret = remote.oauth.client_secret if remote.oauth is not None else ""
    return {"headers": remote.headers, "url": remote.url, "clientSecret": secret}


def _secrets(values: Iterable[str], places: Places, server: str) -> frozenset[str]:
    """Return the spellings of secret values, except parts of the server's name, which messages and logs contain."""
    public = {places.home, places.config_dir, places.python, places.variables.get("HOME")}
    return spellings(value for value in values if value not in public and value not in server)


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


def remarks(entry: Entry) -> Iterable[Complaint]:
    """Return warnings about an entry whose server can be started."""
    found: Iterable[Complaint] = _words_to_split(entry)
    if entry.is_remote:
        from search_mcp.config import addresses

        found = addresses.warnings(entry)
    if entry.watch:
        from search_mcp.config import watch_patterns

        found = [*found, *watch_patterns.complaints(entry.watch, is_remote=entry.is_remote)]
    return found


def in_words(command: str, is_there: Callable[[str], bool] = lambda _program: False) -> str | None:
    """Write the remedy for a command that contains its arguments; `None` for any other.

    `is_there` returns whether a program exists.
    """
    program, *args = command.split() or [""]
    # Paths and placeholders may contain spaces.
    if not args or (re.search(r"[/\\$]", program) and not is_there(program)):
        return None
    redact = Redactor(spellings(find_secrets({"args": args, "env": {}, "headers": {}})))
    written = ", ".join(redact(payload.encode_text(arg)) for arg in args)
    return f'write "command": "{program}", "args": [{written}]'


def _words_to_split(entry: Entry) -> Iterator[tuple[KeyPath, str, str]]:
    """Find words with spaces: a shell would split them, but they are passed as one."""
    if remedy := in_words(entry.command):
        yield ("command",), "contains its arguments", remedy
    for arg in entry.args:
        if found := re.match(r"(-{1,2}[A-Za-z][\w-]*)\s+\S", arg):
            yield ("args",), f'"{found[1]} ..." is one argument', f'write two: "{found[1]}" and the rest'
