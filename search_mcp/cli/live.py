"""Lines on stderr that are drawn again and again while a command waits, and removed afterwards.

Decides the layout, and which lines are shown if the screen is too low for all.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TypeAlias

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from search_mcp.cli.cleaning import one_line
from search_mcp.cli.console import STATE_STYLES, Console, mark, writes_unicode

Line: TypeAlias = tuple[str, str, str]
"""Name, state and details of one thing that is awaited."""
_GAP = 2


def line(console: Console, describe: Callable[[], str]) -> AbstractContextManager[None]:
    """Show one line behind a spinner."""
    spinner = _spinner(console)

    def render() -> Spinner:
        spinner.update(text=Text(one_line(describe()), "dim", overflow="ellipsis", no_wrap=True))
        return spinner

    return _live(console, render)


def board(
    console: Console, lines: Callable[[], Sequence[Line]], remark: Callable[[], str]
) -> AbstractContextManager[None]:
    """Show one line per thing and a remark below them; those still awaited come first if there are too many."""
    spinner = _spinner(console)

    def render() -> Group:
        turning = spinner.render(console.get_time())
        assert isinstance(turning, Text), "a spinner without a text of its own"
        cleaned = [(one_line(name), state, one_line(details)) for name, state, details in lines()]
        width = max((cell_len(name) for name, _, _ in cleaned), default=0)
        room = max(1, console.height - 3)  # below the lines come the remark, and the line with the cursor
        texts = [_board_line(console, each, width, turning) for each in _most_urgent(cleaned, room)]
        if below := one_line(remark()):
            texts.append(Text(below, "dim", no_wrap=True, overflow="ellipsis"))
        return Group(*texts)

    return _live(console, render)


def _board_line(console: Console, each: Line, width: int, turning: Text) -> Text:
    name, state, details = each
    sign = turning if state == "starting" else mark(state, console)
    padding = " " * (width - cell_len(name) + _GAP)
    text = Text.assemble(sign, f" {name}{padding}", (state, STATE_STYLES.get(state, "")), f"  {details}")
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def _most_urgent(lines: Sequence[Line], room: int) -> Sequence[Line]:
    """Choose as many lines as there is room for: first the awaited ones, then the failed ones."""
    if len(lines) <= room:
        return lines
    order = ("starting", "failed")
    urgent_first = sorted(lines, key=lambda each: order.index(each[1]) if each[1] in order else len(order))
    return urgent_first[:room]


def _spinner(console: Console) -> Spinner:
    return Spinner("dots" if writes_unicode(console) else "line")


@contextlib.contextmanager
def _live(console: Console, render: Callable[[], RenderableType]) -> Iterator[None]:
    live = Live(
        get_renderable=render,
        console=console,
        transient=True,
        refresh_per_second=8,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with live:
        live.refresh()  # at once: most waits are over before the first turn of the spinner
        yield
