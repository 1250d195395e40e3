"""Write the man page and the completion scripts that the wheel installs: `python packaging/share.py [FOLDER]`.

The folder has the layout of /usr/share, which pipx and packages of systems read. The man page is made from the
objects of `--help`, the completion scripts are those of `--show-completion`.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.completion import get_completion_script

from search_mcp.cli import app, help_text

FOLDER = Path(__file__).parent / "share"
NAME = "search-mcp"
MAN_PAGE = "man/man1/search-mcp.1"
SCRIPTS = {
    "bash": "bash-completion/completions/search-mcp",
    "fish": "fish/vendor_completions.d/search-mcp.fish",
    "zsh": "zsh/site-functions/_search-mcp",
}
REGISTERS = "compdef _search_mcp_completion search-mcp"
"""The last line of the zsh script. A file in zsh's `fpath` is registered by its first line, and runs to complete."""


def write(folder: Path) -> None:
    """Write every file, in folders that are made if needed."""
    for name, text in files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{text.strip()}\n", "utf-8", newline="\n")


def files() -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file."""
    yield MAN_PAGE, "\n".join(man_page(typer.main.get_command(app.application())))
    for shell, name in SCRIPTS.items():
        script = get_completion_script(prog_name=NAME, complete_var="_SEARCH_MCP_COMPLETE", shell=shell)
        yield name, script.replace(REGISTERS, '_search_mcp_completion "$@"')


def man_page(group: Any) -> Iterator[str]:
    """Yield the lines of the man page, in the macros of man(7)."""
    summary, *_ = group.help.partition(":")
    yield f'.TH {NAME.upper()} 1 "" "" "User Commands"'
    yield from (".SH NAME", f"{_roff(NAME)} \\- {_roff(summary)}")
    yield from (".SH SYNOPSIS", f".B {_roff(NAME)}", _roff("COMMAND [OPTIONS] [ARGUMENTS]"))
    yield from (".SH DESCRIPTION", *_paragraphs(group.help))
    yield from (".SH OPTIONS", *_options(group))
    yield ".SH COMMANDS"
    for words, command in help_text.commands(group):
        arguments = [each for each in command.params if each.param_type_name == "argument"]
        yield f".SS {_roff(' '.join([words, '[OPTIONS]', *(each.metavar for each in arguments)]))}"
        yield from _paragraphs(command.help)
        for each in arguments:
            yield from _described(each.metavar, each.help)
        yield from _options(command)
        if command.epilog:
            yield from (".PP", ".EX", *map(_roff, command.epilog.splitlines()), ".EE")


def _options(command: Any) -> Iterator[str]:
    for option in help_text.options_of(command):
        yield from _described(*help_text.label_of(option))


def _described(label: str, text: str) -> Iterator[str]:
    yield from (".TP", f".B {_roff(label)}", _roff(text))


def _paragraphs(text: str) -> Iterator[str]:
    first, *others = (_roff(" ".join(each.split())) for each in text.split("\n\n"))
    yield first
    for each in others:
        yield from (".PP", each)


def _roff(text: str) -> str:
    """Escape a line: backslashes, hyphens that are typed, and a period or apostrophe at its beginning."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    write(Path(sys.argv[1]) if sys.argv[1:] else FOLDER)
