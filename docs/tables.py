"""Write the tables of these pages from the code: `python docs/tables.py`; `--check` only reports outdated pages.

A table stands between `<!-- BEGIN name -->` and `<!-- END -->`; the text around it is written by hand. A table that is
on no page, and an unknown name on a page, are errors.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import typer

from search_mcp.catalog import profiles
from search_mcp.cli import app, help_text
from search_mcp.cli.files import schema
from search_mcp.clients.known import CLIENTS, Client, Machine
from search_mcp.config import validation
from search_mcp.config.schema import Embeddings, Entry, OAuth, Search, ServerDefaults, Settings, ToolFilter, camel
from search_mcp.pool import known_servers
from search_mcp.wire.structs import Struct, declared

PAGES = Path(__file__).parent
_BLOCK = re.compile(r"<!-- BEGIN (?P<name>.*?) -->\n.*?<!-- END -->", re.DOTALL)
_OFTEN = 3
"""An option that at least so many commands have, with the same help text, is explained once."""
_KEYS = ("Key", "Value", "Default", "Meaning")
USUAL = (
    *("command", "args", "env", "cwd", "url", "headers", "enabled", "description", "tags", "tools", "pinned", "prefix"),
    *("startup", "callTimeoutSeconds", "pinTools", "readOnly", "maxResultCharacters"),
    *("listing", "engine", "usage"),
)
"""The keys that a person sets; the others are needed rarely."""
ALIASES = ("disabled", "serverUrl", "httpUrl")
"""The spellings of other clients, which the text explains."""
_ROAMING = (r"%USERPROFILE%\AppData\Roaming", "%APPDATA%")
_LOCAL = (r"%USERPROFILE%\AppData\Local", "%LOCALAPPDATA%")


def tables() -> Iterator[tuple[str, str]]:
    """Yield every table with its name."""
    shared = ServerDefaults.__struct_fields__
    models = (("a server", Entry, shared), ("both", ServerDefaults, ()), ("settings", Settings, shared))
    usual = [[key, where, *rest] for where, model, without in models for key, *rest in _rows(model, USUAL, without)]
    yield "usual keys", _table(("Key", "Of", "Value", "Default", "Meaning"), usual)
    for where, model, without in models:
        rest = [camel(each.name) for each in declared(model) if camel(each.name) not in (*USUAL, *ALIASES)]
        yield f"other keys of {where}", _table(_KEYS, _rows(model, rest, without))
    yield "keys of tools", _keys(ToolFilter)
    yield "keys of oauth", _keys(OAuth)
    yield "keys of search", _keys(Search)
    yield "keys of semantic", _keys(Embeddings)
    commands = dict(help_text.commands(typer.main.get_command(app.application())))
    counted = Counter(_option(each) for command in commands.values() for each in _options(command))
    common = [option for option, count in counted.items() if count >= _OFTEN]
    yield "common options", _table(("Option", "Meaning"), common)
    for words, command in commands.items():
        yield f"command {words}", _command(words, command, common)
    for client in CLIENTS:
        yield f"client {client.name}", _client(client)
    yield "known servers", _known_servers()


def _keys(model: type[Struct]) -> str:
    return _table(_KEYS, _rows(model, [camel(each.name) for each in declared(model)]))


def _rows(model: type[Struct], keys: Sequence[str], without: Sequence[str] = ()) -> list[Sequence[str]]:
    """Return a row for each of some keys that a model has, except those of some fields."""
    defaults = {camel(each.name): each.default for each in declared(model) if each.name not in without}
    return [
        (f"`{key}`", validation.form(model, key)[0], _default(defaults[key]), _meaning(model, key))
        for key in keys
        if key in defaults
    ]


def _meaning(model: type[Struct], key: str) -> str:
    """Return the meaning of a key, with links in place of the list of placeholders."""
    text, *placeholders = schema.about(model.__name__, key).split(" Replaced in it:")
    if not placeholders:
        return text
    has_secrets = "${file:" in placeholders[0]
    also = " and [sources of secrets](#sources-of-secrets)" if has_secrets else ""
    return f"{text} [Placeholders](#placeholders){also} are replaced."


def _default(value: object) -> str:
    """Format a default; empty if it is empty or None."""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, int | float):
        return f"`{value:.15g}`"
    return f'`"{value}"`' if isinstance(value, str) and value else ""


def _options(command: Any) -> list[Any]:
    return [each for each in command.params if each.param_type_name == "option"]


def _option(option: Any) -> tuple[str, str]:
    spelling = ", ".join(option.opts) + (f" {option.metavar}" if option.metavar else "")
    return f"`{spelling}`", option.help


def _command(words: str, command: Any, common: Sequence[tuple[str, str]]) -> str:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    usage = " ".join(["search-mcp", words, *(each.metavar for each in arguments)])
    options = [_option(each) for each in _options(command)]
    rows = [(f"`{each.metavar}`", each.help) for each in arguments] + [each for each in options if each not in common]
    also = ", ".join(spelling for spelling, _ in options if (spelling, _) in common)
    parts = [command.help, f"    {usage}", _table(("", ""), rows) if rows else "", f"Also {also}." if also else ""]
    return "\n\n".join(filter(None, parts))


def _client(client: Client) -> str:
    rows = [
        ("Linux", _files(client, "linux", "~")),
        ("macOS", _files(client, "darwin", "~")),
        ("Windows", _files(client, "win32", "%USERPROFILE%").replace(*_ROAMING).replace(*_LOCAL)),
    ]
    if client.name in profiles.BY_NAME:
        profile = profiles.BY_NAME[client.name]
        name = profile.shown_name("time", "convert_time")
        rows.append(("Names", f"such as `{name}`, at most {profile.max_length} characters"))
        rows.append(("`listing`", f"`{profile.listing}`"))
    rows.append(("Then", client.next_step))
    return f"```sh\nsearch-mcp install {client.name}\n```\n\n" + _table(("", ""), rows)


def _files(client: Client, platform: str, home: str) -> str:
    places = Machine(platform, home, {}).places(client)
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
