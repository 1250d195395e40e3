"""Tools and prompts with their canonical names, and functions on names."""

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from search_mcp.catalog.list_limits import FEW_ENTRIES
from search_mcp.catalog.repair import OPEN_SCHEMA, declares_read_only
from search_mcp.catalog.schemas import only_members
from search_mcp.config.schema import ServerConfig
from search_mcp.model.similar import nearest
from search_mcp.wire import payload
from search_mcp.wire.structs import Fields, Struct

OWN_NAMES = ("search_tools", "describe_tools", "call_tool", "call_read_only_tool", "list_servers")
"""The names of search-mcp's own tools; no other tool has such a name, even when folded."""
RESTART = "restart_server"
"""The name of another one, which exists only where a server is under development."""
READ_RESULT = "read_result"
"""The name of its tool that reads shortened results; it exists, and is reserved, only where results are limited."""
MOST_UNMATCHED = 3
"""Most names of one key that are reported."""
RESULT_SIZE = "anthropic/maxResultSizeChars"
"""The key in the `_meta` of a tool by which Claude Code takes larger results of it."""


class Item(Struct, frozen=True, dict=True):
    """One tool or prompt with its canonical name."""

    server: str
    key: str
    """Its name at the backend."""
    prefix: str
    own: str
    """The two parts of the canonical name; the prefix may be empty."""
    fields: Fields
    """Its definition by the backend, with the user's overrides."""
    pinned: bool = False
    is_limited: bool = False
    """Whether the user limits the length of its server's results."""
    is_suffixed: bool = False
    """Whether `own` ends, or begins, with a suffix, because the plain name belongs to another item or server."""

    @cached_property
    def name(self) -> str:
        """The canonical name."""
        return f"{self.prefix}.{self.own}" if self.prefix else self.own

    @cached_property
    def description(self) -> str:
        return payload.string(self.fields.get("description")) or payload.string(self.fields.get("title")) or ""

    @cached_property
    def is_for_models(self) -> bool:
        """Whether models are shown it; an MCP App may reserve tools for its page."""
        # "`visibility` defaults to `["model", "app"]` if omitted"
        return self._visibility is None or "model" in self._visibility

    @cached_property
    def is_for_apps(self) -> bool:
        """Whether a page of its server may call it."""
        return self._visibility is None or "app" in self._visibility

    @cached_property
    def is_of_app(self) -> bool:
        """Whether its server has an app, which shows it or may call it."""
        return bool(self.app_uris) or (self._visibility is not None and self.is_for_apps)

    @cached_property
    def app_uris(self) -> Sequence[str]:
        """The URI of the app that shows it, once for each spelling of the key."""
        return app_uris(self.fields)

    @cached_property
    def _visibility(self) -> Sequence[Any] | None:
        app = payload.members(payload.members(self.fields.get("_meta"), "ui").get("ui"), "visibility")
        visibility = payload.value(app["visibility"]) if "visibility" in app else None
        return visibility if isinstance(visibility, list) else None

    @cached_property
    def annotations(self) -> Mapping[str, Any]:
        """The annotations that are used by search-mcp."""
        hints = payload.members(self.fields.get("annotations"), "readOnlyHint", "destructiveHint")
        return {name: payload.value(raw) for name, raw in hints.items()}

    @cached_property
    def is_read_only(self) -> bool:
        """Whether its server declares it read-only."""
        return declares_read_only(self.fields)

    @cached_property
    def hint(self) -> str:
        """The declared effect: `read-only`, `destructive`, or empty."""
        # "`destructiveHint`: (This property is meaningful only when `readOnlyHint == false`)"
        if self.is_read_only:
            return "read-only"
        return "destructive" if self.annotations.get("destructiveHint") is True else ""

    @cached_property
    def input_schema(self) -> Mapping[str, Any]:
        schema = payload.value(self.fields.get("inputSchema", OPEN_SCHEMA))
        return schema if isinstance(schema, dict) else {}

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """All parameters of a tool, with their schemas; empty if it may have others."""
        return only_members(self.input_schema)


def with_result_size(fields: Fields, characters: int | None) -> Fields:
    """Declare the size of a tool's results, unless its server does so itself; `None` declares nothing."""
    if characters is None:
        return fields
    meta = payload.object_or_empty(fields.get("_meta"))
    if RESULT_SIZE in meta:
        return fields
    return {**fields, "_meta": payload.encode({**meta, RESULT_SIZE: payload.encode(characters)})}


def app_uris(shown: Fields) -> Sequence[str]:
    """Return the URI of the MCP App that shows a tool or a result, from both spellings of the key."""
    meta = payload.members(shown.get("_meta"), "ui", "ui/resourceUri")
    # "The flat `_meta["ui/resourceUri"]` format is deprecated. Use `_meta.ui.resourceUri` instead."
    spellings = (payload.members(meta.get("ui"), "resourceUri").get("resourceUri"), meta.get("ui/resourceUri"))
    return [uri for uri in map(payload.string, spellings) if uri is not None]


APP_SCHEME = "ui:"
"""The scheme of MCP Apps; a tool's definition can claim only URIs of this scheme for its server."""


def literal_beginning(template: str) -> str:
    """Return the literal part before the first expression of a URI template."""
    return template.partition("{")[0]


def has_literal_scheme(template: str) -> bool:
    """Return whether the scheme of a URI template is literal."""
    return ":" in literal_beginning(template)


_FOLDED = re.compile(r"[^A-Za-z0-9]")
_FOLDED_ASCII = bytes(byte if chr(byte).isascii() and chr(byte).isalnum() else ord("_") for byte in range(256))
_REFUSED = re.compile(r"[^A-Za-z0-9_.-]")


def fold(name: str) -> str:
    """Replace all characters but ASCII letters and digits by `_`, as some clients do."""
    if name.isascii():  # a hundred times as fast for a name of a thousand dots
        return name.encode().translate(_FOLDED_ASCII).decode()
    return _FOLDED.sub("_", name)


def without_separators(name: str) -> str:
    """Merge separators to `_`, so that no part of a name looks like a prefix with a separator."""
    return re.sub(r"[._-]+", "_", name).strip("_")


def stable_suffix(*parts: str) -> str:
    """Return a hash of these parts: six characters, the same in every session."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:6]


def accepted(name: str) -> str:
    """Replace the characters by `_` that canonical names cannot have."""
    return _REFUSED.sub("_", name)


def is_app(uri: str) -> bool:
    return uri.startswith(APP_SCHEME)


def is_allowed(config: ServerConfig, tool: str) -> bool:
    """Return whether a server's `allow` and `deny` globs admit a tool; `deny` takes precedence."""
    if config.allow and not any(fnmatchcase(tool, glob) for glob in config.allow):
        return False
    return not (config.deny and any(fnmatchcase(tool, glob) for glob in config.deny))


def unmatched(config: ServerConfig, tools: Collection[str]) -> Iterator[tuple[str, bool]]:
    """Yield a sentence about each name in an entry that fits no tool of the server, and whether it should hide one.

    `tools` are the server's own names of all its tools.
    """
    renamed = {config.rename.get(tool, tool) for tool in tools}
    for key, names, is_fitting in (
        ("tools.allow", config.allow, lambda glob: any(fnmatchcase(tool, glob) for tool in tools)),
        ("tools.deny", config.deny, lambda glob: any(fnmatchcase(tool, glob) for tool in tools)),
        ("pinned", config.pinned, lambda name: name in tools or name in renamed),
        ("rename", config.rename, tools.__contains__),
        ("describe", config.describe, tools.__contains__),
    ):
        wrong = [name for name in names if name.strip("*") and not is_fitting(name)]
        for name in wrong[:MOST_UNMATCHED]:
            near = nearest(name, tools, limit=1) if len(tools) <= FEW_ENTRIES else []
            yield f"{key}: no tool matches {name!r}{f'; did you mean {near[0]}?' if near else ''}", names is config.deny
        if len(wrong) > MOST_UNMATCHED:
            yield f"{key}: {len(wrong) - MOST_UNMATCHED} more of its names match no tool", names is config.deny
