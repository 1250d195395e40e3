"""Foreign names and texts, such as those of servers, quoted in our sentences: how many, and how long.

The limits are for sentences in errors, remarks and log lines, which a person or a model reads. Pure.
"""

from collections.abc import Collection

from search_mcp.model import reasons

MOST_NAMED = 10
"""Most names in one sentence."""
LONGEST_NAME = 100
"""Most characters of a name or a value in a sentence."""
LONGEST_REASON = 300
"""Most characters of a reason in a message."""


def cut(text: str, longest: int = LONGEST_NAME) -> str:
    """Return a text, or its beginning and an ellipsis."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def enumerated(names: Collection[str]) -> str:
    """List the first of many names, each cut, and count the others."""
    more = len(names) - MOST_NAMED
    return ", ".join([*map(cut, list(names)[:MOST_NAMED]), *([f"{more:,} more"] if more > 0 else [])])


def shortened(text: str) -> str:
    """Write a text on one line: if it is too long, only the cause where it quotes stderr, else its two ends."""
    line = on_one_line(text).rstrip(".")
    if len(line) > LONGEST_REASON and reasons.STDERR_TAIL_MARK in text:
        line = on_one_line(": ".join(filter(None, reasons.parted(text)))).rstrip(".")
    if len(line) <= LONGEST_REASON:
        return line
    half = LONGEST_REASON // 2
    head, tail = line[:half].rpartition(" ")[0] or line[:half], line[-half:].partition(" ")[2] or line[-half:]
    return f"{head} … {tail}"


def on_one_line(text: str) -> str:
    """Write a text on one line, with a space for each character that is not printable."""
    if not text.isprintable():
        text = "".join(each if each.isprintable() else " " for each in text)
    return " ".join(text.split())
