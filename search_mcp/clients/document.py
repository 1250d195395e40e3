"""A config file as it is edited: its bytes, what they mean, and the same with one member changed.

Decides what every format has in common: byte order marks, and that an edit does what was meant and nothing
else. What a text of one format looks like is the business of its own module, which is loaded when needed.
"""

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, Protocol, TypeAlias, cast

from search_mcp.config import jsonc
from search_mcp.model.errors import ConfigError

Format: TypeAlias = Literal["json", "jsonc", "toml", "yaml"]
"""`json` is for programs that refuse anything but strict JSON, a byte order mark included."""

_EDITORS: dict[Format, str] = {"json": "json_text", "jsonc": "json_text", "toml": "toml_text", "yaml": "yaml_text"}


class _Editor(Protocol):
    def parse(self, text: str, source: str) -> object: ...
    def put(self, text: str, path: Sequence[str], value: object) -> str: ...
    def drop(self, text: str, path: Sequence[str]) -> str: ...
    def cut(self, text: str, path: Sequence[str]) -> tuple[str, str]: ...
    def paste(self, text: str, path: Sequence[str], taken: str) -> str: ...


@dataclass(frozen=True)
class Document:
    """A file's text and its value, an object."""

    source: str
    format: Format
    text: str
    value: Mapping[str, Any]
    has_mark: bool = False

    @property
    def data(self) -> bytes:
        """The bytes to write."""
        mark = codecs.BOM_UTF8 if self.has_mark and self.format != "json" else b""
        return mark + self.text.encode()

    def members(self, path: Sequence[str]) -> Mapping[str, Any]:
        """The members of the object at a path; of one that is absent or null, none.

        Raises:
            ConfigError: something else stands there.
        """
        found: Any = self.value
        for key in path:
            found = found.get(key) if isinstance(found, dict) else found
            if found is None:
                return {}
        if not isinstance(found, dict):
            raise ConfigError(self.source, f'"{path[-1]}" is no object', "mend it, or remove it", key=".".join(path))
        return found

    def put(self, path: Sequence[str], value: object) -> "Document":
        """Set the member at a path.

        Raises:
            ConfigError: that cannot be done without touching more.
        """
        members = self.members(path[:-1])
        if path[-1] in members and members[path[-1]] == value:
            return self
        return self._changed(self._editor.put(self.text, path, value), _with(self.value, path, value))

    def drop(self, path: Sequence[str]) -> "Document":
        """Remove the member at a path, if it is there.

        Raises:
            ConfigError: that cannot be done without touching more.
        """
        if path[-1] not in self.members(path[:-1]):
            return self
        return self._changed(self._editor.drop(self.text, path), *self._meant_without(path))

    def cut(self, path: Sequence[str]) -> tuple["Document", str | None]:
        """Remove the member at a path, which must be there, with the comments that belong to it.

        Returns also the member's text, for `paste`; None if it cannot be told from the text around it.

        Raises:
            ConfigError: the member cannot be removed without touching more.
        """
        try:
            text, taken = self._editor.cut(self.text, path)
            return self._changed(text, *self._meant_without(path)), taken
        except ConfigError:
            return self.drop(path), None

    def paste(self, path: Sequence[str], taken: str, value: object) -> "Document":
        """Add a member whose text and value `cut` gave; as `put` does where the text no longer fits.

        Raises:
            ConfigError: that cannot be done without touching more.
        """
        self.members(path[:-1])
        try:
            return self._changed(self._editor.paste(self.text, path, taken), _with(self.value, path, value))
        except ConfigError:
            return self.put(path, value)

    def _meant_without(self, path: Sequence[str]) -> list[object]:
        meant: list[object] = [_without(self.value, path)]
        if len(self.members(path[:-1])) == 1:  # in TOML nothing is left of a table that has no header of its own
            meant.append(_without(self.value, path[:-1]))
        return meant

    @property
    def _editor(self) -> _Editor:
        return _editor(self.format)

    def _changed(self, text: str, *meant: object) -> "Document":
        """The document with another text, if that says what is meant: a file is never written that does not."""
        try:
            value = self._editor.parse(text, self.source)
        except ConfigError:
            value = None
        if value not in meant:
            problem = "it is written in a way that cannot be edited safely, such as an inline table or an alias"
            raise ConfigError(self.source, problem, "make this change by hand")
        return Document(self.source, self.format, text, cast(Mapping[str, Any], value), self.has_mark)


def read(data: bytes, format_: Format, source: str) -> Document:
    """Read a file's bytes; an empty one counts as an empty object.

    Raises:
        ConfigError: they are not of that format.
    """
    text = jsonc.decode(data, source)
    value = _editor(format_).parse(text, source)
    if not isinstance(value, dict):
        raise ConfigError(source, "the file must hold one object", "mend it, or start with an empty file")
    return Document(source, format_, text, value, data.startswith(codecs.BOM_UTF8))


def _editor(format_: Format) -> _Editor:
    return cast(_Editor, import_module(f"search_mcp.clients.{_EDITORS[format_]}"))


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
