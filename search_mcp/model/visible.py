"""Server texts made safe to show to a person or a model.

Invisible characters, and those that change the order of others, are written as `\\u{...}`, except where honest text
needs them: in emoji sequences, as joiners within words of scripts that use them, and as marks beside right-to-left
letters. Pure.
"""

import re
from collections.abc import Iterator
from functools import cache

from search_mcp.model.sentences import LONGEST_NAME

_CONTROLS = r"\x80-\x9f"
_REORDERING = r"\u202a-\u202e\u2066-\u2069"
_MARKS = r"\u200e\u200f\u061c"
_JOINERS = r"\u200c\u200d"
_EMPTY = (
    r"\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2028\u2029\u2060-\u2065\u206a-\u206f\u2800\u3164"
    r"\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
)
_SELECTORS = r"\ufe00-\ufe0f\U000e0100-\U000e01ef"
_TAGS = r"\U000e0000-\U000e007f"
INVISIBLE = f"[{_CONTROLS}{_REORDERING}{_MARKS}{_JOINERS}{_EMPTY}{_SELECTORS}{_TAGS}]"
"""All these characters, as a regular expression, without C0 and DEL, because newlines and tabs are text."""

_EMOJI = (
    r"\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f"
    r"\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_PICTURES = r"\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
_JOINING = r"\u0600-\u08ff\ufb50-\ufdff\ufe70-\ufefc\u0900-\u0dff\u1000-\u109f\u1780-\u17b3\u17b6-\u17ff\u1820-\u18aa"
"""Scripts that use joiners within words: Arabic, those of India, Burmese, Khmer, Mongolian."""
_RIGHT_TO_LEFT = r"\u0590-\u05ff\u0600-\u061b\u061d-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
_HONEST = (
    rf"(?<=[{_EMOJI}])[\ufe0e\ufe0f](?![{_SELECTORS}])"  # the emoji or the text form of a character
    r"|(?<=[#*0-9])\ufe0f(?=\u20e3)"  # keycap
    rf"|(?<=[{_PICTURES}\ufe0f])\u200d(?=[{_PICTURES}])"  # a family, a profession
    rf"|(?<=[{_JOINING}])[{_JOINERS}](?=[{_JOINING}])"
    rf"|(?<=[{_RIGHT_TO_LEFT}])[\u200f\u061c](?![{_MARKS}])|(?<![{_MARKS}])[\u200f\u061c](?=[{_RIGHT_TO_LEFT}])"
    # The flags of England, Scotland and Wales: the only sequences of tags that are recommended for interchange.
    r"|\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074"
    r"|\U000e0077\U000e006c\U000e0073)\U000e007f"
)
_compiled = cache(re.compile)  # compiled on first use: most texts are ASCII


def visible(text: str) -> str:
    """Write invisible and reordering characters as `\\u{...}`."""
    if text.isascii():
        return text
    shown: str = _compiled(f"({_HONEST})|{INVISIBLE}").sub(lambda found: found[1] or _escaped(found[0]), text)
    return shown


def wholly_visible(text: str) -> str:
    """Write control characters, other than newlines and tabs, in the same way, too."""
    controls = r"[\x00-\x08\x0b-\x1f\x7f]"
    return visible(_compiled(controls).sub(lambda found: _escaped(found[0]), text.replace("\r\n", "\n")))


def escaped(text: str) -> str:
    """Write every character that is not printable in the same way, line ends and tabs too: for commands to copy."""
    return "".join(each if each.isprintable() else _escaped(each) for each in text)


def one_line(text: str) -> str:
    """Write a text on one line, with all characters visible."""
    return wholly_visible(" ".join(text.split()))


def indented(text: str, mark: str) -> str:
    """Put a mark before each line of a text, so that none can be taken for a line of search-mcp."""
    return "\n".join(f"{mark}{wholly_visible(line)}".rstrip() for line in text.splitlines())


def visible_json(text: str) -> str:
    """Escape every character of JSON that is not printable; the value stays the same."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _json_escape(each) for each in text)


def quoted(text: str, longest: int = LONGEST_NAME) -> str:
    """Write a text as a JSON string on one line, cut to `longest` characters."""
    shown = text[:longest]
    literal = shown.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{visible_json(literal)}{"…" if len(shown) < len(text) else ""}"'


def named(text: str, longest: int = LONGEST_NAME) -> str:
    """Write a name that a server has chosen: as it is if it is a plain word, else quoted."""
    return text if len(text) <= longest and _compiled(r"[A-Za-z0-9_./-]+").fullmatch(text) else quoted(text, longest)


def described(value: object, longest: int = LONGEST_NAME) -> str:
    """Write a value of JSON on one line: an object or an array by its kind, a text cut to `longest` characters."""
    if isinstance(value, str):
        return f"the string {quoted(value, longest)}"
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    return "null" if value is None else str(value).lower()[:longest]


def hidden(text: str) -> Iterator[str]:
    """Yield the invisible characters of a text as `\\u{...}`, each once, in order."""
    if not text.isascii():
        found = _compiled(f"(?:{_HONEST})|({INVISIBLE})").finditer(text)
        yield from dict.fromkeys(_escaped(each[1]) for each in found if each[1])


def _escaped(character: str) -> str:
    return f"\\u{{{ord(character):x}}}"


def _json_escape(character: str) -> str:
    if character in " \t\r\n":
        return {"\t": "\\t", "\r": "\\r", "\n": "\\n"}.get(character, character)
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
