"""Numbers and lists in sentences."""

from collections import Counter
from collections.abc import Sequence

from search_mcp.model.names import State
from search_mcp.model.standing import NOT_STARTED, OFF

_WORDS = (State.READY, State.KNOWN, NOT_STARTED, State.HELD, State.NEEDS_LOGIN, State.FAILED, OFF)
MOST_NAMED = 4
"""Number of names in a sentence; further ones are counted."""
_SMALL_BYTES = 100_000
"""Sizes below it are written in kilobytes."""


def counted(count: int, noun: str) -> str:
    """Write a number with its noun, in the singular or plural."""
    ending = "" if count == 1 else "es" if noun.endswith("s") else "s"
    return f"{count:,} {noun}{ending}"


def megabytes(size: int) -> str:
    """Write a number of bytes in megabytes, or a small one in kilobytes."""
    return f"{size / 1e6:,.1f} MB" if size >= _SMALL_BYTES else f"{-(-size // 1000)} kB"


def summary(words: Sequence[str], tools: int) -> str:
    """Summarize the states of servers, in words, and the number of their tools."""
    numbers = Counter(words)
    parts = ", ".join(f"{numbers[word]:,} {word}" for word in _WORDS if numbers[word])
    return f"{parts or 'no servers'}; {counted(tools, 'tool')}"


def enumerated(names: Sequence[str]) -> str:
    """Write the first few names, and the number of the others."""
    if len(names) <= MOST_NAMED:
        return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"{', '.join(names[:MOST_NAMED])} and {len(names) - MOST_NAMED} more"
