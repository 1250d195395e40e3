"""Write the tables of these pages from the code: `python docs/tables.py`; `--check` only reports outdated pages.

A table stands between `<!-- BEGIN name -->` and `<!-- END -->`; the text around it is written by hand. A table that is
on no page, and an unknown name on a page, are errors.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import typer

from search_mcp.catalog import profiles
from search_mcp.cli import app, help_text
from search_mcp.cli.files import schema
from search_mcp.clients.known import CLIENTS, Client, Machine
from search_mcp.config import validation
from search_mcp.config.schema import Entry, OAuth, Search, ServerDefaults, Settings, camel
from search_mcp.pool import known_servers
from search_mcp.wire.structs import Struct, declared

PAGES = Path(__file__).parent
_BLOCK = re.compile(r"<!-- BEGIN (?P<name>.*?) -->\n.*?<!-- END -->", re.DOTALL)
_ROAMING = (r"~\AppData\Roaming", "%APPDATA%")
_LOCAL = (r"~\AppData\Local", "%LOCALAPPDATA%")
_KEY = ("Key", "Value", "Meaning")
_USUAL = (
    *("command", "args", "env", "cwd", "url", "headers", "enabled", "description", "tags", "tools", "pinned", "prefix"),
    *("startup", "callTimeoutSeconds", "pinTools", "readOnly", "maxResultCharacters"),
    *("listing", "engine", "usage"),
)
"""The keys that a person sets; the others are needed rarely."""
_ALIASES = ("disabled", "serverUrl", "httpUrl")
"""The spellings of other clients, which the text explains."""


def tables() -> Iterator[tuple[str, str]]:
    """Yield every table with its name."""
    keys = dict(_keys())
    yield "usual keys", _table(_KEY, [keys[key] for key in _USUAL])
    yield "other keys", _table(_KEY, [row for key, row in keys.items() if key not in (*_USUAL, *_ALIASES)])
    yield "keys of oauth", _table(_KEY, [_key(OAuth, camel(each.name)) for each in declared(OAuth)])
    commands = help_text.commands(typer.main.get_command(app.application()))
    yield "commands", _table(("Command", ""), [_command(*each) for each in commands])
    yield "clients", _table(("Client", "Name", "Tools", "`listing`", "After `install`"), list(map(_client, CLIENTS)))
    yield "files of clients", _table(("Client", "Linux", "macOS", "Windows"), list(map(_files, CLIENTS)))
    yield "known servers", _known_servers()


def _keys() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the row of each key of a server or of the settings."""
    both = ServerDefaults.__struct_fields__
    for name in (each.name for each in declared(Entry)):
        key, *rest = _key(Entry, camel(name))
        yield camel(name), (f"{key} *" if name in both else key, *rest)
    for name in (each.name for each in declared(Settings) if each.name not in (*both, "search")):
        _, *rest = _key(Settings, camel(name))
        yield camel(name), (f"`settings.{camel(name)}`", *rest)
    _, *rest = _key(Search, "semantic")
    yield "search", ("`settings.search.semantic`", *rest)


def _key(model: type[Struct], key: str) -> tuple[str, str, str]:
    (default,) = (each.default for each in declared(model) if camel(each.name) == key)
    value = " ".join(filter(None, (validation.form(model, key)[0], _default(default))))
    return f"`{key}`", value, schema.about(model.__name__, key).partition(" Replaced in it:")[0]


def _default(value: object) -> str:
    """Format a default in brackets; empty if it is empty or None."""
    if isinstance(value, bool):
        return f"(`{str(value).lower()}`)"
    if isinstance(value, int | float):
        return f"(`{value:.15g}`)"
    return f'(`"{value}"`)' if isinstance(value, str) and value else ""


def _command(words: str, command: Any) -> tuple[str, str]:
    arguments = [each.metavar for each in command.params if each.param_type_name == "argument"]
    return f"`{' '.join([words, *arguments])}`", command.help.partition("\n")[0]


def _client(client: Client) -> tuple[str, ...]:
    if client.name not in profiles.BY_NAME:
        return client.title, f"`{client.name}`", "", "", client.next_step
    profile = profiles.BY_NAME[client.name]
    shown = f"`{profile.shown_name('time', 'now')}`, up to {profile.max_length}"
    return client.title, f"`{client.name}`", shown, f"`{profile.listing}`", client.next_step


def _files(client: Client) -> tuple[str, ...]:
    """Return the places of a client's file; empty for a system where they are those of Linux."""
    linux, macos, windows = (_places(client, system) for system in ("linux", "darwin", "win32"))
    same = windows.replace("\\", "/") == linux
    return (
        client.title,
        linux,
        macos if macos != linux else "",
        "" if same else windows.replace(*_ROAMING).replace(*_LOCAL),
    )


def _places(client: Client, platform: str) -> str:
    places = Machine(platform, "~", {}).places(client)
    paths = PureWindowsPath if platform == "win32" else PurePosixPath
    return "<br>".join(f"`{paths(place.base, place.pattern, place.name)}`" for place in places)


def _known_servers() -> str:
    rows = []
    for clients, folder in (("in any folders", False), ("in the same folder", True)):
        for source, registry in (("npm", "npm"), ("PyPI", "pypi"), ("container", "container")):
            packages = [row.package.partition(":") for row in known_servers.rows() if row.folder is folder]
            if names := [f"`{name}`" for found, _, name in packages if found == registry]:
                rows.append((clients, source, ", ".join(names)))
    return _table(("Clients", "From", "Servers"), rows)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def renewed(text: str, made: Mapping[str, str]) -> str:
    """Replace the tables of a page."""
    return _BLOCK.sub(lambda match: f"<!-- BEGIN {match['name']} -->\n{made[match['name']]}\n<!-- END -->", text)


def main(arguments: Sequence[str]) -> str | None:
    """Update the pages; return an error message, or None."""
    made = dict(tables())
    pages = {page: page.read_text("utf-8") for page in sorted(PAGES.glob("*.md"))}
    used = [match["name"] for text in pages.values() for match in _BLOCK.finditer(text)]
    if wrong := {*used} ^ {*made}:
        return f"tables on no page, or unknown: {', '.join(sorted(wrong))}"
    old = [page for page, text in pages.items() if renewed(text, made) != text]
    if old and "--check" in arguments:
        return f"out of date: {', '.join(page.name for page in old)}; run python docs/tables.py"
    for page in old:
        page.write_text(renewed(pages[page], made), "utf-8")
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
