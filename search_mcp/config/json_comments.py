"""JSON with comments and trailing commas: both replaced by spaces, so that every line and column stays in place.

Patterns are compiled on first use, because most files are plain JSON. Standard library only: this is also used before
anything else is loaded.
"""

import json
import re

# A string without an end quote ends with its line, so that the parser reports that line.
STRING = r'"(?:[^"\\\n]|\\[^\n])*"?'
_COMMENTS = rf"{STRING}|(?P<comment>//[^\n]*|/\*(?s:.*?)(?:\*/|(?P<unclosed>\Z)))"
# Only a comma behind a value is removed: `[,]` and `[1,,]` stay invalid.
_COMMAS = rf"{STRING}|[\[{{,]\s*,|(?P<trailing>,)(?=\s*[}}\]])"


def blank(text: str) -> str:
    """Replace comments and trailing commas by spaces, so that every line and column stays in place.

    Raises:
        json.JSONDecodeError: a comment is never closed.
    """
    return re.sub(_COMMAS, lambda match: " " if match["trailing"] else match[0], without_comments(text))


def without_comments(text: str) -> str:
    """Replace comments by spaces, as `blank` does; trailing commas stay.

    Raises:
        json.JSONDecodeError: a comment is never closed.
    """

    def blanked(match: re.Match[str]) -> str:
        if match["unclosed"] is not None:
            raise json.JSONDecodeError("Comment is never closed", text, match.start())
        return re.sub(r"[^\r\n]", " ", match[0]) if match["comment"] else match[0]

    return re.sub(_COMMENTS, blanked, text)
