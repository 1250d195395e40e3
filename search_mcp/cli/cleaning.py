"""Texts made safe to print: without escape sequences and control characters.

A server's text must not move the cursor, set the title, or hide another line.
"""

import re

from search_mcp.model.visible import visible

_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, screen
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]?"  # any other escape sequence
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
"""C0 without tab and newline, and DEL."""


def clean(text: str) -> str:
    """Remove escape sequences and control characters, and make invisible ones visible; line ends become `\\n`."""
    text = _SEQUENCES.sub("", text)
    return visible(_CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))


def one_line(text: str) -> str:
    """Return a cleaned text on one line."""
    return " ".join(clean(text).split())
