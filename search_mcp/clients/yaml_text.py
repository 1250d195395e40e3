"""Edits of one member of a block mapping in the text of a YAML file; every other character stays. Pure.

Decides where a member begins and ends, from the parser's positions. ruamel.yaml parses the file and formats the new
member, but does not write the rest: it would change indentation and quotes.
"""

import io
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode

from search_mcp.clients.document import line_end_of, nested
from search_mcp.model.errors import ConfigError

_USUAL_INDENT = "  "
_WIDEST = 1 << 20
"""Width in columns, large enough that no line is folded."""


def parse(text: str, source: str) -> object:
    """Parse the value; an empty file counts as an empty mapping.

    Raises:
        ConfigError: the text is not YAML, or a mapping has the same key twice.
    """
    try:
        value: object = _yaml().load(text)
    except MarkedYAMLError as exc:
        line = exc.problem_mark.line + 1 if exc.problem_mark is not None else None
        raise ConfigError(source, f"not valid YAML: {exc.problem}", "correct that line", line=line) from exc
    except YAMLError as exc:
        raise ConfigError(source, "not valid YAML", "remove the characters that are not text") from exc
    return {} if value is None else value


def put(text: str, path: Sequence[str], value: object) -> str:
    """Set the member at a path of a valid document; missing mappings on the path are created."""
    return _place(text, path, lambda rest, indent: _written(nested(rest, value), indent, text))


def cut(text: str, path: Sequence[str]) -> tuple[str, str]:
    """Remove an existing member with the comments directly above it.

    Returns the remaining text, and the member's text.
    """
    mapping = _yaml().compose(text)
    for key in path[:-1]:
        mapping = _pair(mapping, key)[1]
    start, end = _lines(text, _pair(mapping, path[-1]))
    above = _comments_above(text, mapping, path[-1], start)
    return drop(text[:above] + text[start:], path), text[above:end]


def paste(text: str, path: Sequence[str], taken: str) -> str:
    """Add a member that was cut, after the others at its path; missing mappings on the path are created."""

    def written(rest: Sequence[str], indent: str) -> str:
        inner = indent + _USUAL_INDENT * (len(rest) - 1)
        outer = _written(nested(rest[:-1], None), indent, text) if rest[1:] else ""
        return outer.replace(" null", "") + _indented(_ended(taken), inner)

    return _place(text, path, written)


def _place(text: str, path: Sequence[str], written: Callable[[Sequence[str], str], str]) -> str:
    """Place a member's text, which `written` makes from the missing part of its path and the indent."""
    root = _yaml().compose(text)
    if root is None:
        return _ended(text) + written(path, "")
    if root.flow_style:
        return text  # a mapping in braces is not edited; the caller sees that the value is unchanged
    mapping = root
    for depth, key in enumerate(path, 1):
        pair = _pair(mapping, key)
        if pair is None:
            _, end = _lines(text, mapping.value[-1])
            return _ended(text[:end]) + written(path[depth - 1 :], _indent(mapping)) + text[end:]
        if depth == len(path):
            start, end = _lines(text, pair)
            return text[:start] + written([key], _indent(mapping)) + text[end:]
        if not isinstance(pair[1], MappingNode) or not pair[1].value:
            after_key, after_value = _value(text, pair)
            _, end = _lines(text, pair)
            deeper = written(path[depth:], _indent(mapping) + _USUAL_INDENT)
            return _ended(text[:after_key] + text[after_value:end]) + deeper + text[end:]
        mapping = pair[1]
    return text


def drop(text: str, path: Sequence[str]) -> str:
    """Remove an existing member; a mapping that becomes empty is written as `{}`."""
    mapping: Any = _yaml().compose(text)
    outer: Any = None
    for key in path[:-1]:
        outer = _pair(mapping, key)
        mapping = outer[1]
    pair = _pair(mapping, path[-1])
    start, end = _lines(text, pair)
    if len(mapping.value) > 1 or outer is None:
        return text[:start] + text[end:]
    after_key, _ = _value(text, outer)
    return text[:after_key] + " {}" + text[after_key:start] + text[end:]


def _yaml() -> Any:
    yaml: Any = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.width = _WIDEST
    yaml.sort_base_mapping_type_on_output = False
    return yaml


def _pair(mapping: Any, key: str) -> Any:
    return next((pair for pair in mapping.value if pair[0].value == key), None)


def _indent(mapping: Any) -> str:
    return " " * int(mapping.value[0][0].start_mark.column)


def _comments_above(text: str, mapping: Any, key: str, start: int) -> int:
    """Return the start of the comments directly above a member, whose first line begins at `start`."""
    index = next(number for number, pair in enumerate(mapping.value) if pair[0].value == key)
    # A line that looks like a comment may be part of the previous member's text.
    earliest = _lines(text, mapping.value[index - 1])[1] if index else 0
    for line in reversed(text[earliest:start].splitlines(keepends=True)):
        if not line.lstrip().startswith("#"):
            break
        start -= len(line)
    return start


def _indented(taken: str, indent: str) -> str:
    """Shift lines so that the first line that is not a comment has the given indent."""
    lines = taken.splitlines(keepends=True)
    first = next(line for line in lines if not line.lstrip().startswith("#"))
    present = first[: len(first) - len(first.lstrip(" "))]
    if present == indent:
        return taken
    return "".join(indent + line.removeprefix(present) if line.strip() else line for line in lines)


def _lines(text: str, pair: tuple[Node, Any]) -> tuple[int, int]:
    """Return the range of a member's whole lines, without the empty lines and comments after it."""
    start = text.rfind("\n", 0, pair[0].start_mark.index) + 1
    last = len(text[: _end(pair)].rstrip())
    line_end = text.find("\n", last)
    return start, len(text) if line_end < 0 else line_end + 1


def _value(text: str, pair: tuple[Node, Any]) -> tuple[int, int]:
    """Return the range from the colon after a key to the end of its value."""
    after_key = text.index(":", pair[0].end_mark.index) + 1
    return after_key, after_key if _is_nothing(pair[1]) else int(pair[1].end_mark.index)


def _end(pair: tuple[Node, Any]) -> int:
    """Return the end of a member's last scalar; a block's own end mark is at the start of the next block."""
    key, node = pair
    while isinstance(node, CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        key, node = last if isinstance(last, tuple) else (last, last)
    return int(key.end_mark.index if _is_nothing(node) else node.end_mark.index)


def _is_nothing(node: Node) -> bool:
    """Return whether a value is an implicit null; its marks are then after the comments that follow."""
    return isinstance(node, ScalarNode) and not node.value and not node.style


def _written(value: object, indent: str, text: str) -> str:
    stream = io.StringIO()
    _yaml().dump(value, stream)
    return textwrap.indent(stream.getvalue(), indent).replace("\n", line_end_of(text))


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + line_end_of(text)
