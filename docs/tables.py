"""Write the tables of these pages from the code: `python docs/tables.py`; `--check` only reports outdated pages.

A table stands between `<!-- BEGIN name -->` and `<!-- END -->`; the text around it is written by hand. A table that is
on no page, and an unknown name on a page, are errors.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from search_mcp.catalog import profiles
from search_mcp.cli import app
from search_mcp.cli.files import schema
from search_mcp.clients.known import CLIENTS, Client
from search_mcp.config import validation
from search_mcp.config.schema import Entry, OAuth, Search, ServerDefaults, Settings, camel
from search_mcp.wire.structs import Struct, declared

PAGES = Path(__file__).parent
_BLOCK = re.compile(r"<!-- BEGIN (?P<name>.*?) -->\n.*?<!-- END -->", re.DOTALL)
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
    group: Any = typer.main.get_command(app.application())  # typer does not declare that it is a group
    rows = [(f"`{name}`", each.help.partition("\n")[0]) for name, each in group.commands.items()]
    yield "commands", _table(("Command", ""), rows)
    yield "clients", _table(("Client", "Name", "`listing`", "After `install`"), list(map(_client, CLIENTS)))


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
    form = re.sub("^an? ", "", validation.form(model, key)[0])
    value = " ".join(filter(None, (form, _default(default))))
    return f"`{key}`", value, schema.about(model.__name__, key).partition(" Replaced in it:")[0]


def _default(value: object) -> str:
    """Format a default in brackets; empty if it is empty or None."""
    if isinstance(value, bool):
        return f"(`{str(value).lower()}`)"
    if isinstance(value, int | float):
        return f"(`{value:.15g}`)"
    return f'(`"{value}"`)' if isinstance(value, str) and value else ""


def _client(client: Client) -> tuple[str, ...]:
    return client.title, f"`{client.name}`", f"`{profiles.BY_NAME[client.name].listing}`", client.next_step


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
