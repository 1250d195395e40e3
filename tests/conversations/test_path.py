"""The path of a call: how many Python calls a warm `tools/call` takes, the same on every machine.

The limits are a little above the figures. A change that needs more raises them, with its reason.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import search_mcp
from conversations.eras import legacy_legacy, modern_modern
from conversations.pair import Pair
from conversations.words import text

PACKAGE = str(Path(search_mcp.__file__).parent)
MOST_CALLS = 88
MOST_MODERN_CALLS = 130


@contextmanager
def counted() -> Iterator[list[str]]:
    """Collect the functions of the package that are called, in order."""
    called: list[str] = []

    def on_event(frame: FrameType, event: str, _arg: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            called.append(f"{Path(frame.f_code.co_filename).relative_to(PACKAGE)}:{frame.f_code.co_qualname}")

    sys.setprofile(on_event)
    try:
        yield called
    finally:
        sys.setprofile(None)


def path_of_a_call(pair: Pair, tmp_path: Path) -> list[str]:
    pair.records_in(tmp_path / "usage" / "calls.sqlite3")
    pair.front.opens()
    for _ in range(3):
        with counted() as called:
            call = pair.front.calls("alpha.echo", words="x")
            pair.alpha.is_called("echo", words="x").returns(text("x"))
            call.gets(text("x"))
    return called


@legacy_legacy
def test_a_call_takes_few_python_calls(pair: Pair, tmp_path: Path) -> None:
    called = path_of_a_call(pair, tmp_path)
    assert len(called) <= MOST_CALLS, "\n".join(called)


@modern_modern
def test_a_modern_call_takes_few_python_calls(pair: Pair, tmp_path: Path) -> None:
    called = path_of_a_call(pair, tmp_path)
    assert len(called) <= MOST_MODERN_CALLS, "\n".join(called)
