"""A config file that is edited: its text, its value, and copies of both with one member changed.

Decides what all formats have in common: byte order marks, and the check that an edit changes only what it should.
Each format has its own module, which is loaded when it is needed.
"""

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, Protocol, TypeAlias, cast

from search_mcp.config import jsonc
from search_mcp.model.errors import ConfigError

Format: TypeAlias = Literal["json", "jsonc", "toml", "yaml"]
"""`json` is for programs that accept only strict JSON, without a byte order mark."""

_EDITORS: dict[Format, str] = {"json": "json_text", "jsonc": "json_text", "toml": "toml_text", "yaml": "yaml_text"}


class _Editor(Protocol):
    def parse(self, text: str, source: str) -> object: ...
    def put(self, text: str, path: Sequence[str], value: object) -> str: ...
    def drop(self, text: str, path: Sequence[str]) -> str: ...
    def cut(self, text: str, path: Sequence[str]) -> tuple[str, str]: ...
    def paste(self, text: str, path: Sequence[str], taken: str) -> str: ...


@dataclass(frozen=True)
class Document:
    """The text of a file and its value, which is an object."""

    source: str
    format: Format
    text: str
    value: Mapping[str, Any]
    has_mark: bool = False

    @property
    def data(self) -> bytes:
        """The content of the file in bytes."""
        mark = codecs.BOM_UTF8 if self.has_mark and self.format != "json" else b""
        return mark + self.text.encode()

    def members(self, path: Sequence[str]) -> Mapping[str, Any]:
        """Return the members of the object at a path; none if it is absent or null.

        Raises:
            ConfigError: the value at the path is not an object.
        """
        found: Any = self.value
        for key in path:
            found = found.get(key) if isinstance(found, dict) else found
            if found is None:
                return {}
        if not isinstance(found, dict):
            problem, remedy = f'"{path[-1]}" is not an object', "correct or remove it"
            raise ConfigError(self.source, problem, remedy, key=".".join(path))
        return found

    def put(self, path: Sequence[str], value: object) -> "Document":
        """Set the member at a path.

        Raises:
            ConfigError: the edit would change something else, too.
        """
        members = self.members(path[:-1])
        if path[-1] in members and members[path[-1]] == value:
            return self
        return self._changed(self._editor.put(self.text, path, value), _with(self.value, path, value))

    def drop(self, path: Sequence[str]) -> "Document":
        """Remove the member at a path, if there is one.

        Raises:
            ConfigError: the edit would change something else, too.
        """
        if path[-1] not in self.members(path[:-1]):
            return self
        return self._changed(self._editor.drop(self.text, path), *self._meant_without(path))

    def cut(self, path: Sequence[str]) -> tuple["Document", str | None]:
        """Remove an existing member together with its comments.

        Returns the member's text as well, for `paste`; None if it cannot be separated from the text around it.

        Raises:
            ConfigError: the edit would change something else, too.
        """
        try:
            text, taken = self._editor.cut(self.text, path)
            return self._changed(text, *self._meant_without(path)), taken
        except ConfigError:
            return self.drop(path), None

    def paste(self, path: Sequence[str], taken: str, value: object) -> "Document":
        """Add a member that `cut` removed, with its former text; like `put` if that text no longer fits.

        Raises:
            ConfigError: the edit would change something else, too.
        """
        self.members(path[:-1])
        try:
            return self._changed(self._editor.paste(self.text, path, taken), _with(self.value, path, value))
        except ConfigError:
            return self.put(path, value)

    def _meant_without(self, path: Sequence[str]) -> list[object]:
        meant: list[object] = [_without(self.value, path)]
        if len(self.members(path[:-1])) == 1:  # in TOML, a table without a header of its own disappears with its member
            meant.append(_without(self.value, path[:-1]))
        return meant

    @property
    def _editor(self) -> _Editor:
        return _editor(self.format)

    def _changed(self, text: str, *meant: object) -> "Document":
        """Return a copy with another text, which must have one of the values `meant`.

        Raises:
            ConfigError: the text has another value.
        """
        try:
            value = self._editor.parse(text, self.source)
        except ConfigError:
            value = None
        if value not in meant:
            problem = "it is written in a way that cannot be edited safely, such as an inline table or an alias"
            raise ConfigError(self.source, problem, "make this change by hand")
        return Document(self.source, self.format, text, cast(Mapping[str, Any], value), self.has_mark)


def read(data: bytes, format_: Format, source: str) -> Document:
    """Parse the content of a file; an empty file counts as an empty object.

    Raises:
        ConfigError: the content is not valid in that format.
    """
    text = jsonc.decode(data, source)
    value = _editor(format_).parse(text, source)
    if not isinstance(value, dict):
        raise ConfigError(source, "the file must hold one object", "correct it, or start with an empty file")
    return Document(source, format_, text, value, data.startswith(codecs.BOM_UTF8))


def _editor(format_: Format) -> _Editor:
    return cast(_Editor, import_module(f"search_mcp.clients.{_EDITORS[format_]}"))


def nested(path: Sequence[str], value: object) -> object:
    """Return objects within each other, whose innermost member at a path is a value."""
    for key in reversed(path):
        value = {key: value}
    return value


def line_end_of(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _with(value: Mapping[str, Any], path: Sequence[str], new: object) -> dict[str, Any]:
    key, *rest = path
    return {**value, key: _with(value.get(key) or {}, rest, new) if rest else new}


def _without(value: Mapping[str, Any], path: Sequence[str]) -> dict[str, Any]:
    if not path:
        return {}
    key, *rest = path
    if rest:
        return {**value, key: _without(value[key], rest)}
    return {name: each for name, each in value.items() if name != key}
