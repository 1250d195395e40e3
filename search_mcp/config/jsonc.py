"""JSON with comments, trailing commas and a byte order mark, and the line of every key.

The additions are replaced by spaces, so that Python's parser reads strict JSON of the same length and reports positions
in the file. Every start uses this module, mostly for plain JSON, so patterns are compiled and lines counted on first
use. The meaning of keys is unknown here.
"""

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from search_mcp.config.json_comments import STRING, blank
from search_mcp.model.errors import ConfigError
from search_mcp.wire.structs import Struct

KeyPath = tuple[str | int, ...]
"""Object keys and array indexes from the root down to a value."""

_STRUCTURE = rf"(?P<string>{STRING})(?P<colon>\s*:)?|[{{}}\[\],]"

_REMEDIES = {  # by the beginning of the message of Python's parser
    "Invalid \\escape": r'write "\\" or "/" where a Windows path has a backslash',
    "Expecting ',' delimiter": "put a comma between the entries, here or at the end of the line above",
    "Expecting property name": "close the object, or put double quotes around the key",
    "Extra data": "remove what follows the closing brace",
    "Invalid control character": "close the string with a double quote on the same line",
    "Unterminated string": "close the string with a double quote on the same line",
    "Comment is never closed": "end the comment with */",
}


class Document(Struct, frozen=True, dict=True):
    """The value of a file, and the lines of its keys."""

    source: str
    plain: str
    """Its text as strict JSON, with everything else replaced by spaces."""
    value: object

    @cached_property
    def lines(self) -> Mapping[KeyPath, int]:
        return dict(_keys(self.plain))

    def error(self, path: KeyPath, problem: str, remedy: str) -> ConfigError:
        """Make an error about `path`, with the line of the innermost key on it that the file has."""
        while path and path not in self.lines:
            path = path[:-1]
        return ConfigError(self.source, problem, remedy, line=self.lines.get(path, 1), key=_dotted(path))


def parse(text: str | bytes, *, source: str) -> Document:
    """Read a file's text; an empty one counts as `{}`, as in the editors that keep such files.

    Raises:
        ConfigError: it is not UTF-8 or not JSON, or an object has the same key twice.
    """
    plain = decode(text, source) if isinstance(text, bytes) else text.removeprefix("\ufeff")
    repeated = 0

    def counted(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeated
        members = dict(pairs)
        repeated += len(pairs) - len(members)
        return members

    try:
        try:
            value = json.loads(plain, object_pairs_hook=counted)
        except ValueError:
            plain = blank(plain)
            value = json.loads(plain, object_pairs_hook=counted) if plain.strip() else {}
        json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as exc:
        problem = f"not valid JSON: {exc.msg.removesuffix(' at')} at column {exc.colno}"
        raise ConfigError(source, problem, _remedy(exc), line=exc.lineno) from exc
    except UnicodeEncodeError as exc:  # a text that cannot be written in any message
        problem, remedy = r"\ud800 to \udfff stand for no character alone", "write the character itself"
        raise ConfigError(source, problem, remedy) from exc
    except (RecursionError, ValueError) as exc:  # ValueError: int() refuses thousands of digits
        problem, remedy = "nested too deeply, or a number with too many digits", "simplify the file"
        raise ConfigError(source, problem, remedy) from exc
    if repeated:
        _refuse_repeated(plain, source)
    return Document(source, plain, value)


def decode(data: bytes, source: str) -> str:
    """Read a file's bytes as UTF-8, without its byte order mark.

    Raises:
        ConfigError: it is in another encoding.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ConfigError(source, "the file is UTF-16", "save it as UTF-8", line=1)
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        return data.decode()
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        raise ConfigError(source, "the file is not UTF-8", "save it as UTF-8", line=line) from exc


def _remedy(error: json.JSONDecodeError) -> str:
    if not error.doc[error.pos :].strip():
        return "the file ends too early: close it with the brace or bracket that is missing"
    fitting = (remedy for beginning, remedy in _REMEDIES.items() if error.msg.startswith(beginning))
    return next(fitting, "look for a missing quote, comma or brace there or on the line above")


def _refuse_repeated(plain: str, source: str) -> None:
    """Raise an error for the first repeated key of valid JSON."""
    lines: dict[KeyPath, int] = {}
    for path, line in _keys(plain):
        if path in lines:
            problem, remedy = f"this key is already on line {lines[path]}", "rename or remove one of the two"
            raise ConfigError(source, problem, remedy, line=line, key=_dotted(path))
        lines[path] = line


def _keys(plain: str) -> Iterator[tuple[KeyPath, int]]:
    """Yield the path and the line of every key of valid JSON, in the order of the text."""
    path: list[str | int] = []  # for each open bracket, the current key or index
    line, counted = 1, 0
    for token in re.finditer(_STRUCTURE, plain):
        if token["colon"]:
            line, counted = line + plain.count("\n", counted, token.start()), token.start()
            path[-1] = json.loads(token["string"])
            yield tuple(path), line
        elif token[0] in "{[":
            path.append("" if token[0] == "{" else 0)
        elif token[0] in "}]":
            path.pop()
        elif token[0] == "," and isinstance(index := path[-1], int):
            path[-1] = index + 1


def _dotted(path: KeyPath) -> str | None:
    return ".".join(map(str, path)) or None
