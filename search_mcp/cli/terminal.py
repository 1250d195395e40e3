"""Output for people and scripts: data on stdout, everything else on stderr.

Decides styles, widths and indents. Every text passes `clean`, so that a server's text cannot control the terminal.
Output that is not a terminal gets whole lines without colours.
"""

import contextlib
import json
import logging
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TextIO

from rich.highlighter import JSONHighlighter
from rich.text import Text

from search_mcp.cli import live, pager
from search_mcp.cli.cleaning import clean, one_line
from search_mcp.cli.console import STATE_STYLES, Console, mark, open_console, writes_unicode
from search_mcp.cli.problem import Misuse
from search_mcp.cli.table import Table, laid_out
from search_mcp.config.secrets import Redactor
from search_mcp.logs import FORMAT, Conceal, Concealing
from search_mcp.model.visible import INVISIBLE, escaped
from search_mcp.wire.payload import encode, encode_text, indented
from search_mcp.wire.structs import Raw

_CONTROLS_IN_JSON = re.compile(rf"\x7f|{INVISIBLE}")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")

MATCH_STYLE = "bold underline"


class Terminal:
    """The output of one command."""

    def __init__(self) -> None:
        self._show_on(open_console(), open_console(stderr=True))
        logging.getLogger().addHandler(logging.NullHandler())  # commands print everything a user needs

    def _show_on(self, out: Console, err: Console) -> None:
        self._out, self._err = out, err
        self._debugging = False
        self._secrets: frozenset[str] = frozenset()

    def debug(self) -> None:
        """Show the log and tracebacks from now on."""
        self._debugging = True
        handler = _LogHandler(self.conceal)
        handler.setFormatter(_CleanFormatter(self._concealed))
        logging.basicConfig(level=logging.DEBUG, handlers=[handler], force=True)

    def conceal(self, secrets: frozenset[str]) -> None:
        """Hide these secrets in the log and in tracebacks from now on."""
        self._secrets |= secrets

    def _concealed(self, text: str) -> str:
        return Redactor(self._secrets)(text)

    # Data

    def text(self, text: str) -> None:
        """Write a cleaned text."""
        self._out.out(clean(text), highlight=False)

    def json(self, value: object) -> None:
        """Write a value as indented JSON."""
        self._json(self._written(indented(encode(value)).decode("utf-8", "replace")))

    def json_line(self, value: object) -> None:
        """Write a value as JSON on one line."""
        self._json(self._written(encode_text(value)))

    def raw_json(self, payload: Raw) -> None:
        """Write encoded JSON: unchanged, but indented on a terminal."""
        text = bytes(payload).decode("utf-8", "replace")
        if self._out.file.isatty():
            self.json(payload)
        else:
            self._json(self._written(text))

    def _written(self, text: str) -> str:
        if writes_unicode(self._out):
            return text
        return _NOT_ASCII.sub(lambda match: json.dumps(match[0])[1:-1], text)  # only strings have it

    def _json(self, text: str) -> None:
        # Escape sequences have the same meaning in JSON.
        text = _CONTROLS_IN_JSON.sub(lambda match: json.dumps(match[0])[1:-1].replace("\x7f", "\\u007f"), text)
        if self._out.is_terminal:
            self._out.print(JSONHighlighter()(Text(text)), soft_wrap=True)
        else:
            self._out.out(text, highlight=False)

    def logged(self, time: str | None, source: str, line: str) -> None:
        """Write a line of a log behind its time, if it has one, and its source."""
        before = Text.assemble((f"{time} " if time else "", "dim"), (one_line(source), "cyan"), (" | ", "dim"))
        for part in clean(line).split("\n"):
            self._out.print(before + Text(part), soft_wrap=True)

    @property
    def width(self) -> int:
        """Width of stdout in columns; without a terminal, more than any line needs."""
        return self._out.width

    @property
    def is_unread(self) -> bool:
        """Whether the reader of stdout has closed it."""
        return self._out.is_broken

    def leave_unread(self) -> None:
        """Write nothing more to stdout, because its reader has closed it."""
        self._out.on_broken_pipe()

    def heading(self, text: str) -> None:
        self._wrapped(self._out, Text(one_line(text), "bold"), 0)

    def paragraph(self, text: str, indent: int = 0, style: str = "") -> None:
        """Write running text, wrapped at the width of the terminal."""
        self._wrapped(self._out, Text(clean(text), style), indent)

    def _wrapped(self, console: Console, text: Text, indent: int) -> None:
        for line in text.wrap(console, max(1, console.width - indent)):
            line.rstrip()
            console.print(Text(" " * indent) + line if line else line, soft_wrap=True)

    def marked(self, sign: str, text: str, indent: int) -> None:
        """Write running text with a sign before every line: `-` for the former text, `+` for the present one."""
        style = {"-": "red", "+": "green"}.get(sign, "")
        for line in Text(clean(text)).wrap(self._out, max(1, self._out.width - indent - 2)):
            line.rstrip()
            self._out.print(Text(f"{' ' * indent}{sign} {line.plain}".rstrip(), style), soft_wrap=True)

    def command_line(self, line: str) -> None:
        """Write a command to copy, on one line: a terminal that wraps it copies it whole."""
        self._out.print(Text(f"  {escaped(line)}"), soft_wrap=True)

    def step(self, name: str, summary: str, lines: Sequence[str] = ()) -> None:
        """Write a completed step with its summary, and details cut to one line each."""
        self._out.print(
            Text.assemble((f"{mark('ready', self._out)} ", "green"), (f"{name}  ", "bold"), one_line(summary))
        )
        for line in lines:
            text = Text(f"    {one_line(line)}", "dim", no_wrap=True, overflow="ellipsis")
            self._out.print(text)

    def table(
        self,
        headings: Sequence[str],
        rows: Sequence[Sequence[str]],
        numbers: Sequence[str] = (),
        matches: Callable[[str], Iterable[tuple[int, int]]] = lambda _cell: (),
        dispensable: Sequence[str] = (),
        is_cut: bool = False,
        has_names: bool = False,
        legend: Mapping[str, str] | None = None,
    ) -> None:
        """Write a table; the parameters are those of `Table`.

        `matches` returns the ranges of a cell to highlight.
        """

        def styled(position: int, cell: str) -> Text:
            text = Text(cell, _style(position, cell))
            for start, end in matches(cell):
                text.stylize(MATCH_STYLE, start, end)
            return text

        cleaned = [[one_line(cell) for cell in row] for row in rows]
        for line in laid_out(
            Table(headings, cleaned, numbers, dispensable, is_cut, has_names, legend or {}), styled, self._out
        ):
            self._out.print(line, soft_wrap=True)

    @contextlib.contextmanager
    def paged(self, *, wanted: bool = True) -> Iterator[None]:
        """Show the output of the block in a pager, if it is longer than the terminal."""
        words = (
            pager.command(os.environ) if wanted and self._out.file.isatty() and not self._out.is_dumb_terminal else ()
        )
        if not words:
            yield
            return
        with self._out.capture() as captured:
            yield
        text = captured.get()
        if text.count("\n") < self._out.height:
            self._out.file.write(text)
            self._out.file.flush()
        else:
            pager.show(text, words)

    # Everything else

    @property
    def is_interactive(self) -> bool:
        """Whether a person can read the output and answer."""
        return sys.stdin.isatty() and self._out.file.isatty() and self._err.file.isatty()

    def confirm(self, question: str) -> bool:
        """Ask a person at the terminal; any answer but yes counts as no."""
        self._err.print(Text.assemble((clean(question), "bold"), " [y/N] "), end="")
        return sys.stdin.readline().strip().casefold() in ("y", "yes")

    def ask(self, question: str) -> str:
        """Ask a person at the terminal for a text, which is empty if there is none."""
        self.prompt(f"{question}: ")
        return sys.stdin.readline().strip()

    def prompt(self, text: str) -> None:
        """Write a text that the answer of a person follows on the same line."""
        self._err.print(Text(clean(text), "bold"), end="")

    def agrees(self, question: str, *, is_sure: bool) -> bool:
        """Ask a person at the terminal, unless `is_sure`.

        Raises:
            Misuse: there is no terminal. A model that runs commands must not consent for the user.
        """
        if is_sure:
            return True
        if not self.is_interactive:
            raise Misuse("this needs a person, and nothing was changed", "run it in a terminal, or write --yes")
        return self.confirm(question)

    def note(self, text: str) -> None:
        """Write a remark."""
        self._wrapped(self._err, Text(clean(text), "dim"), 0)

    def warning(self, text: str) -> None:
        self._wrapped(self._err, Text.assemble(("warning: ", "bold yellow"), clean(text)), 0)

    def error(self, text: str, command: str = "") -> None:
        """Write an error, and below it the command that its remedy announces."""
        self._wrapped(self._err, Text.assemble(("error: ", "bold red"), clean(text), ":" if command else ""), 0)
        if command:
            self._err.print(Text(f"  {escaped(command)}"), soft_wrap=True)

    def detail(self, text: str) -> None:
        """Write a text for debugging, with `--debug` only."""
        if self._debugging:
            self._err.out(self._concealed(clean(text)).rstrip(), highlight=False)

    def traceback(self, exc: BaseException) -> None:
        """Write the traceback of an exception, with `--debug` only."""
        self.detail("".join(traceback.format_exception(exc)))

    def progress(self, describe: Callable[[], str]) -> AbstractContextManager[None]:
        """Show a line about what is awaited, on a terminal, while the block runs."""
        return live.line(self._err, describe) if self._is_live else contextlib.nullcontext()

    def board(
        self, lines: Callable[[], Sequence[live.Line]], remark: Callable[[], str]
    ) -> AbstractContextManager[None]:
        """Show the states of several things and a remark below them, on a terminal, while the block runs."""
        return live.board(self._err, lines, remark) if self._is_live else contextlib.nullcontext()

    @property
    def _is_live(self) -> bool:
        return not self._debugging and self._err.file.isatty() and not self._err.is_dumb_terminal


class _LogHandler(logging.StreamHandler[TextIO], Concealing):
    """Writes the log to stderr."""

    def __init__(self, conceal: Conceal) -> None:
        super().__init__()
        self.conceal = conceal


class _CleanFormatter(logging.Formatter):
    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__(FORMAT)
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        return self._redact(clean(super().format(record)))


def _style(position: int, cell: str) -> str:
    state = "failed" if cell.startswith("failed ") and cell.endswith(("ago", "just now")) else cell
    return "cyan" if position == 0 else STATE_STYLES.get(state, "")
