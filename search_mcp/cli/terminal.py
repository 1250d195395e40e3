"""Everything that is written for people: stdout for data, stderr for the rest.

Decides colours, widths and what must not reach a terminal. The only module here that knows rich, and
every text passes `clean` on its way through: a backend's words cannot move the cursor, set the title or
hide another line. What is not a terminal gets whole lines, however long, and no colours.
"""

import contextlib
import errno
import io
import json
import logging
import os
import re
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.highlighter import JSONHighlighter
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from search_mcp.cli import pager
from search_mcp.cli.table import Table, laid_out
from search_mcp.config.secrets import redact
from search_mcp.logs import FORMAT
from search_mcp.model.visible import INVISIBLE, visible
from search_mcp.wire.payload import encode, encode_bytes
from search_mcp.wire.structs import Raw

WHOLE_LINES = 100_000
"""Columns of what is no terminal: nobody's text is that wide, so nothing is wrapped."""
_GAP = 2

_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, screen
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]?"  # any other escape sequence
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
"""C0 without tab and newline, and DEL."""
_CONTROLS_IN_JSON = re.compile(rf"\x7f|{INVISIBLE}")

STATE_STYLES = {
    "ready": "green",
    "remembered": "green",
    "failed": "red",
    "held": "yellow",
    "off": "dim",
    "starting": "yellow",
    "unknown": "yellow",
}
_MARKS = {"ready": ("*", "\N{CHECK MARK}"), "failed": ("x", "\N{BALLOT X}"), "off": ("-", "-")}
"""In ASCII, and in Unicode."""
MATCH_STYLE = "bold underline"


def clean(text: str) -> str:
    """Take out escape sequences and control characters, and write invisible ones; line ends become newlines."""
    text = _SEQUENCES.sub("", text)
    return visible(_CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))


def one_line(text: str) -> str:
    """Clean a text and put it on one line."""
    return " ".join(clean(text).split())


def is_of_closed_pipe(exc: OSError, platform: str) -> bool:
    """Whether a write failed because whoever read is gone; Windows says that as if the write were wrong in itself.

    See https://github.com/python/cpython/issues/79935.
    """
    return exc.errno == errno.EPIPE or (platform == "win32" and exc.errno == errno.EINVAL and exc.filename is None)


class Terminal:
    """Where one command writes."""

    def __init__(self) -> None:
        self._out, self._err = _console(), _console(stderr=True)
        self._debugging = False
        self._secrets: frozenset[str] = frozenset()
        logging.getLogger().addHandler(logging.NullHandler())  # commands say themselves what is worth knowing

    def debug(self) -> None:
        """From now on show the log and tracebacks."""
        self._debugging = True
        handler = logging.StreamHandler()
        handler.setFormatter(_CleanFormatter(lambda: self._secrets))
        logging.basicConfig(level=logging.DEBUG, handlers=[handler], force=True)

    def conceal(self, secrets: frozenset[str]) -> None:
        """From now on keep these out of the log and tracebacks."""
        self._secrets |= secrets

    # Data

    def text(self, text: str) -> None:
        """Write a text as it is, but clean."""
        self._out.out(clean(text), highlight=False)

    def json(self, value: object) -> None:
        """Write JSON: indented."""
        document = json.loads(bytes(encode(value)))
        self._json(json.dumps(document, ensure_ascii=not self._writes_unicode(), indent=2))

    def json_line(self, value: object) -> None:
        """Write JSON: one line."""
        self._json(self._written(encode_bytes(value).decode()))

    def raw_json(self, payload: Raw) -> None:
        """Write JSON: every byte as it came where no person looks, indented on a terminal."""
        text = bytes(payload).decode("utf-8", "replace")
        if self._out.file.isatty():
            self.json(payload)
        else:
            self._json(self._written(text))

    def _written(self, text: str) -> str:
        return text if self._writes_unicode() else json.dumps(json.loads(text))

    def _json(self, text: str) -> None:
        # Escaped, they mean the same to whoever reads JSON.
        text = _CONTROLS_IN_JSON.sub(lambda match: json.dumps(match[0])[1:-1].replace("\x7f", "\\u007f"), text)
        if self._out.is_terminal:
            self._out.print(JSONHighlighter()(Text(text)), soft_wrap=True)
        else:
            self._out.out(text, highlight=False)

    def _writes_unicode(self) -> bool:
        return self._out.encoding.lower().startswith("utf")

    def _mark(self, state: str) -> str:
        plain, written = _MARKS.get(state, _MARKS["failed"])
        return written if self._writes_unicode() else plain

    def _spinner(self) -> Spinner:
        return Spinner("dots" if self._writes_unicode() else "line")

    def logged(self, time: str | None, source: str, line: str) -> None:
        """Write a line of a log, after its time, if it has one, and its source."""
        before = Text.assemble((f"{time} " if time else "", "dim"), (one_line(source), "cyan"), (" | ", "dim"))
        for part in clean(line).split("\n"):
            self._out.print(before + Text(part), soft_wrap=True)

    @property
    def width(self) -> int:
        """Columns of stdout; what is no terminal has as many as any line needs."""
        return self._out.width

    @property
    def is_unread(self) -> bool:
        """Whether whoever read stdout is gone."""
        return self._out.is_broken

    def leave_unread(self) -> None:
        """Write nothing more to stdout: whoever read it is gone."""
        self._out.on_broken_pipe()

    def heading(self, text: str) -> None:
        self._wrapped(self._out, Text(one_line(text), "bold"), 0)

    def paragraph(self, text: str, indent: int = 0, style: str = "") -> None:
        """Write running text, wrapped where it must be."""
        self._wrapped(self._out, Text(clean(text), style), indent)

    def _wrapped(self, console: Console, text: Text, indent: int) -> None:
        for line in text.wrap(console, max(1, console.width - indent)):
            line.rstrip()
            console.print(Text(" " * indent) + line if line else line, soft_wrap=True)

    def marked(self, mark: str, text: str, indent: int) -> None:
        """Write running text with a mark before every line: `-` for what was, `+` for what is."""
        style = {"-": "red", "+": "green"}.get(mark, "")
        for line in Text(clean(text)).wrap(self._out, max(1, self._out.width - indent - 2)):
            line.rstrip()
            self._out.print(Text(f"{' ' * indent}{mark} {line.plain}".rstrip(), style), soft_wrap=True)

    def command_line(self, line: str) -> None:
        """Write a command to copy; where it must be wrapped, as a shell reads it."""
        lines = textwrap.wrap(line, max(1, self._out.width - 4), break_long_words=False, break_on_hyphens=False)
        for part in lines[:-1]:
            self._out.print(Text(f"  {part} \\"), soft_wrap=True)
        self._out.print(Text(f"  {lines[-1]}"), soft_wrap=True)

    def step(self, name: str, summary: str, lines: Sequence[str]) -> None:
        """Write that a step is done: what it came to, and details, each cut to one line."""
        self._out.print(Text.assemble((f"{self._mark('ready')} ", "green"), (f"{name}  ", "bold"), one_line(summary)))
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
    ) -> None:
        """Write a table whose last column may be wrapped; one block a row where it is too narrow for that.

        A row with fewer cells than headings ends with a cell that spans the rest. `numbers` are the headings of
        columns that are aligned to the right, `dispensable` those of columns to leave out where the width does not
        suffice; `matches` gives the parts of a cell to highlight, by start and end. The last cell is cut to one line
        if the table `is_cut`.
        """

        def styled(position: int, cell: str) -> Text:
            text = Text(cell, _style(position, cell))
            for start, end in matches(cell):
                text.stylize(MATCH_STYLE, start, end)
            return text

        cleaned = [[one_line(cell) for cell in row] for row in rows]
        for line in laid_out(Table(headings, cleaned, numbers, dispensable, is_cut), styled, self._out):
            self._out.print(line, soft_wrap=True)

    @contextlib.contextmanager
    def paged(self, *, wanted: bool = True) -> Iterator[None]:
        """Show what is written meanwhile in a pager, on a terminal that it is too long for."""
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

    # The rest

    @property
    def is_interactive(self) -> bool:
        """Whether a person reads what is written and can answer."""
        return sys.stdin.isatty() and self._out.file.isatty() and self._err.file.isatty()

    def confirm(self, question: str) -> bool:
        """Ask a person; anything but yes is no."""
        self._err.print(Text.assemble((clean(question), "bold"), " [y/N] "), end="")
        return sys.stdin.readline().strip().casefold() in ("y", "yes")

    def agrees(self, question: str, *, is_sure: bool) -> bool:
        """Ask a person at a terminal; without a terminal the answer is yes, to what was written before."""
        return is_sure or not self.is_interactive or self.confirm(question)

    def note(self, text: str) -> None:
        """Say something beside the data."""
        self._wrapped(self._err, Text(clean(text), "dim"), 0)

    def warning(self, text: str) -> None:
        self._wrapped(self._err, Text.assemble(("warning: ", "bold yellow"), clean(text)), 0)

    def error(self, text: str) -> None:
        self._wrapped(self._err, Text.assemble(("error: ", "bold red"), clean(text)), 0)

    def detail(self, text: str) -> None:
        """Say what only somebody who looks for a mistake wants to know."""
        if self._debugging:
            self._err.out(redact(clean(text), self._secrets).rstrip(), highlight=False)

    def traceback(self, exc: BaseException) -> None:
        """Show where an exception comes from, if that was asked for."""
        self.detail("".join(traceback.format_exception(exc)))

    @contextlib.contextmanager
    def progress(self, describe: Callable[[], str]) -> Iterator[None]:
        """Show what is being waited for, on a terminal, until it is there."""
        spinner = self._spinner()

        def render() -> Spinner:
            spinner.update(text=Text(one_line(describe()), "dim", overflow="ellipsis", no_wrap=True))
            return spinner

        with self._live(render):
            yield

    @contextlib.contextmanager
    def board(self, lines: Callable[[], Sequence[tuple[str, str, str]]], remark: Callable[[], str]) -> Iterator[None]:
        """Show the states of several things, on a terminal, until all are known: name, state and details of each.

        Where they are more than the screen has lines, those that are waited for come first.
        """
        spinner = self._spinner()

        def render() -> Group:
            turning = spinner.render(self._err.get_time())
            assert isinstance(turning, Text), "a spinner without a text of its own"
            cleaned = [(one_line(name), state, one_line(rest)) for name, state, rest in lines()]
            widest = max((cell_len(name) for name, _, _ in cleaned), default=0)
            texts = [
                self._standing(turning, name, widest, state, rest) for name, state, rest in _fitting(cleaned, room())
            ]
            if said := one_line(remark()):
                texts.append(Text(said, "dim", no_wrap=True, overflow="ellipsis"))
            return Group(*texts)

        def room() -> int:
            return max(1, self._err.height - 3)  # the remark, and the line that the cursor is on

        with self._live(render):
            yield

    def _standing(self, turning: Text, name: str, widest: int, state: str, rest: str) -> Text:
        mark = turning if state == "starting" else self._mark(state)
        padding = " " * (widest - cell_len(name) + _GAP)
        text = Text.assemble(mark, f" {name}{padding}", (state, STATE_STYLES.get(state, "")), f"  {rest}")
        text.no_wrap, text.overflow = True, "ellipsis"
        return text

    @contextlib.contextmanager
    def _live(self, render: Callable[[], RenderableType]) -> Iterator[None]:
        if self._debugging or not self._err.file.isatty() or self._err.is_dumb_terminal:
            yield
            return
        live = Live(
            get_renderable=render,
            console=self._err,
            transient=True,
            refresh_per_second=8,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        with live:
            live.refresh()  # at once: most waits are over before the first turn of the spinner
            yield


class _Console(Console):
    is_broken = False

    def print(self, *objects: Any, **how: Any) -> None:
        """Print, and know a broken pipe on Windows too."""
        try:
            super().print(*objects, **how)
        except OSError as exc:
            if not is_of_closed_pipe(exc, sys.platform):
                raise
            self.on_broken_pipe()

    def on_broken_pipe(self) -> None:
        """Whoever read us has seen enough; what is still to be written goes nowhere."""
        self.is_broken = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.file.fileno())
        os.close(nowhere)


class _CleanFormatter(logging.Formatter):
    def __init__(self, secrets: Callable[[], frozenset[str]]) -> None:
        super().__init__(FORMAT)
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        return redact(clean(super().format(record)), self._secrets())


def _console(*, stderr: bool = False) -> _Console:
    console = _Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if isinstance(console.file, io.TextIOWrapper):
        console.file.reconfigure(errors="replace")  # a terminal of another encoding still gets the rest
    if not console.file.isatty():
        columns = os.environ.get("COLUMNS", "")
        console.width = int(columns) if columns.isdecimal() and int(columns) else WHOLE_LINES
    return console


def _fitting(lines: Sequence[tuple[str, str, str]], room: int) -> Sequence[tuple[str, str, str]]:
    """Choose the lines to show of too many: those that are waited for first."""
    if len(lines) <= room:
        return lines
    order = ("starting", "failed")
    urgent_first = sorted(lines, key=lambda line: order.index(line[1]) if line[1] in order else len(order))
    return urgent_first[:room]


def _style(position: int, cell: str) -> str:
    return "cyan" if position == 0 else STATE_STYLES.get(cell, "")
