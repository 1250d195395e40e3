"""The text of `--help`: usage, arguments, options, examples; first, only the commands that a person needs.

Decides the layout, which is therefore the same with every release of typer: only the names, metavars and help texts
in typer's objects are read.
"""

import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from typer.core import TyperCommand, TyperGroup

from search_mcp.catalog import profiles
from search_mcp.config import location

WIDTH: Final = 80
REPOSITORY: Final = "https://github.com/search-mcp/search-mcp"
PAGE: Final = f"{REPOSITORY}/blob/main/docs/commands.md"
REST: Final = "More"
"""Heading of the commands that are not in the first help, which a terminal of 24 lines shows whole."""
_LABEL_WIDTH: Final = 24
"""Width in columns of the longest label with its text beside it; after a longer one, the text is on the next line."""
_HELP: Final = ("-h, --help", "Show this help.")
_COMPLETION: Final = {
    "--install-completion": "Install completion for the current shell.",
    "--show-completion": "Print the completion script for the current shell.",
}
"""Help texts of the options that typer adds."""


class Command(TyperCommand):
    """A command with the help text of this module; its epilog holds the examples, one per line."""

    def get_help(self, ctx: Any) -> str:
        """Write the help text."""
        return of_command(self, ctx.command_path)


class Group(TyperGroup):
    """A command that has subcommands."""

    def get_help(self, ctx: Any) -> str:
        """Write the help text."""
        return of_group(self, ctx.command_path)


class First(TyperGroup):
    """`search-mcp` itself, whose help has only the commands that a person needs."""

    def get_help(self, ctx: Any) -> str:
        """Write the help text."""
        path, groups = ctx.command_path, _by_heading(self)
        width = max(len(name) for name in self.commands)
        rows = [[line for row in groups[each] for line in _row(*row, width)] for each in groups if each != REST]
        return _joined(
            f"Usage: {path} COMMAND [OPTIONS] [ARGUMENTS]",
            *("\n".join(each) for each in rows),
            f"`{path} help --all` shows all commands, `{path} help COMMAND` one.\n{PAGE}",
        )


def of_command(command: Any, path: str) -> str:
    """Write the help text of one command."""
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    usage = " ".join([path, "[OPTIONS]", *(each.metavar for each in arguments)])
    return _joined(
        _wrapped(f"Usage: {usage}", indent=7),
        *(_wrapped(paragraph) for paragraph in command.help.split("\n\n")),
        _section("Arguments", [(each.metavar, each.help) for each in arguments]),
        _section("Options", [*map(label_of, options_of(command)), _HELP]),
        _examples(command.epilog),
        _of_serve() if command.name == "serve" else "",
        PAGE,
    )


def of_group(group: Any, path: str) -> str:
    """Write the help text of a command with subcommands, which are shown in groups."""
    width = max(len(name) for name in group.commands)
    return _joined(
        f"Usage: {path} COMMAND [OPTIONS] [ARGUMENTS]",
        *(_wrapped(paragraph) for paragraph in group.help.split("\n\n")),
        *(_section(heading, rows, width) for heading, rows in _by_heading(group).items()),
        _section("Options", [*map(label_of, options_of(group)), _HELP]),
        _examples(group.epilog),
        f"{_wrapped(f'`{path} COMMAND --help` shows the options and examples of a command.')}\n{_default_config()}",
        PAGE,
    )


def _by_heading(group: Any) -> dict[str, list[tuple[str, str]]]:
    """Return the commands under their headings, each with the beginning of its help."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, command in group.commands.items():
        found.setdefault(command.rich_help_panel or "Commands", []).append((name, _first_line(command.help)))
    return found


def _of_serve() -> str:
    clients = ", ".join(profiles.BY_NAME)
    return f"{_wrapped(f'Clients for --client: {clients}.', indent=2)}\n\n{_default_config()}"


def _default_config() -> str:
    path, home = location.places(None, {})[-1], Path.home()
    shown = Path("~") / path.relative_to(home) if path.is_relative_to(home) else path
    return f"Default config file: {shown}"


def commands(group: Any, *before: str) -> Iterator[tuple[str, Any]]:
    """Yield the commands that have no subcommands, each with its words, such as "config path"."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, *before, name)
        else:
            yield " ".join((*before, name)), command


def options_of(command: Any) -> list[Any]:
    """Return the options of a command, in the order of their declaration."""
    return [each for each in command.params if each.param_type_name == "option" and "--help" not in each.opts]


def label_of(option: Any) -> tuple[str, str]:
    """Return the spellings of an option, and its help text."""
    spellings = ", ".join(sorted(option.opts, key=len))
    written = f"{spellings} {option.metavar}" if option.metavar else spellings
    return written, _COMPLETION.get(written, option.help)


def _first_line(text: str) -> str:
    return text.partition("\n")[0].rstrip(".")


def _joined(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))


def _section(heading: str, rows: Iterable[tuple[str, str]], width: int = 0) -> str:
    rows = list(rows)
    width = width or max((len(label) for label, _ in rows if len(label) <= _LABEL_WIDTH), default=0)
    return "\n".join([f"{heading}:", *(line for row in rows for line in _row(*row, width))]) if rows else ""


def _row(label: str, text: str, width: int) -> Iterator[str]:
    lines = _wrapped(text, width=WIDTH - width - 4).split("\n")
    if len(label) > width:
        yield f"  {label}"
        label = ""
    for line in lines:
        yield f"  {label:{width}}  {line}".rstrip()
        label = ""


def _examples(epilog: str | None) -> str:
    return "\n".join(["Examples:", *(f"  {line}" for line in epilog.splitlines())]) if epilog else ""


def _wrapped(text: str, indent: int = 0, width: int = WIDTH) -> str:
    return textwrap.fill(
        " ".join(text.split()), width, subsequent_indent=" " * indent, break_on_hyphens=False, break_long_words=False
    )
